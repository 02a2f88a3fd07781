-- What PostgreSQL needs before the first step: functions that SQLite has, and what hubs
-- that share a store tell each other. Every statement can be repeated.

CREATE TABLE IF NOT EXISTS store_version (version BIGINT NOT NULL);
INSERT INTO store_version SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM store_version);

-- The last message timestamp that any hub gave, in microseconds.
CREATE TABLE IF NOT EXISTS last_stamp (micros BIGINT NOT NULL);
INSERT INTO last_stamp SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM last_stamp);

-- What a hub said after a commit, for the others; kept for some minutes.
CREATE TABLE IF NOT EXISTS wakes (
    seq         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hub         TEXT NOT NULL,
    notices     TEXT NOT NULL,
    at          TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- The hubs that are up, and which agents are connected there (a JSON list).
CREATE TABLE IF NOT EXISTS hubs (
    hub         TEXT PRIMARY KEY,
    agents      TEXT NOT NULL,
    beat        TIMESTAMPTZ NOT NULL
);

-- What only one hub does. `epoch` rises with each new holder.
CREATE TABLE IF NOT EXISTS leases (
    name        TEXT PRIMARY KEY,
    hub         TEXT NOT NULL,
    epoch       BIGINT NOT NULL,
    until       TIMESTAMPTZ NOT NULL
);

-- Tickets for sockets, which any hub takes.
CREATE TABLE IF NOT EXISTS tickets (
    ticket      TEXT PRIMARY KEY,
    agent       BIGINT NOT NULL,
    until       TIMESTAMPTZ NOT NULL
);
ALTER TABLE tickets ADD COLUMN IF NOT EXISTS machine TEXT;

-- Calls to Slack that a hub leaves to the owner, as JSON, and their answers.
CREATE TABLE IF NOT EXISTS slack_calls (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    call        TEXT NOT NULL,
    answer      TEXT,
    at          TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- A character that PostgreSQL's text cannot hold is replaced where JSON spells it out.
CREATE OR REPLACE FUNCTION json_extract(document TEXT, path TEXT) RETURNS TEXT
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT replace(document, '\u0000', '\ufffd')::json #>> string_to_array(substr(path, 3), '.') $$;
CREATE OR REPLACE FUNCTION json_each(document TEXT, path TEXT) RETURNS TABLE (value TEXT)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT json_array_elements_text(found) FROM (SELECT replace(document, '\u0000', '\ufffd')::json
         #> string_to_array(substr(path, 3), '.') AS found) f WHERE json_typeof(found) = 'array' $$;
CREATE OR REPLACE FUNCTION instr(whole TEXT, part TEXT) RETURNS BIGINT
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT strpos(whole, part)::bigint $$;
