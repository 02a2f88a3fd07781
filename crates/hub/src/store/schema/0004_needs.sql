-- How far each person has read, per thread. What was there before is read.
CREATE TABLE reads (
    person      TEXT NOT NULL REFERENCES people (id),
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    ts          TEXT NOT NULL,
    PRIMARY KEY (person, channel, root)
) STRICT, WITHOUT ROWID;
INSERT INTO reads SELECT p.id, m.channel, m.root, max(m.ts) FROM people p, messages m
    GROUP BY p.id, m.channel, m.root;

-- What waits for people is found without a walk through everything that is over.
CREATE INDEX messages_roots ON messages (ts) WHERE ts = root;
CREATE INDEX cards_by_thread ON cards (channel, root);
CREATE INDEX cards_open ON cards (asked_ms) WHERE choice IS NULL;
CREATE INDEX activity_parked ON activity (since_ms) WHERE state = 'parked';
CREATE INDEX stops_standing ON stops (seq) WHERE role IS NOT NULL;
CREATE INDEX records_ended_badly ON records (channel, root)
    WHERE json_extract(entry, '$.record.ending.how') IN ('failed', 'stuck', 'turn_limit');

-- Words of messages, their files and pull requests. The text itself stays where it
-- is: the index knows only in which row of `search_docs` a word stands.
CREATE TABLE search_docs (
    id          INTEGER PRIMARY KEY,
    kind        TEXT NOT NULL,
    channel     TEXT NOT NULL,
    root        TEXT NOT NULL,
    key         TEXT NOT NULL,
    UNIQUE (channel, kind, key)
) STRICT;
CREATE VIRTUAL TABLE search USING fts5 (words, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");

CREATE VIEW message_words AS SELECT channel, root, ts,
    coalesce(json_extract(body, '$.text'), '') || ' ' ||
    coalesce((SELECT group_concat(atom, ' ') FROM json_tree(body, '$.blocks')
              WHERE key = 'text' AND type = 'text'), '') || ' ' ||
    coalesce((SELECT group_concat(f.name || ' ' || f.title || ' ' || CASE
                WHEN f.length <= 65536 AND instr(coalesce(f.bytes, x'00'), x'00') = 0
                THEN CAST(f.bytes AS TEXT) ELSE '' END, ' ')
              FROM json_each(body, '$.files') j JOIN files f ON f.id = json_extract(j.value, '$.id')), '')
    AS words FROM messages;
CREATE VIEW pull_words AS SELECT channel, root, repo, number, '#' || number AS key,
    title || ' ' || body || ' ' || branch || ' ' || substr(coalesce(diff, ''), 1, 1000000) AS words
    FROM pulls;

INSERT INTO search_docs (kind, channel, root, key) SELECT 'message', channel, root, ts FROM messages;
INSERT INTO search_docs (kind, channel, root, key) SELECT 'pull', channel, root, '#' || number FROM pulls;
INSERT INTO search (rowid, words) SELECT d.id, w.words FROM search_docs d
    JOIN message_words w ON w.channel = d.channel AND w.ts = d.key WHERE d.kind = 'message';
INSERT INTO search (rowid, words) SELECT d.id, w.words FROM search_docs d
    JOIN pull_words w ON w.channel = d.channel AND w.key = d.key WHERE d.kind = 'pull';

CREATE TRIGGER message_said AFTER INSERT ON messages BEGIN
    INSERT INTO search_docs (kind, channel, root, key) VALUES ('message', new.channel, new.root, new.ts);
    INSERT INTO search (rowid, words) SELECT d.id, w.words FROM search_docs d, message_words w
        WHERE d.channel = new.channel AND d.kind = 'message' AND d.key = new.ts
          AND w.channel = new.channel AND w.ts = new.ts;
END;
CREATE TRIGGER message_edited AFTER UPDATE OF body ON messages BEGIN
    DELETE FROM search WHERE rowid = (SELECT id FROM search_docs
        WHERE channel = new.channel AND kind = 'message' AND key = new.ts);
    INSERT INTO search (rowid, words) SELECT d.id, w.words FROM search_docs d, message_words w
        WHERE d.channel = new.channel AND d.kind = 'message' AND d.key = new.ts
          AND w.channel = new.channel AND w.ts = new.ts;
END;
CREATE TRIGGER message_gone AFTER DELETE ON messages BEGIN
    DELETE FROM search WHERE rowid = (SELECT id FROM search_docs
        WHERE channel = old.channel AND kind = 'message' AND key = old.ts);
    DELETE FROM search_docs WHERE channel = old.channel AND kind = 'message' AND key = old.ts;
END;
CREATE TRIGGER pull_opened AFTER INSERT ON pulls BEGIN
    INSERT INTO search_docs (kind, channel, root, key)
        VALUES ('pull', new.channel, new.root, '#' || new.number);
    INSERT INTO search (rowid, words) SELECT d.id, w.words FROM search_docs d, pull_words w
        WHERE d.channel = new.channel AND d.kind = 'pull' AND d.key = '#' || new.number
          AND w.repo = new.repo AND w.number = new.number;
END;
CREATE TRIGGER pull_changed AFTER UPDATE OF title, body, branch, diff ON pulls BEGIN
    DELETE FROM search WHERE rowid = (SELECT id FROM search_docs
        WHERE channel = new.channel AND kind = 'pull' AND key = '#' || new.number);
    INSERT INTO search (rowid, words) SELECT d.id, w.words FROM search_docs d, pull_words w
        WHERE d.channel = new.channel AND d.kind = 'pull' AND d.key = '#' || new.number
          AND w.repo = new.repo AND w.number = new.number;
END;
