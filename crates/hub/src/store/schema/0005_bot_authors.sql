-- What apps expect of a workspace besides messages.

-- `kind` is channel, private, im or mpim; a purpose that nobody set is the repository.
ALTER TABLE channels ADD COLUMN kind TEXT NOT NULL DEFAULT 'channel';
ALTER TABLE channels ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE channels ADD COLUMN topic TEXT NOT NULL DEFAULT '';
ALTER TABLE channels ADD COLUMN purpose TEXT;

-- Whether the newest connection is not our own client: such ones get what they
-- caused themselves, as from Slack.
ALTER TABLE agents ADD COLUMN foreign_client INTEGER NOT NULL DEFAULT 0;

-- Who came and who left. Without a row everybody is in a public channel, and nobody
-- in any other.
CREATE TABLE members (
    channel     TEXT NOT NULL,
    user        TEXT NOT NULL,
    present     INTEGER NOT NULL,
    PRIMARY KEY (channel, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE pins (
    channel     TEXT NOT NULL,
    ts          TEXT NOT NULL,
    user        TEXT NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (channel, ts)
) STRICT, WITHOUT ROWID;

-- `body` is the bookmark in Slack's shape.
CREATE TABLE bookmarks (
    id          TEXT PRIMARY KEY,
    channel     TEXT NOT NULL,
    body        TEXT NOT NULL
) STRICT;

-- Posts for later: the arguments of `chat.postMessage`, as they will be given to it.
CREATE TABLE scheduled (
    id          TEXT PRIMARY KEY,
    agent       INTEGER NOT NULL REFERENCES agents (id),
    channel     TEXT NOT NULL,
    post_at     INTEGER NOT NULL,
    arguments   TEXT NOT NULL,
    created_ms  INTEGER NOT NULL
) STRICT;
CREATE INDEX scheduled_by_time ON scheduled (post_at);

-- Messages that are still being written, with their Markdown so far.
CREATE TABLE streams (
    channel     TEXT NOT NULL,
    ts          TEXT NOT NULL,
    markdown    TEXT NOT NULL,
    PRIMARY KEY (channel, ts)
) STRICT, WITHOUT ROWID;

-- What an app said about a thread with people: its title and what they may ask.
CREATE TABLE assistant_threads (
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    title       TEXT,
    prompts     TEXT,
    PRIMARY KEY (channel, root)
) STRICT, WITHOUT ROWID;

-- What a person did last that allows an app to open a modal for them, once and soon.
CREATE TABLE triggers (
    id          TEXT PRIMARY KEY,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    person      TEXT NOT NULL,
    expires_ms  INTEGER NOT NULL,
    used        INTEGER NOT NULL
) STRICT;

-- Modals that a person has open, the newest on top, and the home tab of each person.
-- `body` is the view in Slack's shape, `errors` what the app found wrong by block.
CREATE TABLE views (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    agent       INTEGER NOT NULL REFERENCES agents (id),
    kind        TEXT NOT NULL CHECK (kind IN ('modal', 'home')),
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    person      TEXT NOT NULL,
    body        TEXT NOT NULL,
    errors      TEXT
) STRICT;
CREATE INDEX views_by_person ON views (person, number);
