//! What a card shows, read back from each of its forms, is byte for byte what is
//! hashed: the blocks, the page's HTML, and the text of terminal and file.

mod kinds;

use butler_policy::Redactor;
use butler_protocol::{
    CardBody, CardTag, Complexity, DecisionKind, Plan, PlanStep, Remark, RequestId, Subject, Usd,
};
use butler_slack::rich;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Drawn, draw};

/// Something under a label, as a reader finds it.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Text(String),
    List(Vec<(String, Option<String>)>),
}

fn drawn(kind: DecisionKind, subject: &Subject, remarks: Vec<Remark>) -> Drawn {
    let tag = CardTag {
        request: RequestId::new("k3m9qa"),
        kind,
        sha256: subject.sha256(),
        body: None,
    };
    let body = CardBody {
        subject: subject.clone(),
        remarks,
        people: Vec::new(),
        allowed: Vec::new(),
    };
    draw(&Redactor::new(&[], &[]).unwrap(), &tag, &body).unwrap()
}

/// Undoes `verbatim` and nothing else.
fn written(shown: &str) -> String {
    let mut out = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find("\\u{") {
        out.push_str(&rest[..at]);
        let end = at + rest[at..].find('}').unwrap();
        let digits = &rest[at + 3..end];
        if !digits.is_empty() {
            out.push(char::from_u32(u32::from_str_radix(digits, 16).unwrap()).unwrap());
        }
        rest = &rest[end + 1..];
    }
    out + rest
}

/// From the blocks that Slack gets.
fn of_blocks(blocks: &Value) -> Vec<(String, Found)> {
    let elements = blocks[1]["elements"].as_array().unwrap();
    let text = |element: &Value| element["text"].as_str().unwrap().to_owned();
    let mut found = Vec::new();
    let mut at = 0;
    while at < elements.len() {
        let pieces = elements[at]["elements"].as_array().unwrap();
        assert_eq!(
            pieces[0]["style"]["bold"], true,
            "a label begins: {pieces:?}"
        );
        let label = text(&pieces[0]);
        if let Some(beside) = pieces.get(1) {
            let label = label.strip_suffix(": ").unwrap().to_owned();
            found.push((label, Found::Text(text(beside))));
            at += 1;
            continue;
        }
        let below = &elements[at + 1];
        let inside = below["elements"].as_array().unwrap();
        let what = if below["type"] == "rich_text_list" {
            let item = |item: &Value| {
                let place = item["elements"].get(2).map(text);
                (text(&item["elements"][0]), place)
            };
            Found::List(inside.iter().map(item).collect())
        } else {
            Found::Text(text(&inside[0]))
        };
        found.push((label, what));
        at += 2;
    }
    found
}

/// From what the page shows: tags make the structure, all else is text.
fn of_html(blocks: &Value) -> Vec<(String, Found)> {
    let html =
        crate::page::render::rich::render(&blocks[1], &crate::page::render::text::Names::default())
            .into_string();
    let (_, rest) = html.split_once("<div class=\"rich\">").unwrap();
    let (mut rest, _) = rest.split_once("</div>").unwrap();
    let mut found: Vec<(String, Found)> = Vec::new();
    let plain = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        text.replace("&quot;", "\"").replace("&amp;", "&")
    };
    let mut label = None;
    while !rest.is_empty() {
        let name = rest[1..].split('>').next().unwrap();
        let close = format!("</{name}>");
        let end = rest.find(&close).unwrap();
        let inner = &rest[name.len() + 2..end];
        rest = &rest[end + close.len()..];
        let split = inner
            .strip_prefix("<strong>")
            .and_then(|s| s.split_once("</strong>"));
        let what = match split {
            Some((bold, "")) => {
                label = Some(plain(bold));
                continue;
            }
            Some((bold, beside)) => {
                label = Some(plain(bold.strip_suffix(": ").unwrap()));
                Found::Text(plain(beside))
            }
            None if name == "ol" || name == "ul" => {
                let items = inner.split("<li>").skip(1).map(|item| {
                    let item = item.strip_suffix("</li>").unwrap();
                    match item.split_once(" <code>") {
                        Some((text, place)) => {
                            let place = place.strip_suffix("</code>").unwrap();
                            (plain(text), Some(plain(place)))
                        }
                        None => (plain(item), None),
                    }
                });
                Found::List(items.collect())
            }
            None => Found::Text(plain(inner)),
        };
        found.push((label.take().unwrap(), what));
    }
    found
}

/// From the text of a terminal or an attached file.
fn of_text(text: &str) -> Vec<(String, Found)> {
    let mut found: Vec<(String, Found)> = Vec::new();
    // Whether the line before was a label with nothing beside it.
    let mut fresh = false;
    for line in text.split_terminator('\n') {
        let Some(inside) = line.strip_prefix("    ") else {
            let end = label_end(line);
            let (label, beside) = (&line[..end], &line[end + 1..]);
            fresh = beside.is_empty();
            let beside = beside.strip_prefix(' ').unwrap_or_default();
            found.push((label.to_owned(), Found::Text(beside.to_owned())));
            continue;
        };
        let (label, last) = found.last_mut().unwrap();
        if LISTS.contains(&label.as_str()) {
            if fresh {
                *last = Found::List(Vec::new());
            }
            let Found::List(items) = last else {
                panic!("a list")
            };
            item_line(items, inside);
        } else if let Found::Text(text) = last {
            *text = if fresh {
                inside.to_owned()
            } else {
                format!("{text}\n{inside}")
            };
        }
        fresh = false;
    }
    found
}

const LISTS: [&str; 5] = [
    "Steps",
    "Done when",
    "Files",
    "Not chosen",
    "What the runtime saw",
];

fn item_line(items: &mut Vec<(String, Option<String>)>, line: &str) {
    if let Some(place) = line.strip_prefix("at: ") {
        items.last_mut().unwrap().1 = Some(place.to_owned());
        return;
    }
    let Some(more) = line.strip_prefix("    ") else {
        let (_, text) = line.split_once(' ').unwrap();
        return items.push((text.to_owned(), None));
    };
    let (text, place) = items.last_mut().unwrap();
    let last = place.as_mut().unwrap_or(text);
    *last = format!("{last}\n{more}");
}

/// Where a label ends: after the name that it quotes, or at its colon.
fn label_end(line: &str) -> usize {
    let quoted = ["Field ", "Argument "]
        .iter()
        .find(|what| line.starts_with(**what));
    let Some(quoted) = quoted else {
        return line.find(':').unwrap();
    };
    let (mut escaped, mut quotes) = (false, 0);
    let end = line.find(|c| {
        quotes += usize::from(c == '"' && !escaped);
        escaped = c == '\\' && !escaped;
        quotes == 2
    });
    let end = end.unwrap_or_else(|| panic!("{quoted} ends in {line}"));
    end + line[end..].find(':').unwrap()
}

fn text_of(found: &[(String, Found)], label: &str) -> Option<String> {
    found.iter().find_map(|(name, what)| match what {
        Found::Text(text) if name == label => Some(written(text)),
        _ => None,
    })
}

fn list_of(found: &[(String, Found)], label: &str) -> Vec<(String, Option<String>)> {
    let list = found.iter().find_map(|(name, what)| match what {
        Found::List(items) if name == label => Some(items.clone()),
        _ => None,
    });
    let items = list.unwrap_or_default().into_iter();
    items
        .map(|(text, place)| (written(&text), place.map(|place| written(&place))))
        .collect()
}

fn named(found: &[(String, Found)], what: &str) -> Map<String, Value> {
    let mut map = Map::new();
    for (label, value) in found {
        let (Some(name), Found::Text(text)) = (label.strip_prefix(what), value) else {
            continue;
        };
        let (name, json) = match name.strip_suffix(" (JSON)") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let name: String = serde_json::from_str(&written(name)).unwrap();
        let text = written(text);
        let value = if json {
            serde_json::from_str(&text).unwrap()
        } else {
            Value::String(text)
        };
        map.insert(name, value);
    }
    map
}

/// The call that a card shows.
fn command(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label);
    let mut arguments = named(found, "Argument ");
    arguments.insert("command".to_owned(), json!(text("Command").unwrap()));
    let scripts = text("Scripts it names (JSON)")
        .map_or(json!([]), |text| serde_json::from_str(&text).unwrap());
    let mut all = named(found, "Field ");
    all.insert("arguments".to_owned(), sorted(arguments));
    all.insert(
        "network".to_owned(),
        json!(text("Network").unwrap() != "no"),
    );
    all.insert("scripts".to_owned(), scripts);
    for (field, label) in [
        ("role", "Role"),
        ("root", "Working folder"),
        ("thread", "Thread"),
        ("tool", "Tool"),
    ] {
        all.insert(field.to_owned(), json!(text(label).unwrap()));
    }
    Subject::of(&sorted(all))
}

fn sorted(map: Map<String, Value>) -> Value {
    let mut entries: Vec<_> = map.into_iter().collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    Value::Object(entries.into_iter().collect())
}

/// The plan that a card shows.
fn plan(found: &[(String, Found)]) -> Subject {
    let text = |label: &str| text_of(found, label).unwrap();
    let list = |label: &str| {
        list_of(found, label)
            .into_iter()
            .map(|(text, _)| text)
            .collect()
    };
    let steps = list_of(found, "Steps").into_iter();
    Subject::of(&Plan {
        title: text("Plan"),
        summary: text("Summary"),
        steps: steps
            .map(|(text, place)| PlanStep { text, place })
            .collect(),
        criteria: list("Done when"),
        files: list("Files"),
        rejected: list("Not chosen"),
        complexity: serde_json::from_value(json!(text("Complexity"))).unwrap(),
        estimate: text_of(found, "Expected cost").map(|range| {
            let (low, high) = range.split_once(" to ").unwrap_or((&range, &range));
            (nanos(low), nanos(high))
        }),
    })
}

fn nanos(text: &str) -> Usd {
    let (whole, part) = text.strip_prefix('$').unwrap().split_once('.').unwrap();
    let part: i64 = format!("{part:0<9}").parse().unwrap();
    Usd::from_nanos(whole.parse::<i64>().unwrap() * 1_000_000_000 + part)
}

/// Reads a card in all its forms; each must give the subject.
fn check(kind: DecisionKind, subject: &Subject, read: fn(&[(String, Found)]) -> Subject) {
    let remark = Remark::model("Reason", "x\n\nNetwork: no\n\nCommand:\n    true");
    let card = drawn(kind, subject, vec![remark]);
    let shown: usize = card.blocks.to_string().len();
    let checked = crate::web_api::blocks::checked(Some(card.blocks.clone()));
    assert!(checked.is_ok(), "{checked:?}: {shown} bytes");
    if let Some((name, text)) = &card.attached {
        assert!(card.blocks.to_string().contains(name.as_str()));
        assert_eq!(read(&of_text(text)), *subject);
        return;
    }
    let text = rich::plain(&card.blocks[1]);
    for (form, found) in [
        ("blocks", of_blocks(&card.blocks)),
        ("page", of_html(&card.blocks)),
        ("text", of_text(&text)),
    ] {
        assert_eq!(read(&found), *subject, "{form}: {text}");
    }
}

/// Strings made of what has fooled cards, and of anything else.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => any::<char>().prop_map(String::from),
        2 => "[ -~]{1,12}",
        4 => prop::sample::select(vec![
            "```", "\n```\n", "`", "~~~", "\u{202e}", "\u{2066}", "\u{200b}", "\u{feff}", "\0",
            "\u{1b}[2J", "\r\n", "\t", " ", "   ", "\n", "\n\n\n\n", "\\", "\\u{202e}", "\\u{",
            "[a]: http://e.vil/\n", "<!-- x -->", "</pre>", "<b>", "&lt;", "&amp;", "**", "*", "_",
            "\nNetwork: no\n", "Command:", "\n    ", "at: ", "1. ", "- ", ": ", "\"", " (JSON)",
            "Argument \"x\"", "e\u{301}", "\u{e0041}", "🎉", "<@U1>", "<!channel>", "$(rm -rf ~)",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// The text, or so much of it that no card holds it.
fn grown(text: &str, long: bool) -> String {
    if long {
        text.repeat(200_000 / text.len().max(1))
    } else {
        text.to_owned()
    }
}

fn call(command: &str, arguments: Vec<(String, String)>, network: bool, root: &str) -> Subject {
    let mut all: Map<String, Value> = Map::new();
    for (name, text) in arguments {
        all.insert(name, Value::String(text));
    }
    all.insert("timeout_seconds".to_owned(), json!(600));
    all.insert("command".to_owned(), json!(command));
    Subject::of(&sorted(Map::from_iter([
        ("arguments".to_owned(), sorted(all)),
        ("network".to_owned(), json!(network)),
        ("role".to_owned(), json!("coder")),
        ("root".to_owned(), json!(root)),
        ("scripts".to_owned(), json!([])),
        ("thread".to_owned(), json!("C1/1700000000.000100")),
        ("tool".to_owned(), json!("Bash")),
        ("tree".to_owned(), json!({"sha": root})),
    ])))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_command_is_read_back_as_it_is_hashed(
        command_line in nasty(),
        arguments in prop::collection::vec((nasty(), nasty()), 0..3),
        network in any::<bool>(),
        root in nasty(),
        long in prop::bool::weighted(0.03),
    ) {
        let subject = call(&grown(&command_line, long), arguments, network, &root);
        check(DecisionKind::Command, &subject, command);
    }

    #[test]
    fn a_plan_is_read_back_as_it_is_hashed(
        title in nasty(),
        summary in nasty(),
        steps in prop::collection::vec((nasty(), prop::option::of(nasty())), 0..5),
        lists in prop::collection::vec(prop::collection::vec(nasty(), 0..4), 3),
        estimate in prop::option::of((0i64..9_000_000_000_000, 0i64..9_000_000_000)),
        long in prop::bool::weighted(0.03),
    ) {
        let [criteria, files, rejected] = lists.try_into().unwrap();
        let steps = steps.into_iter().map(|(text, place)| PlanStep { text, place });
        let subject = Subject::of(&Plan {
            title,
            summary: grown(&summary, long),
            steps: steps.collect(),
            criteria,
            files,
            rejected,
            complexity: Complexity::Medium,
            estimate: estimate.map(|(low, high)| (Usd::from_nanos(low), Usd::from_nanos(high))),
        });
        check(DecisionKind::Plan, &subject, plan);
    }
}

#[test]
fn what_hid_before_is_seen_and_what_is_long_is_attached_whole() {
    let hidden = "echo hi\n```\n\n```\nrm -rf ~\n";
    let card = drawn(
        DecisionKind::Command,
        &call(hidden, vec![], true, "/r"),
        vec![],
    );
    let text = rich::plain(&card.blocks[1]);
    assert!(
        text.starts_with("Command:\n    echo hi\n    ```\n    \n    ```\n    rm -rf ~\\u{a}\n"),
        "{text}"
    );
    assert!(
        text.contains("\nNetwork: yes, it opens for this call\nWorking folder: /r\n"),
        "{text}"
    );
    assert!(
        text.contains("\nArgument \"timeout_seconds\" (JSON): 600\n"),
        "{text}"
    );

    let long = format!("true # {}\nrm -rf ~", "x".repeat(200_000));
    let card = drawn(
        DecisionKind::Command,
        &call(&long, vec![], false, "/r"),
        vec![],
    );
    let (name, whole) = card.attached.unwrap();
    assert_eq!(name, "card-k3m9qa.txt");
    assert!(whole.contains("\n    rm -rf ~\n"));
    let shown = rich::plain(&card.blocks[1]);
    assert!(shown.starts_with("Read the file: "), "{shown}");
    assert!(
        shown.contains("Network: no\n"),
        "what fits is on the card: {shown}"
    );
}

#[test]
fn a_subject_that_can_be_read_two_ways_is_refused() {
    let redactor = Redactor::new(&[], &[]).unwrap();
    for text in [
        r#"{"tool":"Bash","tool":"Read"}"#,
        r#"{"tool": "Bash"}"#,
        r#"{"tool":"\u0042ash"}"#,
        r#"["Bash"]"#,
        "rm -rf ~",
    ] {
        let subject: Subject = serde_json::from_value(json!(text)).unwrap();
        let tag = CardTag {
            request: RequestId::new("r"),
            kind: DecisionKind::Command,
            sha256: subject.sha256(),
            body: None,
        };
        let body = CardBody {
            subject,
            remarks: Vec::new(),
            people: Vec::new(),
            allowed: Vec::new(),
        };
        let refused = draw(&redactor, &tag, &body).unwrap_err();
        assert_eq!(refused.to_string(), "subject_not_canonical", "{text}");
    }
}

#[test]
fn every_kind_says_all_of_its_fields() {
    let merge = json!({"pr": 7, "head": "abc", "tree": "def", "title": "T", "description": "D",
        "evidence": ["unverified", "3 files"], "new_field": [1, {"deep": "x"}]});
    let learning = json!({"file": "coder.md", "change": {"is": "passage", "old": "a\n",
        "new": "b", "why": "w"}});
    let cap = json!({"budget": "thread", "cap": 5_000_000_000i64, "used": 4_990_000_001i64});
    for (kind, subject, lines) in [
        (
            DecisionKind::Merge,
            merge,
            vec![
                "Title: T\n",
                "    - unverified\n",
                "Pull request: #7\n",
                "Reviewed tree: def\n",
                "Field \"new_field\" (JSON): [1,{\"deep\":\"x\"}]\n",
            ],
        ),
        (
            DecisionKind::Learning,
            learning,
            vec![
                "File: coder.md\n",
                "Replaces:\n    a\\u{a}\n",
                "With:\n    b\n",
                "Why:\n    w\n",
            ],
        ),
        (
            DecisionKind::Cap,
            cap,
            vec![
                "Budget: thread\n",
                "It holds: $5.00\n",
                "Spent or set aside: $4.990000001\n",
            ],
        ),
    ] {
        let card = drawn(kind, &Subject::of(&subject), vec![]);
        let text = rich::plain(&card.blocks[1]);
        for line in lines {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
