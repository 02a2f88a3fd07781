-- What a thread costs does not grow with what came before it.

-- The lines of threads that have been at rest for long, per role: packed, each line after
-- its number and a tab. A new line brings a thread's lines back.
CREATE TABLE cold_records (
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    role        TEXT NOT NULL,
    lines       INTEGER NOT NULL,
    bytes       BLOB NOT NULL,
    PRIMARY KEY (channel, root, role)
) STRICT, WITHOUT ROWID;

-- The newest plans, and what is still open, are found without a walk through the rest.
CREATE INDEX cards_by_kind ON cards (repo, kind, asked_ms);
CREATE INDEX pulls_open ON pulls (repo) WHERE state = 'open';
CREATE INDEX activity_working ON activity (since_ms) WHERE state = 'working';

-- What a person or a repository has spent in a month.
CREATE INDEX reservations_by_person ON reservations (person, day);
CREATE INDEX reservations_by_repo ON reservations (repo, day);

-- What the files of a repository fill.
CREATE INDEX files_by_channel ON files (channel, length);
CREATE INDEX files_by_owner ON files (owner, length);

-- Limits that were told to a person, so that each is told once per window.
CREATE TABLE limits_told (
    about       TEXT NOT NULL PRIMARY KEY,
    until_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The processes of a role that work for it at the same time, each on a machine of its own.
-- `epoch` is that of the process's newest connection, `hub` has that connection, `gone_ms`
-- says since when there is none (by the store's clock).
CREATE TABLE processes (
    agent       INTEGER NOT NULL REFERENCES agents (id),
    process     TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    hub         TEXT NOT NULL,
    gone_ms     INTEGER,
    PRIMARY KEY (agent, process)
) STRICT, WITHOUT ROWID;

-- Which of them has a thread; the empty one stands for what only one of them does.
-- `epoch` is above that of every line that others wrote to the thread's log before.
CREATE TABLE held_threads (
    agent       INTEGER NOT NULL REFERENCES agents (id),
    thread      TEXT NOT NULL,
    process     TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (agent, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX held_threads_by_process ON held_threads (agent, process);
