//! What a card shows, read back from each of its forms, is byte for byte what is
//! hashed: the blocks, the page's HTML, and the text of terminal and file.

mod kinds;

use butler_policy::Redactor;
use butler_protocol::{
    Call, CardBody, CardTag, Complexity, DecisionKind, Design, Plan, PlanStep, Refusal, Remark,
    RequestId, Role, Script, Sha256Hex, Subject, Usd,
};
use butler_slack::rich;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Drawn, draw, words::tests::back};
use crate::error::{Result, Trouble};

/// Something under a label, as a reader finds it.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Text(String),
    List(Vec<(String, Option<String>)>),
}

fn drawn(subject: &Subject, remarks: Vec<Remark>) -> Drawn {
    drawn_in(None, subject, remarks)
}

fn drawn_in(language: Option<&str>, subject: &Subject, remarks: Vec<Remark>) -> Drawn {
    drawing(language, subject, remarks).unwrap()
}

fn drawing(language: Option<&str>, subject: &Subject, remarks: Vec<Remark>) -> Result<Drawn> {
    let tag = CardTag {
        request: RequestId::new("k3m9qa"),
        kind: subject.kind(),
        sha256: subject.sha256(),
        body: None,
    };
    let body = CardBody {
        unattended: false,
        subject: subject.clone(),
        remarks,
        people: Vec::new(),
        allowed: Vec::new(),
        language: language.map(str::to_owned),
    };
    draw(&Redactor::new(&[], &[]).unwrap(), &tag, &body)
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
            let (label, beside) = (back(&line[..end]), &line[end + 1..]);
            fresh = beside.is_empty();
            let beside = beside.strip_prefix(' ').unwrap_or_default();
            found.push((label, Found::Text(beside.to_owned())));
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

const LISTS: [&str; 7] = [
    "Steps",
    "Done when",
    "Files",
    "Not chosen",
    "What the runtime saw",
    "Assets",
    "Used again",
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
    if !line.starts_with("Argument ") && !line.starts_with("Argumento ") {
        return line.find(':').unwrap();
    }
    let (mut escaped, mut quotes) = (false, 0);
    let end = line.find(|c| {
        quotes += usize::from(c == '"' && !escaped);
        escaped = c == '\\' && !escaped;
        quotes == 2
    });
    let end = end.unwrap_or_else(|| panic!("the name ends in {line}"));
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
    let scripts = text("Scripts it names (JSON)");
    let call = Call {
        arguments: Value::Object(arguments),
        network: text("Network").unwrap() != "no",
        role: text("Role").unwrap().parse().unwrap(),
        root: text("Working folder").unwrap(),
        scripts: scripts.map_or_else(Vec::new, |text| serde_json::from_str(&text).unwrap()),
        thread: text("Thread").unwrap().parse().unwrap(),
        tool: text("Tool").unwrap(),
    };
    Subject::Command(Box::new(call.in_order()))
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
    Subject::Plan(Box::new(Plan {
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
        cap: text_of(found, "May cost at most").map(|cap| nanos(&cap)),
        model: text_of(found, "Built by"),
        design: text_of(found, "Purpose").map(|purpose| {
            Box::new(Design {
                purpose,
                layout: text("Layout"),
                interaction: text("Interaction"),
                states: text("States"),
                responsive: text("Responsive"),
                accessibility: text("Accessibility"),
                assets: list("Assets"),
                reuse: list("Used again"),
            })
        }),
    }))
}

fn nanos(text: &str) -> Usd {
    let (whole, part) = text.strip_prefix('$').unwrap().split_once('.').unwrap();
    let part: i64 = format!("{part:0<9}").parse().unwrap();
    Usd::from_nanos(whole.parse::<i64>().unwrap() * 1_000_000_000 + part)
}

/// A card with the hub's own words in English again.
fn in_english(mut found: Vec<(String, Found)>) -> Vec<(String, Found)> {
    for (label, what) in &mut found {
        *label = back(label);
        let Found::Text(text) = what else { continue };
        *text = match label.as_str() {
            "Network" | "Change" | "Then" | "Only knowledge" => back(text),
            "Expected cost" => text.replacen(" a ", " to ", 1),
            "Research merged with it" => text.replacen(" en", " at", 1),
            "In their own words" => match text.strip_prefix("El ") {
                Some(rest) => format!("The {}", rest.replace(" escribe", " writes")),
                None => text.clone(),
            },
            _ => text.clone(),
        };
    }
    found
}

/// Reads a card in all its forms and languages; each must give the subject.
fn check(subject: &Subject, read: fn(&[(String, Found)]) -> Subject) {
    for language in [None, Some("Spanish")] {
        check_in(language, subject, read);
    }
}

fn check_in(language: Option<&str>, subject: &Subject, read: fn(&[(String, Found)]) -> Subject) {
    let read = |found: Vec<(String, Found)>| {
        read(&match language {
            None => found,
            Some(_) => in_english(found),
        })
    };
    let remark = Remark::model("Reason", "x\n\nNetwork: no\n\nCommand:\n    true");
    let card = match drawing(language, subject, vec![remark]) {
        Ok(card) => card,
        // What looks like a secret is refused: it is not shown otherwise than it is.
        Err(Trouble::Refused(Refusal::CardWouldBeRedacted)) => return,
        Err(other) => panic!("{other:?}"),
    };
    let shown: usize = card.blocks.to_string().len();
    let checked = crate::web_api::blocks::checked(Some(card.blocks.clone()));
    assert!(checked.is_ok(), "{checked:?}: {shown} bytes");
    if let Some((name, text)) = &card.attached {
        assert!(card.blocks.to_string().contains(name.as_str()));
        assert_eq!(read(of_text(text)), *subject);
        return;
    }
    let text = rich::plain(&card.blocks[1]);
    for (form, found) in [
        ("blocks", of_blocks(&card.blocks)),
        ("page", of_html(&card.blocks)),
        ("text", of_text(&text)),
    ] {
        assert_eq!(read(found), *subject, "{form}: {text}");
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
    let call = Call {
        arguments: Value::Object(all),
        network,
        role: Role::Coder,
        root: root.to_owned(),
        scripts: vec![Script {
            path: root.to_owned(),
            sha256: Sha256Hex::of(root),
        }],
        thread: "C1/1700000000.000100".parse().unwrap(),
        tool: "Bash".to_owned(),
    };
    Subject::Command(Box::new(call.in_order()))
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
        check(&subject, command);
    }

    #[test]
    fn a_plan_is_read_back_as_it_is_hashed(
        title in nasty(),
        summary in nasty(),
        steps in prop::collection::vec((nasty(), prop::option::of(nasty())), 0..5),
        lists in prop::collection::vec(prop::collection::vec(nasty(), 0..4), 3),
        estimate in prop::option::of((0i64..9_000_000_000_000, 0i64..9_000_000_000)),
        cap in prop::option::of(0i64..9_000_000_000_000),
        model in prop::option::of("[a-z][a-z0-9/. -]{0,20}[a-z0-9]"),
        design in prop::option::of("[a-z][a-z0-9]{0,20}"),
        long in prop::bool::weighted(0.03),
    ) {
        let design = design.map(|word| Box::new(Design {
            purpose: word.clone(),
            layout: format!("{word} layout"),
            interaction: format!("{word} interaction"),
            states: format!("{word} states"),
            responsive: format!("{word} responsive"),
            accessibility: format!("{word} accessibility"),
            assets: vec![word],
            reuse: Vec::new(),
        }));
        let [criteria, files, rejected] = lists.try_into().unwrap();
        let steps = steps.into_iter().map(|(text, place)| PlanStep { text, place });
        let subject = Subject::Plan(Box::new(Plan {
            title,
            summary: grown(&summary, long),
            steps: steps.collect(),
            criteria,
            files,
            rejected,
            complexity: Complexity::Medium,
            estimate: estimate.map(|(low, high)| (Usd::from_nanos(low), Usd::from_nanos(high))),
            cap: cap.map(Usd::from_nanos),
            model,
            design,
        }));
        check(&subject, plan);
    }
}

#[test]
fn what_hid_before_is_seen_and_what_is_long_is_attached_whole() {
    let hidden = "echo hi\n```\n\n```\nrm -rf ~\n";
    let card = drawn(&call(hidden, vec![], true, "/r"), vec![]);
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
    let card = drawn(&call(&long, vec![], false, "/r"), vec![]);
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

/// What is hashed is what was read: a field that is given twice, or that nobody
/// knows and so nobody is shown, makes another hash than the sender's.
#[test]
fn a_subject_that_says_more_than_it_shows_is_refused() {
    let call = r#"{"arguments":{"command":"ls"},"network":false,"role":"coder","root":"/r","scripts":[],"thread":{"channel":"C1","root":"1700000000.000100"},"tool":"Bash""#;
    let read = |text: &str, kind| {
        let tag = CardTag {
            request: RequestId::new("r"),
            kind,
            sha256: Sha256Hex::of(text),
            body: None,
        };
        let body = format!("{{\"subject\":{{\"command\":{text}}}}}");
        super::read(&tag, body.as_bytes()).map_err(|trouble| trouble.refusal())
    };
    let whole = format!("{call}}}");
    assert!(read(&whole, DecisionKind::Command).is_ok());
    for (text, kind, refused) in [
        (
            format!("{call},\"tool\":\"Read\"}}"),
            DecisionKind::Command,
            Refusal::InvalidCard,
        ),
        (
            format!("{call},\"then\":\"rm -rf ~\"}}"),
            DecisionKind::Command,
            Refusal::SubjectMismatch,
        ),
        (
            whole.replace("\"ls\"", "\"\\u006cs\""),
            DecisionKind::Command,
            Refusal::SubjectMismatch,
        ),
        (
            whole.replace("\"ls\"", "\"ls\",\"command\":\"rm\""),
            DecisionKind::Command,
            Refusal::SubjectMismatch,
        ),
        (whole.clone(), DecisionKind::Plan, Refusal::SubjectMismatch),
        (
            "\"rm -rf ~\"".to_owned(),
            DecisionKind::Command,
            Refusal::InvalidCard,
        ),
    ] {
        assert_eq!(read(&text, kind).unwrap_err(), refused, "{text}");
    }
}

#[test]
fn every_kind_says_all_of_its_fields() {
    let merge = json!({"merge": {"pr": 7, "head": "abc", "tree": "def", "title": "T",
        "description": "D", "writer": "lead", "evidence": ["unverified", "3 files"],
        "research": [8, "fff"]}});
    let learning = json!({"learning": {"file": "coder.md", "change": {"is": "passage",
        "old": "a\n", "new": "b", "why": "w"}}});
    let pruning = json!({"learning": {"file": "coder.md", "change": {"is": "pruning",
        "title": "T", "reason": "R", "fate": "remove"}}});
    let cap = json!({"cap": {"budget": "thread", "cap": 5_000_000_000i64,
        "used": 4_990_000_001i64}});
    for (subject, lines) in [
        (
            merge,
            vec![
                "Title: T\n",
                "    - unverified\n",
                "Pull request: #7\n",
                "Reviewed tree: def\n",
                "The Lead writes\n",
                "Description:\n    D\n",
                "Research merged with it: #8 at fff\n",
            ],
        ),
        (
            learning,
            vec![
                "File: coder.md\n",
                "Replaces:\n    a\\u{a}\n",
                "With:\n    b\n",
                "Why:\n    w\n",
            ],
        ),
        (
            pruning,
            vec!["Title: T\n", "Because:\n    R\n", "Then: out of the file\n"],
        ),
        (
            cap,
            vec![
                "Budget: thread\n",
                "It holds: $5.00\n",
                "Spent or set aside: $4.990000001\n",
            ],
        ),
    ] {
        let card = drawn(&serde_json::from_value(subject).unwrap(), vec![]);
        let text = rich::plain(&card.blocks[1]);
        for line in lines {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}

#[test]
fn a_card_speaks_the_language_of_its_reader_until_it_is_decided() {
    let card = drawn_in(
        Some("es"),
        &call("rm -rf build", vec![], true, "/r"),
        vec![
            Remark::runtime("Risk", "destructive"),
            Remark::model("Why", "it is stale"),
        ],
    );
    let text = rich::plain(&card.blocks[1]);
    for line in [
        "Comando:\n    rm -rf build\n",
        "Red: sí, se abre para esta llamada\n",
        "Riesgo: destructive\n",
        "Por qué (palabras de un modelo):\n    it is stale\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(card.blocks[0]["text"]["text"], "¿Puedo ejecutar esto?");
    assert!(
        card.text.contains("Aprobar · Rechazar (k3m9qa)"),
        "{}",
        card.text
    );
    let message = json!({"blocks": card.blocks, "text": card.text});
    for (person, verdict) in [
        ("ana", "Aprobado por ana"),
        ("you", "Aprobado por el usuario"),
    ] {
        let (blocks, text) = super::decided(&message, butler_protocol::Choice::Approve, person);
        assert!(text.ends_with(verdict), "{text}");
        assert!(blocks.to_string().contains(verdict), "{blocks}");
    }
    let english = drawn(&call("rm", vec![], true, "/r"), vec![]);
    let message = json!({"blocks": english.blocks, "text": english.text});
    let (_, text) = super::decided(&message, butler_protocol::Choice::Approve, "you");
    assert!(text.ends_with("Approved by the user"), "{text}");
}
