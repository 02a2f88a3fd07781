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
