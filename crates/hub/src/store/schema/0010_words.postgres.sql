-- Words as SQLite's index reads them: Latin letters without their marks, all of them small. The
-- letters of other languages are made small where the server has ICU, as Debian's has.
DO $do$ DECLARE small TEXT := CASE WHEN EXISTS (SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu')
    THEN 'COLLATE "und-x-icu"' ELSE '' END;
BEGIN
    EXECUTE 'CREATE FUNCTION fold_words(words TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
        $f$ SELECT lower(normalize(regexp_replace(normalize(words, NFD),
            ''([A-Za-z])[\u0300-\u036F]+'', ''\1'', ''g''), NFC) ' || small || ') $f$';
END $do$;

-- Words end at signs, also in paths and addresses, which PostgreSQL would take as a whole. A
-- text with more different words than an index entry holds is found by its beginning.
CREATE OR REPLACE FUNCTION index_words(words TEXT) RETURNS TSVECTOR LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE plain TEXT := translate(fold_words(words), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32));
BEGIN
    RETURN to_tsvector('simple', plain);
EXCEPTION WHEN program_limit_exceeded THEN RETURN to_tsvector('simple', left(plain, 100000));
END $$;

-- What was said before is found the same way.
UPDATE search_docs doc SET words = index_words(said.words) FROM message_words said
    WHERE doc.kind = 'message' AND doc.channel = said.channel AND doc.key = said.ts;
UPDATE search_docs doc SET words = index_words(told.words) FROM pull_words told
    WHERE doc.kind = 'pull' AND doc.channel = told.channel AND doc.key = told.key;
