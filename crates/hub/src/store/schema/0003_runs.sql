-- Runs over the roadmap: what a person started, and the threads of its items. A row
-- of `run_items` without a root is an item whose first post is on its way.
CREATE TABLE runs (
    repo        TEXT NOT NULL,
    request     TEXT NOT NULL,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    person      TEXT NOT NULL,
    mode        TEXT NOT NULL,
    state       TEXT NOT NULL,
    subject     TEXT NOT NULL,
    begun_ms    INTEGER NOT NULL,
    PRIMARY KEY (repo, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_thread ON runs (channel, root);

CREATE TABLE run_items (
    repo        TEXT NOT NULL,
    request     TEXT NOT NULL,
    number      INTEGER NOT NULL,
    channel     TEXT NOT NULL,
    root        TEXT,
    begun_ms    INTEGER NOT NULL,
    PRIMARY KEY (repo, request, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_items_by_thread ON run_items (channel, root);

CREATE TABLE run_reports (
    repo        TEXT NOT NULL,
    request     TEXT NOT NULL,
    number      INTEGER NOT NULL,
    report      TEXT NOT NULL,
    PRIMARY KEY (repo, request, number)
) STRICT, WITHOUT ROWID;

-- The run by whose start a card was decided; none when a person did it.
ALTER TABLE cards ADD COLUMN run TEXT;
