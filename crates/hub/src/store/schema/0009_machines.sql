-- Machines that joined: each has tokens of its own, for the roles (a list with commas)
-- that it was given in one repo.
CREATE TABLE machines (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    repo        TEXT NOT NULL,
    roles       TEXT NOT NULL,
    joined_ms   INTEGER NOT NULL
) STRICT;

-- Invitations of machines, by the hash of their code. One that was used stays, so that
-- whoever comes second is told.
CREATE TABLE machine_codes (
    sha256      TEXT PRIMARY KEY,
    repo        TEXT NOT NULL,
    roles       TEXT NOT NULL,
    expires_ms  INTEGER NOT NULL,
    used_ms     INTEGER
) STRICT;

-- Whose a token of an agent is; without a word it is for this machine. The secret of a
-- token that went to another machine is not kept.
ALTER TABLE tokens ADD COLUMN machine TEXT;
