-- What each person may do; without a word the machine's config decides.
ALTER TABLE people ADD COLUMN standing TEXT;

-- Since when, and with what, somebody is logged in.
ALTER TABLE sessions ADD COLUMN created_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN browser TEXT NOT NULL DEFAULT '';

-- Who is in the groups of Slack to which the machine's config gives rights.
CREATE TABLE group_members (
    name        TEXT NOT NULL,
    user        TEXT NOT NULL,
    PRIMARY KEY (name, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX groups_of_user ON group_members (user);

-- What people did. Each line carries the hash of the one before, so that none can be
-- changed or taken out without a trace.
CREATE TABLE audit (
    seq         INTEGER PRIMARY KEY,
    hash        TEXT NOT NULL,
    entry       TEXT NOT NULL
) STRICT;

-- The plan as a person changed it on its card, which is what they approved.
ALTER TABLE cards ADD COLUMN edited TEXT;
