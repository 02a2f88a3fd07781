//! Calls that start a shell, delete recursively or write files.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::languages::{Language, Pattern};

/// The first such call, as written.
pub(super) fn found(language: &Language, body: &str) -> Option<String> {
    let text = match language.name {
        "perl" => without_substitutions(body),
        _ => body.to_owned(),
    };
    let mut bare = without_strings(&text, language.name == "node");
    if language.name == "python" {
        bare = without_comments(&bare);
    }
    let hit = |pattern: &Pattern, text: &str| {
        let hit = pattern.regex()?.find(text)?.as_str().trim();
        Some(hit.chars().take(60).collect())
    };
    let (mut calls, mut quoted) = (language.calls.iter(), language.quoted.iter());
    let call = calls.find_map(|pattern| hit(pattern, &bare));
    call.or_else(|| quoted.find_map(|pattern| hit(pattern, &text)))
}

/// Paths that calls write to, as far as they are literal.
pub(super) fn written(body: &str) -> Vec<String> {
    static WRITES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?x)
            (?: \b(?:remove|unlink|rmdir|rename|replace|makedirs|mkdir|symlink|truncate|touch|delete
                  |writeFile|writeFileSync|appendFile|appendFileSync|unlinkSync|rmdirSync|renameSync
                  |mkdirSync|rmSync|rm|createWriteStream|copyFileSync|file_put_contents|rm_f)
                \s*\(?\s*['"`]([^'"`\n]+)['"`]
              | \b(?:copy\w*|move|cp|mv)\s*\(?[^,()\n]+,\s*['"`]([^'"`\n]+)['"`]
              | \bopen\s*\(\s*['"]([^'"\n]+)['"]\s*,\s*(?:mode\s*=\s*)?['"][^'"]*[wax+]
              | \bopen\s*\(?[^,;]*,\s*['"]\s*>+\s*['"]?\s*,?\s*['"]?([^'"\n]+)['"]
              | \bPath\s*\(\s*['"]([^'"\n]+)['"]\s*\)\s*\.\s*(?:write_\w+|unlink|rmdir|touch|mkdir|rename|chmod)
              | \bFile\s*\.\s*(?:write|open|new)\s*\(?\s*['"]([^'"\n]+)['"]\s*,\s*['"] )
            "#,
        )
        .ok()
    });
    let hits = WRITES
        .iter()
        .flat_map(|pattern| pattern.captures_iter(body));
    let path = |hit: Captures<'_>| Some(hit.iter().skip(1).flatten().next()?.as_str().to_owned());
    hits.filter_map(path).collect()
}

/// Takes the contents out of quotes. A plain quote ends with its line, so that
/// an apostrophe in a comment does not hide what follows.
fn without_strings(text: &str, template: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut triple = ["'''", "\"\"\""].into_iter();
        if let Some(mark) = triple.find(|mark| rest.starts_with(mark)) {
            let end = rest[3..].find(mark).map_or(rest.len(), |at| at + 6);
            out.push_str("''");
            rest = &rest[end..];
        } else if matches!(c, '\'' | '"') || (template && c == '`') {
            let end = string_end(&rest[1..], c);
            out.push(c);
            out.push(c);
            rest = &rest[1 + end..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Takes out what follows `#`. Strings are empty already, so no quote hides one.
fn without_comments(text: &str) -> String {
    let code = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// Bytes up to and with the closing quote.
fn string_end(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Takes out perl's `s/…/…/` unless it evaluates its right side.
fn without_substitutions(text: &str) -> String {
    static SUBSTITUTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?:^|[\s;{(~])(?:(?:s|y|tr)(?:/(?:\\.|[^/\\\n])*/(?:\\.|[^/\\\n])*/|\|(?:\\.|[^|\\\n])*\|(?:\\.|[^|\\\n])*\||\{[^}\n]*\}\{[^}\n]*\}|#[^#\n]*#[^#\n]*#|,[^,\n]*,[^,\n]*,|![^!\n]*![^!\n]*!)([a-z]*)|m?/(?:\\.|[^/\\\n])*/[a-z]*)",
        )
        .ok()
    });
    let Some(pattern) = SUBSTITUTION.as_ref() else {
        return text.to_owned();
    };
    let kept = pattern.replace_all(text, |hit: &Captures<'_>| {
        let flags = hit.get(1).map_or("", |flags| flags.as_str());
        if flags.contains('e') {
            hit[0].to_owned()
        } else {
            " ".to_owned()
        }
    });
    kept.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(language: &str, body: &str) -> Option<String> {
        super::found(super::super::language_of(language).unwrap(), body)
    }

    #[test]
    fn paths_and_substitutions_are_found() {
        assert_eq!(written("open('/etc/x', 'w')"), ["/etc/x"]);
        assert_ne!(without_substitutions(" s/a/b/"), " s/a/b/");
    }

    #[test]
    fn words_in_strings_are_not_calls() {
        for (language, body) in [
            ("python", "print('os.system(1)')"),
            ("python", "x = {'subprocess': 1}"),
            ("python", "x = '#'  # os.system(1)"),
            ("perl", "print 'the system time'"),
            ("node", "evaluate(x)"),
            ("node", "console.log('spawn(x)')"),
            ("node", "/a/.exec('b')"),
            ("perl", "s/system(a)/b/; print"),
            ("perl", "print 'system'"),
        ] {
            assert_eq!(found(language, body), None, "{language} {body}");
        }
        for (language, body) in [
            ("python", "# don't\nos.system('x')"),
            ("python", "__import__('os').system('x')"),
            ("python", "x = '#'; os.system('x')"),
            ("perl", "system reboot"),
            ("node", "fetch(u).then(r => r.text()).then(eval)"),
            ("node", "require('child_process').execSync('x')"),
            ("perl", "s/a/system(1)/e"),
            ("perl", "system('x')"),
            ("ruby", "`x`"),
        ] {
            assert!(found(language, body).is_some(), "{language} {body}");
        }
    }
}
