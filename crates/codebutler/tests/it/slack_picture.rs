//! A thread drawn as Slack shows it, for people to look at: names, app badge, blocks,
//! buttons, files. The page is made from the messages in every run of the story; it becomes
//! a picture only when pictures are asked for (`CODEBUTLER_PICTURES`).

use std::{fmt::Write as _, fs, path::Path, process::Command};

use serde_json::Value;

const STYLE: &str = "
body { font: 15px/1.46 Lato, 'Noto Sans', 'DejaVu Sans', sans-serif; color: #1d1c1d; margin: 0; width: 720px; }
h1 { font-size: 18px; border-bottom: 1px solid #ddd; margin: 0; padding: 12px 20px; }
.message { display: flex; gap: 8px; padding: 8px 20px; }
.face { flex: none; width: 36px; height: 36px; border-radius: 4px; color: #fff; font-weight: 700; text-align: center; line-height: 36px; }
.body { min-width: 0; flex: 1; overflow-wrap: anywhere; }
.name { font-weight: 900; } .app { font-size: 10px; background: #ddd; color: #616061; border-radius: 2px; padding: 1px 3px; vertical-align: 1px; }
.time { color: #616061; font-size: 12px; }
.replies { color: #616061; font-size: 13px; padding: 4px 20px; border-top: 1px solid #ddd; margin-top: 6px; }
pre { background: #f8f8f8; border: 1px solid #ddd; border-radius: 4px; padding: 8px; font-size: 12px; white-space: pre-wrap; margin: 4px 0; }
code { background: #f8f8f8; border: 1px solid #ddd; border-radius: 3px; color: #e01e5a; font-size: 12px; padding: 1px 3px; } pre code { border: 0; color: inherit; padding: 0; }
.block { margin: 4px 0; } .header { font-weight: 900; font-size: 18px; } .context { color: #616061; font-size: 13px; }
.button { display: inline-block; border: 1px solid #bbb; border-radius: 4px; font-weight: 700; padding: 3px 12px; margin: 4px 8px 4px 0; }
.primary { background: #007a5a; border-color: #007a5a; color: #fff; } .danger { background: #e01e5a; border-color: #e01e5a; color: #fff; }
.file { border: 1px solid #ddd; border-radius: 8px; padding: 8px 12px; display: inline-block; margin-top: 4px; }
.reaction { border: 1px solid #1264a3; background: #e8f5fa; border-radius: 12px; padding: 1px 7px; font-size: 12px; margin-right: 4px; }
.check { background: #2bac76; color: #fff; border-radius: 3px; padding: 0 3px; } .eye { border: 1px solid #444; border-radius: 50%; font-size: 8px; padding: 0 2px 0 4px; background: #fff; vertical-align: 1px; }
hr { border: 0; border-top: 1px solid #ddd; } blockquote { border-left: 4px solid #ddd; margin: 0; padding-left: 8px; }
";

/// Draws a page of so many messages into a picture in this folder.
pub(crate) fn draw(folder: &Path, name: &str, html: &str, messages: usize) {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("story.html");
    fs::write(&file, html).unwrap();
    // As high as the page turns out to be, cut by the browser's own measure.
    let height = 260
        + messages * 60
        + html.matches("<br>").count() * 22
        + html.matches("class=\"block").count() * 30;
    let drawn = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .arg(format!("--window-size=720,{height}"))
        .arg(format!("--screenshot={}", folder.join(name).display()))
        .arg(format!(
            "--user-data-dir={}",
            scratch.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    assert!(drawn.status.success(), "{drawn:?}");
}

/// The thread as a page.
pub(crate) fn page(messages: &[Value], people: &[(String, String)]) -> String {
    let mut out = format!(
        "<!doctype html><meta charset=utf-8><style>{STYLE}</style><h1>Thread <span class=time>#codebutler-app</span></h1>"
    );
    for (number, message) in messages.iter().enumerate() {
        if number == 1 {
            let _ = write!(
                out,
                "<div class=replies>{} replies</div>",
                messages.len() - 1
            );
        }
        out.push_str(&one(message, people));
    }
    for (id, name) in people {
        out = out.replace(&format!("@{id}"), &format!("@{name}"));
    }
    out
}

/// Emoji without a font for them.
fn emoji(name: &str) -> String {
    match name {
        "white_check_mark" => "<span class=check>✓</span>".to_owned(),
        "eyes" => "<span class=eye>●</span><span class=eye>●</span>".to_owned(),
        other => format!(":{other}:"),
    }
}

fn one(message: &Value, people: &[(String, String)]) -> String {
    let app = !message["bot_id"].is_null();
    let user = message["user"].as_str().unwrap_or_default();
    let person = people
        .iter()
        .find(|(id, _)| id == user)
        .map(|(_, name)| name.as_str());
    let name = message["username"]
        .as_str()
        .or(person)
        .unwrap_or("CodeButler");
    let letter = name
        .trim_start_matches("codebutler.")
        .chars()
        .next()
        .unwrap_or('?')
        .to_ascii_uppercase();
    let colours = [
        "#2bac76", "#1264a3", "#e8912d", "#611f69", "#e01e5a", "#36c5f0",
    ];
    let colour = colours[name.bytes().map(usize::from).sum::<usize>() % colours.len()];
    let badge = if app {
        " <span class=app>APP</span>"
    } else {
        ""
    };
    let mut body = match message["blocks"].as_array() {
        Some(blocks) if !blocks.is_empty() => blocks.iter().map(block).collect(),
        _ => text(message["text"].as_str().unwrap_or_default()),
    };
    for file in message["files"].as_array().into_iter().flatten() {
        let _ = write!(
            body,
            "<div class=file>📄 {}</div>",
            file["name"].as_str().unwrap_or_default()
        );
    }
    for reaction in message["reactions"].as_array().into_iter().flatten() {
        let _ = write!(
            body,
            " <span class=reaction>{} {}</span>",
            emoji(reaction["name"].as_str().unwrap_or_default()),
            reaction["count"]
        );
    }
    let edited = if message["edited"].is_object() && !app {
        " <span class=time>(edited)</span>"
    } else {
        ""
    };
    format!(
        "<div class=message><div class=face style=\"background:{colour}\">{letter}</div><div class=body><span class=name>{name}</span>{badge}<div>{body}{edited}</div></div></div>"
    )
}

fn block(block: &Value) -> String {
    let words = |value: &Value| text(value["text"].as_str().unwrap_or_default());
    let inner = match block["type"].as_str() {
        Some("header") => format!("<div class=header>{}</div>", words(&block["text"])),
        Some("divider") => "<hr>".to_owned(),
        Some("markdown") => text(&butler_slack_text(
            block["text"].as_str().unwrap_or_default(),
        )),
        Some("context") => {
            let all = block["elements"]
                .as_array()
                .into_iter()
                .flatten()
                .map(words);
            format!(
                "<div class=context>{}</div>",
                all.collect::<Vec<_>>().join(" ")
            )
        }
        Some("actions") => block["elements"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| {
                format!(
                    "<span class=\"button {}\">{}</span>",
                    one["style"].as_str().unwrap_or_default(),
                    words(&one["text"])
                )
            })
            .collect(),
        Some("rich_text") => rich(block),
        _ => {
            let mut all = words(&block["text"]);
            for field in block["fields"].as_array().into_iter().flatten() {
                all.push_str("<br>");
                all.push_str(&words(field));
            }
            all
        }
    };
    format!("<div class=\"block\">{inner}</div>")
}

/// The words of rich text, lists and code kept apart.
fn rich(block: &Value) -> String {
    let escaped = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
    };
    let words = |element: &Value| -> String {
        let parts = element["elements"].as_array().into_iter().flatten();
        let drawn = |part: &Value| {
            let words = part["text"].as_str().or(part["url"].as_str());
            let words = escaped(words.unwrap_or_default());
            match (&part["style"]["bold"], &part["style"]["code"]) {
                (Value::Bool(true), _) => format!("<b>{words}</b>"),
                (_, Value::Bool(true)) => format!("<code>{words}</code>"),
                _ => words,
            }
        };
        parts.map(drawn).collect()
    };
    let all =
        block["elements"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|element| match element["type"].as_str() {
                Some("rich_text_preformatted") => format!("<pre>{}</pre>", words(element)),
                Some("rich_text_list") => {
                    let items = element["elements"].as_array().into_iter().flatten();
                    let mark = |number: usize| match element["style"] == "ordered" {
                        true => format!("{}.", number + 1),
                        false => "•".to_owned(),
                    };
                    let drawn = |(number, item)| format!("{} {}<br>", mark(number), words(item));
                    items.enumerate().map(drawn).collect()
                }
                _ => words(element).replace('\n', "<br>"),
            });
    all.collect::<Vec<_>>().join("<br>")
}

/// Standard Markdown in a block, as far as the team writes it.
fn butler_slack_text(markdown: &str) -> String {
    let mut lines = Vec::new();
    for line in markdown.lines() {
        let line = line.replace("**", "*");
        lines.push(match line.strip_prefix("- ") {
            Some(item) => format!("• {item}"),
            None => line.trim_start_matches('#').to_owned(),
        });
    }
    lines.join("\n")
}

/// mrkdwn as HTML: fences, code, bold, links. What is escaped stays escaped.
fn text(mrkdwn: &str) -> String {
    let mut out = String::new();
    for (number, piece) in mrkdwn.split("```").enumerate() {
        if number % 2 == 1 {
            let _ = write!(out, "<pre>{}</pre>", piece.trim_matches('\n'));
            continue;
        }
        for (number, line) in piece.lines().enumerate() {
            if number > 0 {
                out.push_str("<br>");
            }
            let quoted = line.strip_prefix("&gt; ").or(line.strip_prefix("> "));
            match quoted {
                Some(line) => {
                    let _ = write!(out, "<blockquote>{}</blockquote>", inline(line));
                }
                None => out.push_str(&inline(line)),
            }
        }
    }
    out
}

fn inline(line: &str) -> String {
    let mut out = String::new();
    for (number, piece) in line.split('`').enumerate() {
        if number % 2 == 1 {
            let _ = write!(out, "<code>{piece}</code>");
            continue;
        }
        let mut rest = piece;
        while let Some((before, after)) = rest.split_once('<') {
            out.push_str(&bold(before));
            let (token, after) = after.split_once('>').unwrap_or((after, ""));
            let label = token.split_once('|').map_or(token, |(_, label)| label);
            let _ = write!(out, "<span style=\"color:#1264a3\">{label}</span>");
            rest = after;
        }
        out.push_str(&bold(rest));
    }
    out
}

fn bold(text: &str) -> String {
    let parts: Vec<&str> = text.split('*').collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    let marked = parts
        .iter()
        .enumerate()
        .map(|(number, part)| match number % 2 {
            1 => format!("<b>{part}</b>"),
            _ => (*part).to_owned(),
        });
    marked.collect()
}
