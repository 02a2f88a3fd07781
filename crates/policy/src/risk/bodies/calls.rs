//! Calls that start a shell, delete recursively or write files, by language.

use std::sync::LazyLock;

use regex::Regex;

/// Searched in the text without the contents of its strings.
const CALLS: &[(&str, &str)] = &[
    (
        "python",
        r"\bsubprocess\b|\bos\s*\.\s*(?:system|popen|exec[lv]\w*|spawn\w+|posix_spawn\w*|removedirs|chmod|chown|lchown|setuid|kill|killpg|fork|forkpty|dup2)\b|\brmtree\b|\bpty\s*\.\s*spawn|\.\s*(?:system|popen|getoutput|check_output|check_call)\s*\(|\bfrom\s+(?:os|subprocess|pty)\s+import\s+(?:\*|\(?[^\n;]*\b(?:system|popen|exec[lv]\w*|Popen|run|call|spawn))|__import__\s*\(|\bimportlib\b|\bctypes\b|\b(?:exec|eval)\s*\(|\bgetattr\s*\(\s*(?:os|subprocess|shutil|__builtins__)\b|(?:\bwalk|glob)\s*\([^\n]*\n?[^\n]*\b(?:remove|unlink)\s*\(|\b(?:remove|unlink)\s*\([^\n]*\bfor\b[^\n]*(?:\bwalk|glob)\s*\(|\bos\s*\.\s*__dict__|\bcreate_subprocess_(?:shell|exec)\b|\b(?:runsource|runcode|runpy)\b|(?m:^\s*!\s*[\w./])",
    ),
    (
        "node",
        r"\b(?:execSync|execFile|execFileSync|spawnSync|spawn|fork)\s*\(|(?:^|[^.\w])exec\s*\(|\bchild_process\b|\b(?:rimraf|removeSync|emptyDirSync|emptyDir)\s*\(|\b(?:rm|rmSync|rmdir|rmdirSync)\s*\([^;]*\brecursive\b|\bprocess\s*\.\s*(?:binding|kill|dlopen)\b|(?:^|[^.\w])eval\s*[(),]|\b(?:globalThis|global|window)\s*(?:\.\s*eval\b|\[)|\bBun\s*\.\s*\$|\bnew\s+Function\b|\bchmod(?:Sync)?\s*\(|\bchown(?:Sync)?\s*\(",
    ),
    (
        "perl",
        r"\b(?:system|exec)\b\s*[\x28\x22\x27$@q{]|(?:^|[;{(&|\n]|\b(?:or|and|do))\s*(?:system|exec)\s+\w|\bunlink\b[^\n;]*(?:<[^>\n]*>|\bglob\b|\breaddir\b)|\bfind(?:depth)?\s*\([^\n]*\bunlink\b|\bunlink\b[^\n]*\bfind(?:depth)?\s*\(|\beval\b[^\n;]*\b(?:get|LWP|HTTP::Tiny)\b|\bqx\b|`|\bfork\b|\b(?:rmtree|remove_tree)\b|\bIO::Socket\b|\bSocket\b|\bunlink\s*\(?\s*(?:glob|<|@)|\b(?:chmod|chown)\b\s*[\x28\d]|\beval\s+[$\x22]|\bopen\s*\(?[^;]*\|",
    ),
    (
        "ruby",
        r"(?:^|[^.\w:])(?:system|exec|spawn|fork)\b\s*[\x28\x22\x27%]|`|%x\b|\bKernel\s*\.\s*(?:system|exec|spawn|fork)|\bFileUtils\s*\.\s*(?:rm_r|rm_rf|remove_dir|remove_entry\w*|rmtree|chmod\w*|chown\w*)\b|\bIO\s*\.\s*popen|\bOpen3\b|\bPTY\b|\bTCPSocket\b|\binstance_eval\b|(?:^|[^.\w])eval\s*[\x28\x22\x27\w]|\bFile\s*\.\s*ch(?:mod|own)\b|\bDir\s*(?:\.\s*(?:glob|each_child|children|foreach)|\[)[^\n]*\bFile\s*\.\s*(?:unlink|delete)\b",
    ),
    (
        "php",
        r"\b(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|eval|assert|fsockopen|chmod|chown)\s*\(|`|\bglob\s*\([^\n]*\bunlink\s*\(",
    ),
    (
        "lua",
        r"\bos\s*\.\s*execute|\bio\s*\.\s*popen|\bloadstring\b",
    ),
    (
        "r",
        r"\bsystem2?\s*\(|\bunlink\s*\([^)]*\brecursive|\bshell\s*\(|\binstall\.packages\s*\(|\b(?:remotes|devtools|pak)::\w*install",
    ),
    (
        "julia",
        r"\brun\s*\(|`|\brm\s*\([^)]*\brecursive|\bPkg\s*\.\s*(?:add|rm|update|develop)\b",
    ),
    (
        "elixir",
        r"\bSystem\s*\.\s*(?:cmd|shell)|:os\s*\.\s*cmd|\bFile\s*\.\s*rm_rf|\bPort\s*\.\s*open",
    ),
    ("osascript", r"\bdo\s+shell\s+script\b|\badministrator\b"),
    (
        "groovy",
        r"\.\s*execute\s*\(|\bdeleteDir\s*\(|\bRuntime\b|\bProcessBuilder\b|\bsys\s*\.\s*process\b",
    ),
    (
        "powershell",
        r"(?i)\bremove-item\b[^;\n]*-r|\binvoke-expression\b|\biex\b|\bstart-process\b|\bdownloadstring\b|\bset-acl\b|\brm\b[^;\n]*-r|\binvoke-webrequest\b[^;\n]*\|",
    ),
    ("tcl", r"\bexec\s|\bspawn\s|\bfile\s+delete\s+-force"),
];

/// Searched in the whole text: what matters stands inside strings.
const QUOTED: &[(&str, &str)] = &[
    (
        "node",
        r#"(?:require|import)\s*\(\s*['"`](?:node:)?(?:child_process|rimraf|shelljs|execa|del)['"`]|\bfrom\s+['"](?:node:)?(?:child_process|rimraf|execa|shelljs)['"]"#,
    ),
    ("perl", r#"\bopen\s*\(?[^;]*,\s*['"][^'"]*\|"#),
    ("ruby", r#"\bopen\s*\(?\s*['"]\|"#),
    (
        "python",
        r#"getattr\s*\([^)]*['"](?:system|popen|rmtree)['"]|\b(?:timeit|repeat)\s*\([^\n]*\b(?:os\s*\.\s*(?:system|popen|exec\w+)|subprocess|rmtree)\b"#,
    ),
    (
        "php",
        r#"\barray_(?:map|analyzer)\s*\(\s*['"](?:unlink|rmdir|system|exec)['"]"#,
    ),
];

static PATTERNS: LazyLock<Vec<(&str, bool, Regex)>> = LazyLock::new(|| {
    let compile = |text: &str| Regex::new(text).ok();
    let bare = CALLS.iter().map(|(name, text)| (*name, true, *text));
    let whole = QUOTED.iter().map(|(name, text)| (*name, false, *text));
    bare.chain(whole)
        .filter_map(|(name, bare, text)| Some((name, bare, compile(text)?)))
        .collect()
});

/// The first such call, as written.
pub(super) fn found(language: &str, body: &str) -> Option<String> {
    let text = if language == "perl" {
        without_substitutions(body)
    } else {
        body.to_owned()
    };
    let bare = without_strings(&text, language == "node");
    let bare = if language == "python" {
        without_comments(&bare)
    } else {
        bare
    };
    PATTERNS
        .iter()
        .filter(|(name, _, _)| *name == language)
        .find_map(|(_, strip, pattern)| {
            let searched = if *strip { &bare } else { &text };
            let hit = pattern.find(searched)?.as_str().trim();
            Some(hit.chars().take(60).collect())
        })
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
    let Some(pattern) = WRITES.as_ref() else {
        return Vec::new();
    };
    pattern
        .captures_iter(body)
        .filter_map(|hit| {
            hit.iter()
                .skip(1)
                .flatten()
                .next()
                .map(|m| m.as_str().to_owned())
        })
        .collect()
}

/// Takes the contents out of quotes. A plain quote ends with its line, so that
/// an apostrophe in a comment does not hide what follows.
fn without_strings(text: &str, template: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let triple = ["'''", "\"\"\""]
            .into_iter()
            .find(|mark| rest.starts_with(mark));
        if let Some(mark) = triple {
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
    pattern
        .replace_all(text, |hit: &regex::Captures<'_>| {
            let evaluates = hit.get(1).is_some_and(|flags| flags.as_str().contains('e'));
            if evaluates {
                hit[0].to_owned()
            } else {
                " ".to_owned()
            }
        })
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), CALLS.len() + QUOTED.len());
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
