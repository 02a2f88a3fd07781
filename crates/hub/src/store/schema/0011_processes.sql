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
