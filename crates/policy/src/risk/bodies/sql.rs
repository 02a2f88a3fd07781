//! SQL and the words of other stores: what removes data.

use std::sync::LazyLock;

use regex::Regex;

/// The statement that removes data or leaves the database, if there is one.
pub(in super::super) fn destructive(text: &str) -> Option<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?ix)
            \b drop \s+ (?: table | database | schema | view | materialized | index | user | role | type
                | function | procedure | trigger | sequence | collection | keyspace | extension | column
                | owned | tablespace | stream | if | temporary | temp | aggregate | domain | policy | server
                | constraint | publication | partition | event | rule | login | topic | dictionary | foreign ) \b
            | \b truncate \b (?: \s | $ )
            | \b delete \s+ (?: from \b | [\w.`\x22\[\]]+ \s* (?: ; | $ | where \b | from \b ) )
            | \b alter \s+ (?: table | database | schema | user | role | type | view ) \b [^;]* \b drop \b
            | \b copy \b [^;]* \b program \b
            | \b xp_cmdshell \b | \b sys_exec \b | \b load_extension \s* \(
            | (?: ^ | [\n;] ) \s* \\ ! | \\ o \s* \| | \\ copy \b [^;\n]* \b program \b
            | (?: ^ | [\n;] ) \s* \. (?: shell | system ) \b
            | (?: ^ | [\n;] ) \s* system \s+ \w
            | \\ (?: g | gx | w ) \s* \|
            ",
        )
        .ok()
    });
    // A pipe may stand in quotes.
    static PIPE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?m)^\s*\.(?:output|once|import|log|read)\s*['"]?\s*\|"#).ok()
    });
    if let Some(pipe) = PIPE.as_ref()?.find(text) {
        return Some(pipe.as_str().trim().to_owned());
    }
    let pattern = PATTERN.as_ref()?;
    let bare = without_text(text);
    let hit = pattern.find(&bare)?.as_str();
    Some(hit.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Blanks out comments and string literals. Comments that MySQL runs stay, and
/// so do strings when something executes strings.
fn without_text(text: &str) -> String {
    let executes = {
        let lower = text.to_lowercase();
        lower.contains("execute") || lower.contains("prepare") || lower.contains("eval")
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("/*!") || rest.starts_with("/*M!") {
            out.push(' ');
            let digits = rest.trim_start_matches(['/', '*', '!', 'M']);
            rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            continue;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |at| at + 4)
        } else if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if c == '\'' && !executes {
            rest[1..].find('\'').map_or(rest.len(), |at| at + 2)
        } else if c == '"' && !executes {
            // A string to some, a name to others: a name stays one.
            out.push_str("\"x\"");
            let end = rest[1..].find('"').map_or(rest.len(), |at| at + 2);
            rest = &rest[end..];
            continue;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[skip..];
    }
    out
}

/// The command that removes data from a key-value or document store.
pub(in super::super) fn store_command(text: &str) -> Option<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?ix)
            \b (?: flushall | flushdb | dropDatabase | dropCollection | dropUser | dropAllUsers
                | dropIndexes | deleteMany | deleteOne | findOneAndDelete | bulkDelete ) \b
            | \. \s* (?: drop | remove ) \s* \(
            ",
        )
        .ok()
    });
    let hit = PATTERN.as_ref()?.find(text)?;
    Some(hit.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_removes_data_is_found_in_any_spelling() {
        for text in [
            "DROP TABLE users",
            "drop\n database x;",
            "DROP/**/TABLE x",
            "/*!50000 DROP TABLE x*/",
            "truncate users",
            "TRUNCATE TABLE x",
            "delete from t",
            "DELETE FROM t WHERE id = 1",
            "alter table t drop column c",
            "ALTER TABLE t ADD x int, DROP COLUMN y",
            "with d as (delete from t returning *) select * from d",
            "select 1; \n \\! rm x",
            ".shell id",
            "COPY t TO PROGRAM 'sh'",
            "do $$ begin execute 'drop table t'; end $$",
            "drop table \"x\"",
            "delete from \"t\"",
            "select \"it's\"; drop table x; select 'a'",
            ".output |sh",
            ".once '|sh'",
            "system id",
            "select 1 \\g |sh",
        ] {
            assert!(destructive(text).is_some(), "{text}");
        }
    }

    #[test]
    fn words_in_data_and_names_are_not_statements() {
        for text in [
            "SELECT * FROM t WHERE note = 'drop table x'",
            "select 1 -- drop table x",
            "select deleted, dropped from t",
            "insert into log values ('delete from x')",
            "select truncate_name from t",
            "select count(*) from deletes /* truncate t */",
            "create table drops (id int)",
            "update t set dropped = true",
            "select \"drop table x\"",
            "select * from system where a = 1",
            ".output dump.sql",
        ] {
            assert_eq!(destructive(text), None, "{text}");
        }
        assert!(store_command("db.dropDatabase()").is_some());
        assert!(store_command("db.users.find({})").is_none());
    }
}
