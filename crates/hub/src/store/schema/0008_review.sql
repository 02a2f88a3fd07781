-- Where the forge shows a pull request, and what it changed in the round before.
ALTER TABLE pulls ADD COLUMN url TEXT;
ALTER TABLE pulls ADD COLUMN last_diff TEXT;

-- What people say about lines of a change. Without `sent` it is a draft of one person;
-- with it, it went to the Coder in that message.
CREATE TABLE review_comments (
    id          INTEGER PRIMARY KEY,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    person      TEXT NOT NULL REFERENCES people (id),
    path        TEXT NOT NULL,
    side        TEXT NOT NULL,
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    quote       TEXT NOT NULL,
    text        TEXT NOT NULL,
    suggestion  TEXT,
    digest      TEXT NOT NULL,
    at_ms       INTEGER NOT NULL,
    number      INTEGER,
    sent        TEXT
) STRICT;
CREATE INDEX review_comments_by_thread ON review_comments (channel, root);

-- Which files of a change a person has gone through, and what they changed then.
CREATE TABLE review_viewed (
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    person      TEXT NOT NULL REFERENCES people (id),
    path        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    PRIMARY KEY (channel, root, person, path)
) STRICT, WITHOUT ROWID;
