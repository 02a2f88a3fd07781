-- What each team has learned and what it is worth, as its Lead last counted it: a
-- JSON list of `LearningFigures`.
CREATE TABLE memory (
    repo        TEXT NOT NULL PRIMARY KEY,
    figures     TEXT NOT NULL,
    told_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
