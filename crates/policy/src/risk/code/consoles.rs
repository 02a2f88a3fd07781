//! Consoles of frameworks that are given a program text: `rails runner`,
//! `manage.py shell -c`, `artisan tinker --execute`.

use std::sync::LazyLock;

use regex::Regex;

use super::*;

pub(super) const CODE: &[(&str, Code)] = &[("console", console)];

/// Judges the text that a console is given; nothing happens if it is none.
fn console(analyzer: &mut Analyzer<'_>, call: &Call<'_>, state: &mut State) -> Option<Output> {
    const ENVIRONMENT: [&str; 2] = ["-e", "--environment"];
    let args = call.args;
    let (language, texts) = match call.name {
        "rails" => match args.subcommand(&ENVIRONMENT) {
            Some(("runner" | "r", rest)) => {
                let first = rest.operands(&ENVIRONMENT).into_iter().take(1).cloned();
                ("ruby", first.collect::<Vec<_>>())
            }
            _ => return None,
        },
        "manage.py" | "django-admin" if args.any(&["shell", "shell_plus"]) => {
            ("python", args.values(&["-c", "--command"]))
        }
        "artisan" if args.any(&["tinker"]) => ("php", args.values(&["--execute"])),
        _ => return None,
    };
    let language = bodies::language_of(language)?;
    for text in texts {
        if !text.exact && text.text.trim() == UNKNOWN.to_string() {
            analyzer.ask("it runs a text that is not known before it runs");
        }
        analyzer.judge_text(language, &text.text, state);
        if let Some(call) = removes(&text) {
            analyzer.ask(format!("it tells the application `{call}`"));
        }
    }
    None
}

/// The call that removes records, if there is one.
fn removes(text: &Text) -> Option<&str> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"\b(?:delete_all|destroy_all|delete_by|destroy_by|drop_table|drop_database|truncate\w*)\b|(?:\.|::|->)\s*(?:delete|forceDelete|_raw_delete|flushdb|flushall)\s*\(|\.\s*(?:destroy!?|delete)\b",
        )
        .ok()
    });
    Some(PATTERN.as_ref()?.find(&text.text)?.as_str())
}
