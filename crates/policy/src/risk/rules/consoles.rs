//! Consoles of frameworks that are given a program text: `rails runner`,
//! `manage.py shell -c`, `artisan tinker --execute`.

use std::sync::LazyLock;

use regex::Regex;

use super::super::{analyzer::Analyzer, args::Args, bodies, state::State, text::Text};

/// Judges the text that a console is given; nothing happens if it is none.
pub(super) fn judge(analyzer: &mut Analyzer<'_>, script: &str, args: Args<'_>, state: &State) {
    let (language, texts) = match script {
        "rails" => match args.subcommand(&["-e", "--environment"]) {
            Some(("runner" | "r", rest)) => {
                let operands = rest.operands(&["-e", "--environment"]);
                let first = operands.into_iter().take(1).cloned();
                ("ruby", first.collect::<Vec<_>>())
            }
            _ => return,
        },
        "manage.py" | "django-admin" if args.any(&["shell", "shell_plus"]) => {
            ("python", args.values(&["-c", "--command"]))
        }
        "artisan" if args.any(&["tinker"]) => ("php", args.values(&["--execute"])),
        _ => return,
    };
    let Some(language) = bodies::language_of(language) else {
        return;
    };
    for text in texts {
        if !text.exact && text.text.trim() == super::super::text::UNKNOWN.to_string() {
            analyzer.ask("it runs a text that is not known before it runs", false);
        }
        if let Some(reason) = bodies::judge(analyzer, language, &text.text, state) {
            analyzer.ask(reason, false);
        }
        if let Some(call) = removes(&text) {
            analyzer.ask(format!("it tells the application `{call}`"), false);
        }
    }
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
