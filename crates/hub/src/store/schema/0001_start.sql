-- The workspace, its event log and what agents keep at the hub. Times are
-- milliseconds since 1970, money is whole nanodollars, `ts` sorts as text.

CREATE TABLE IF NOT EXISTS channels (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    repo        TEXT NOT NULL,
    created_ms  INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS people (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    created_ms  INTEGER NOT NULL
) STRICT;

-- One row per role and repo: a subscriber with its epoch.
CREATE TABLE IF NOT EXISTS agents (
    id          INTEGER PRIMARY KEY,
    repo        TEXT NOT NULL,
    role        TEXT NOT NULL,
    epoch       INTEGER NOT NULL DEFAULT 0,
    seen_ms     INTEGER,
    UNIQUE (repo, role)
) STRICT;

-- Looked up by hash; the secret itself is kept because `hub tokens` lists it.
CREATE TABLE IF NOT EXISTS tokens (
    sha256      TEXT PRIMARY KEY,
    secret      TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('bot', 'app', 'person')),
    agent       INTEGER REFERENCES agents (id),
    person      TEXT REFERENCES people (id)
) STRICT;

CREATE TABLE IF NOT EXISTS login_codes (
    sha256      TEXT PRIMARY KEY,
    person      TEXT NOT NULL REFERENCES people (id),
    expires_ms  INTEGER NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS sessions (
    sha256      TEXT PRIMARY KEY,
    person      TEXT NOT NULL REFERENCES people (id),
    expires_ms  INTEGER NOT NULL
) STRICT;

-- `body` is the message in Slack's shape, without reactions and reply counts.
CREATE TABLE IF NOT EXISTS messages (
    channel     TEXT NOT NULL REFERENCES channels (id),
    ts          TEXT NOT NULL,
    root        TEXT NOT NULL,
    author      TEXT NOT NULL,
    role        TEXT,
    body        TEXT NOT NULL,
    PRIMARY KEY (channel, ts)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS messages_by_thread ON messages (channel, root, ts);

-- Messages for one person's eyes; no history holds them, and they go after a day.
CREATE TABLE IF NOT EXISTS ephemerals (
    channel     TEXT NOT NULL REFERENCES channels (id),
    ts          TEXT NOT NULL,
    root        TEXT NOT NULL,
    user        TEXT NOT NULL,
    body        TEXT NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (channel, ts)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS reactions (
    channel     TEXT NOT NULL,
    ts          TEXT NOT NULL,
    name        TEXT NOT NULL,
    user        TEXT NOT NULL,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (channel, ts, name, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS files (
    id          TEXT PRIMARY KEY,
    channel     TEXT,
    owner       TEXT NOT NULL,
    user        TEXT NOT NULL,
    name        TEXT NOT NULL,
    title       TEXT NOT NULL,
    length      INTEGER NOT NULL,
    upload_key  TEXT,
    bytes       BLOB,
    created_ms  INTEGER NOT NULL
) STRICT;

-- Where a click may be answered without a token (`response_url`).
CREATE TABLE IF NOT EXISTS responses (
    sha256      TEXT PRIMARY KEY,
    channel     TEXT NOT NULL,
    ts          TEXT NOT NULL,
    uses_left   INTEGER NOT NULL,
    expires_ms  INTEGER NOT NULL
) STRICT;

-- Whose click it was, by the same key.
CREATE TABLE IF NOT EXISTS responders (
    sha256      TEXT PRIMARY KEY,
    person      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What happened, in order. `frame` is the envelope without its per-subscriber id.
CREATE TABLE IF NOT EXISTS events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    from_role   TEXT,
    kind        TEXT NOT NULL,
    frame       TEXT NOT NULL,
    at_ms       INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_by_thread ON events (channel, root, seq);

-- An envelope stays here until its subscriber has acknowledged it.
CREATE TABLE IF NOT EXISTS deliveries (
    agent       INTEGER NOT NULL REFERENCES agents (id),
    seq         INTEGER NOT NULL REFERENCES events (seq),
    thread      TEXT NOT NULL,
    PRIMARY KEY (agent, seq)
) STRICT, WITHOUT ROWID;

-- Posts by their key: the same key gets the first answer again.
CREATE TABLE IF NOT EXISTS outbox (
    agent       INTEGER NOT NULL REFERENCES agents (id),
    idem        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'done')),
    parts       TEXT NOT NULL,
    answer      TEXT,
    PRIMARY KEY (agent, idem)
) STRICT, WITHOUT ROWID;

-- Cards, and what a person decided about them: written once, by the hub.
CREATE TABLE IF NOT EXISTS cards (
    repo        TEXT NOT NULL,
    request     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    sha256      TEXT NOT NULL,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    message     TEXT NOT NULL,
    from_role   TEXT NOT NULL,
    asked_ms    INTEGER NOT NULL,
    choice      TEXT,
    person      TEXT,
    decided_ms  INTEGER,
    PRIMARY KEY (repo, request)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS cards_by_message ON cards (channel, message);
-- Single values that the hub made for itself.
CREATE TABLE IF NOT EXISTS own_values (
    name        TEXT PRIMARY KEY,
    value       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What each card was drawn from, by the hash of its body.
CREATE TABLE IF NOT EXISTS card_bodies (
    repo        TEXT NOT NULL,
    request     TEXT NOT NULL,
    body        TEXT NOT NULL,
    PRIMARY KEY (repo, request)
) STRICT, WITHOUT ROWID;
-- Words of the hub for one person in Slack, until they are said.
CREATE TABLE IF NOT EXISTS whispers (
    id          INTEGER PRIMARY KEY,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    user        TEXT NOT NULL,
    words       TEXT NOT NULL
) STRICT;
-- Decided cards that still have their buttons in Slack.
CREATE TABLE IF NOT EXISTS redraws (
    channel     TEXT NOT NULL,
    message     TEXT NOT NULL,
    PRIMARY KEY (channel, message)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS activity (
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    role        TEXT NOT NULL,
    state       TEXT NOT NULL,
    step        TEXT,
    since_ms    INTEGER NOT NULL,
    heard_ms    INTEGER NOT NULL,
    lease_ms    INTEGER NOT NULL,
    PRIMARY KEY (channel, root, role)
) STRICT, WITHOUT ROWID;

-- The last stop of a thread: posts that were begun before `seq` are refused.
-- `role` goes on at a person's word; `spoken` says that there was one.
CREATE TABLE IF NOT EXISTS stops (
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    role        TEXT,
    spoken      INTEGER NOT NULL,
    PRIMARY KEY (channel, root)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS reservations (
    repo        TEXT NOT NULL,
    id          TEXT NOT NULL,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    role        TEXT NOT NULL,
    person      TEXT,
    day         TEXT NOT NULL,
    amount      INTEGER NOT NULL,
    cost        INTEGER,
    model       TEXT,
    usage       TEXT,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (repo, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS reservations_by_thread ON reservations (channel, root);
CREATE INDEX IF NOT EXISTS reservations_by_day ON reservations (day, person);
CREATE INDEX IF NOT EXISTS reservations_by_time ON reservations (repo, at_ms);

-- How much each repo may spend, as its agents told; JSON.
CREATE TABLE IF NOT EXISTS caps (
    repo        TEXT PRIMARY KEY,
    caps        TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a person added to a budget (`thread`, `day`, `person`) by pressing Raise.
CREATE TABLE IF NOT EXISTS raises (
    purse       TEXT NOT NULL,
    owner       TEXT NOT NULL,
    extra       INTEGER NOT NULL,
    PRIMARY KEY (purse, owner)
) STRICT, WITHOUT ROWID;

-- Which budget refused a thread last: that is the one Raise is about.
CREATE TABLE IF NOT EXISTS refusals (
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    purse       TEXT NOT NULL,
    owner       TEXT NOT NULL,
    PRIMARY KEY (channel, root)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS records (
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    role        TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    entry       TEXT NOT NULL,
    PRIMARY KEY (channel, root, role, seq)
) STRICT, WITHOUT ROWID;

-- Pull requests, as their agents last described them.
CREATE TABLE IF NOT EXISTS pulls (
    repo        TEXT NOT NULL,
    number      INTEGER NOT NULL,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    title       TEXT NOT NULL,
    body        TEXT NOT NULL,
    branch      TEXT NOT NULL,
    head        TEXT NOT NULL,
    state       TEXT NOT NULL,
    diff        TEXT,
    at_ms       INTEGER NOT NULL,
    PRIMARY KEY (repo, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pulls_by_thread ON pulls (channel, root);

CREATE TABLE IF NOT EXISTS bodies (
    repo        TEXT NOT NULL,
    sha256      TEXT NOT NULL,
    bytes       BLOB NOT NULL,
    PRIMARY KEY (repo, sha256)
) STRICT, WITHOUT ROWID;

-- The relay to Slack. Which workspace this store mirrors, and how far it got.
CREATE TABLE IF NOT EXISTS upstream (
    key         TEXT PRIMARY KEY,
    value       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Which channel each repo wants, and whose bots count there as people.
CREATE TABLE IF NOT EXISTS upstream_repos (
    repo        TEXT PRIMARY KEY,
    channel     TEXT,
    name        TEXT NOT NULL,
    bots        TEXT NOT NULL,
    settled     INTEGER NOT NULL,
    trouble     TEXT
) STRICT, WITHOUT ROWID;

-- What Slack has told us, kept before it is acknowledged. Done rows stay a
-- while without payload: their keys recognise what is told again.
CREATE TABLE IF NOT EXISTS upstream_inbox (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    key         TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL,
    payload     TEXT,
    at_ms       INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS upstream_inbox_waiting ON upstream_inbox (seq) WHERE payload IS NOT NULL;

-- The parts of posts. A part without ts was begun and may be in Slack already.
CREATE TABLE IF NOT EXISTS upstream_parts (
    agent       INTEGER NOT NULL REFERENCES agents (id),
    idem        TEXT NOT NULL,
    part        INTEGER NOT NULL,
    tag         TEXT NOT NULL,
    file        TEXT,
    ts          TEXT,
    begun_ms    INTEGER NOT NULL,
    PRIMARY KEY (agent, idem, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS upstream_parts_by_file ON upstream_parts (file) WHERE file IS NOT NULL;

-- Where files of Slack are, for who may have them.
CREATE TABLE IF NOT EXISTS upstream_files (
    id          TEXT PRIMARY KEY,
    channel     TEXT NOT NULL,
    name        TEXT NOT NULL,
    url         TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Slack's own `response_url` of the last click on a message.
CREATE TABLE IF NOT EXISTS upstream_responses (
    channel     TEXT NOT NULL,
    ts          TEXT NOT NULL,
    url         TEXT NOT NULL,
    expires_ms  INTEGER NOT NULL,
    PRIMARY KEY (channel, ts)
) STRICT, WITHOUT ROWID;
