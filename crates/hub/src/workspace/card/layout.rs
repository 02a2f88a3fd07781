//! What stands on a card: every field of its subject under a label that is the hub's
//! own. The fields are taken apart by name, so that one which is added and not shown
//! does not compile.

use butler_protocol::{
    BudgetRefusal, Call, Change, Design, DevelopItem, DevelopSubject, Fate, MapChange, MapsSubject,
    MergeSubject, PictureSubject, Plan, PlanStep, Proposal, RoadmapChange, RoadmapItem,
    RoadmapSubject, Subject, Usd,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{sheet::Part, words::Words};

/// The question over the card.
pub(super) fn title(subject: &Subject) -> &'static str {
    match subject {
        Subject::Plan(_) => "Plan",
        Subject::Command(call) if call.tool == "Bash" => "May I run this?",
        Subject::Command(_) => "May I do this?",
        Subject::Learning(proposal) if matches!(proposal.change, Change::Pruning { .. }) => {
            "Let this go?"
        }
        Subject::Learning(_) => "Remember this?",
        Subject::Merge(merge) if merge.knowledge => "Keep what was learned",
        Subject::Merge(_) => "Ready to merge",
        Subject::Roadmap(_) => "Change the roadmap?",
        Subject::Develop(_) => "Build the roadmap?",
        Subject::Maps(_) => "Keep these project maps?",
        Subject::Picture(_) => "Keep this picture?",
        Subject::Cap(_) => "Out of money",
    }
}

/// What it is about, where that has a name.
pub(super) fn name(subject: &Subject) -> Option<&str> {
    match subject {
        Subject::Plan(plan) => Some(&plan.title),
        Subject::Merge(merge) => Some(&merge.title),
        Subject::Command(_)
        | Subject::Learning(_)
        | Subject::Roadmap(_)
        | Subject::Develop(_)
        | Subject::Maps(_)
        | Subject::Picture(_)
        | Subject::Cap(_) => None,
    }
}

/// Every field of a subject. A list that is empty says nothing; its type brings it
/// back.
pub(super) fn parts(subject: &Subject, words: Words) -> Vec<Part> {
    let mut parts = match subject {
        Subject::Plan(plan) => of_plan(plan, words),
        Subject::Command(call) => of_call(call, words),
        Subject::Learning(proposal) => of_proposal(proposal, words),
        Subject::Merge(merge) => of_merge(merge, words),
        Subject::Roadmap(change) => of_roadmap(change, words),
        Subject::Develop(run) => of_run(run, words),
        Subject::Maps(maps) => of_maps(maps),
        Subject::Picture(picture) => of_picture(picture),
        Subject::Cap(refusal) => of_cap(refusal),
    };
    parts.retain(|part| !part.is_empty_list());
    for part in &mut parts {
        part.label = words.label(&part.label);
    }
    parts
}

fn of_plan(plan: &Plan, words: Words) -> Vec<Part> {
    let Plan {
        title,
        summary,
        steps,
        criteria,
        files,
        rejected,
        complexity,
        estimate,
        cap,
        model,
        design,
    } = plan;
    let steps = steps
        .iter()
        .map(|PlanStep { text, place }| (text.as_str(), place.as_deref()));
    let mut parts = vec![
        Part::row("Plan", title),
        Part::prose("Summary", summary),
        Part::list("Steps", true, steps),
        list("Done when", criteria),
        list("Files", files),
        list("Not chosen", rejected),
        Part::row("Complexity", &word(complexity)),
    ];
    parts.extend(estimate.map(|(low, high)| {
        let cost = if low == high {
            dollars(low)
        } else {
            words.fill(
                "{low} to {high}",
                &[("low", &dollars(low)), ("high", &dollars(high))],
            )
        };
        Part::row("Expected cost", &cost)
    }));
    parts.extend(cap.map(|cap| Part::row("May cost at most", &dollars(cap))));
    parts.extend(model.as_deref().map(|model| Part::row("Built by", model)));
    parts.extend(design.iter().flat_map(|design| of_design(design)));
    parts
}

fn of_design(design: &Design) -> Vec<Part> {
    let texts = design.texts().into_iter();
    let texts = texts.filter(|(_, text)| !text.trim().is_empty());
    let mut parts: Vec<Part> = texts.map(|(name, text)| Part::prose(name, text)).collect();
    let lists = design.lists().into_iter();
    parts.extend(lists.map(|(name, items)| list(name, items)));
    parts
}

fn of_picture(picture: &PictureSubject) -> Vec<Part> {
    let PictureSubject {
        name: _,
        prompt,
        made_from,
        model,
        cost,
        file,
        sha256,
    } = picture;
    vec![
        Part::row("Kept as", &picture.path()),
        Part::prose("Asked for", prompt),
        list("Made from", made_from),
        Part::row("Made by", model),
        Part::row("It cost", &dollars(*cost)),
        Part::row("Picture in this thread", file),
        Part::row("Its hash", sha256.as_str()),
    ]
}

fn of_call(call: &Call, words: Words) -> Vec<Part> {
    let Call {
        arguments,
        network,
        role,
        root,
        scripts,
        thread,
        tool,
    } = call;
    let mut parts = match arguments {
        Value::Object(map) => of_arguments(map),
        other => vec![anything("Arguments", other)],
    };
    let network = if *network {
        words.say("yes, it opens for this call")
    } else {
        words.say("no")
    };
    parts.extend([
        Part::row("Network", network),
        Part::row("Working folder", root),
    ]);
    if !scripts.is_empty() {
        let scripts = serde_json::to_value(scripts).unwrap_or_default();
        parts.push(anything("Scripts it names", &scripts));
    }
    parts.extend([
        Part::row("Tool", tool),
        Part::row("Role", role.as_str()),
        Part::row("Thread", &thread.to_string()),
    ]);
    parts
}

/// The command stands first; a name that a model chose is shown as such.
fn of_arguments(map: &Map<String, Value>) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(Value::String(command)) = map.get("command") {
        parts.push(Part::code("Command", command));
    }
    for (name, value) in map {
        let label = super::verbatim::verbatim(&format!("Argument {}", Value::from(name.as_str())));
        match value {
            Value::String(_) if name == "command" => {}
            Value::String(text) => parts.push(Part::code(&label, text)),
            other => parts.push(anything(&label, other)),
        }
    }
    parts
}

fn of_proposal(proposal: &Proposal, words: Words) -> Vec<Part> {
    let Proposal { file, change } = proposal;
    let mut parts = vec![Part::row("File", file)];
    parts.extend(match change {
        Change::Learning {
            title,
            when,
            rule,
            example,
            confidence,
            source,
        } => vec![
            Part::row("Change", words.say("a learning is added")),
            Part::row("Title", title),
            Part::prose("When", when),
            Part::prose("Rule", rule),
            Part::prose("Example", example),
            Part::row("Confidence", &word(confidence)),
            Part::row("Source", source),
        ],
        Change::Passage { old, new, why } => vec![
            Part::row("Change", words.say("a passage is replaced")),
            Part::code("Replaces", old),
            Part::code("With", new),
            Part::prose("Why", why),
        ],
        Change::Pruning {
            title,
            reason,
            fate,
        } => {
            let then = match fate {
                Fate::Archive => words.say("out of the prompt, kept in the archive of the file"),
                Fate::Remove => words.say("out of the file"),
            };
            vec![
                Part::row("Change", words.say("a learning goes")),
                Part::row("Title", title),
                Part::prose("Because", reason),
                Part::row("Then", then),
            ]
        }
    });
    parts
}

fn of_roadmap(subject: &RoadmapSubject, words: Words) -> Vec<Part> {
    let RoadmapSubject { changes, diff } = subject;
    let mut parts: Vec<Part> = changes
        .iter()
        .flat_map(|change| of_roadmap_change(change, words))
        .collect();
    if !diff.is_empty() {
        parts.push(Part::code("In the file", diff));
    }
    parts
}

fn of_roadmap_change(change: &RoadmapChange, words: Words) -> Vec<Part> {
    match change {
        RoadmapChange::Add(item) => of_roadmap_item("Add", item),
        RoadmapChange::Change {
            item,
            title,
            depends_on,
            criteria,
        } => {
            let mut parts = vec![Part::row("Change item", &item.to_string())];
            parts.extend(title.as_deref().map(|title| Part::row("Title", title)));
            parts.extend(depends_on.as_deref().map(needed));
            parts.extend(criteria.as_deref().map(done_when));
            parts
        }
        RoadmapChange::Move { item, before } => {
            let place = match before {
                Some(before) => Part::row("Before item", &before.to_string()),
                None => Part::row("Then", words.say("it comes last")),
            };
            vec![Part::row("Move item", &item.to_string()), place]
        }
        RoadmapChange::Split { item, into } => {
            let mut parts = vec![Part::row("Split item", &item.to_string())];
            parts.extend(into.iter().flat_map(|piece| of_roadmap_item("Into", piece)));
            parts
        }
        RoadmapChange::Status { item, status } => vec![
            Part::row("Change item", &item.to_string()),
            Part::row("Status", &word(status)),
        ],
        RoadmapChange::Block { item, reason } => vec![
            Part::row("Block item", &item.to_string()),
            Part::prose("Because", reason),
        ],
    }
}

fn of_roadmap_item(label: &str, item: &RoadmapItem) -> Vec<Part> {
    let RoadmapItem {
        number,
        title,
        depends_on,
        criteria,
    } = item;
    let number = number.map(|number| Part::row("As item", &number.to_string()));
    [Part::row(label, title)]
        .into_iter()
        .chain(number)
        .chain([needed(depends_on), done_when(criteria)])
        .collect()
}

fn of_run(run: &DevelopSubject, words: Words) -> Vec<Part> {
    let DevelopSubject {
        items,
        at_once,
        budget,
        answer_after_minutes,
    } = run;
    let mut parts = vec![
        Part::row("Together at most", &dollars(*budget)),
        Part::row("At the same time", &at_once.to_string()),
        Part::row(
            "A question without an answer",
            &match answer_after_minutes {
                Some(minutes) => words.fill(
                    "takes its own suggestion after {minutes} minutes",
                    &[("minutes", &minutes.to_string())],
                ),
                None => words.say("waits for a person").to_owned(),
            },
        ),
    ];
    parts.extend(items.iter().flat_map(of_run_item));
    parts
}

fn of_run_item(item: &DevelopItem) -> Vec<Part> {
    let DevelopItem {
        number,
        title,
        depends_on,
        criteria,
        sha256,
        cap,
    } = item;
    vec![
        Part::row("Item", &format!("{number}. {title}")),
        needed(depends_on),
        done_when(criteria),
        Part::row("At most", &dollars(*cap)),
        Part::row("As in", sha256.as_str()),
    ]
}

fn needed(numbers: &[u32]) -> Part {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let none = numbers.is_empty();
    Part::row(
        "Depends on",
        if none {
            "—".to_owned()
        } else {
            numbers.join(", ")
        }
        .as_str(),
    )
}

/// A list that is empty would not be shown, and says something here.
fn done_when(criteria: &[String]) -> Part {
    if criteria.is_empty() {
        return Part::row("Done when", "—");
    }
    let criteria = criteria.iter().map(|one| (one.as_str(), None));
    Part::list("Done when", false, criteria)
}

fn of_merge(merge: &MergeSubject, words: Words) -> Vec<Part> {
    let MergeSubject {
        pr,
        head,
        tree,
        title,
        description,
        writer,
        evidence,
        research,
        knowledge,
    } = merge;
    let mut parts = vec![
        Part::row("Title", title),
        list("What the runtime saw", evidence),
        Part::row(
            "In their own words",
            &words.fill("The {role} writes", &[("role", writer.title())]),
        ),
        Part::prose("Description", description),
        Part::row("Pull request", &pr.to_string()),
        Part::row("Reviewed commit", head.as_str()),
        Part::row("Reviewed tree", tree.as_str()),
    ];
    parts.extend(research.as_ref().map(|(pr, head)| {
        let places = [("pull", &*pr.to_string()), ("commit", head.as_str())];
        let at = words.fill("{pull} at {commit}", &places);
        Part::row("Research merged with it", &at)
    }));
    if *knowledge {
        parts.push(Part::row("Only knowledge", words.say("yes")));
    }
    parts
}

fn of_maps(subject: &MapsSubject) -> Vec<Part> {
    let MapsSubject { files } = subject;
    let parts = files.iter().flat_map(|MapChange { file, diff }| {
        [Part::row("File", file), Part::code("Project map", diff)]
    });
    parts.collect()
}

fn of_cap(refusal: &BudgetRefusal) -> Vec<Part> {
    let BudgetRefusal { budget, cap, used } = refusal;
    vec![
        Part::row("Budget", budget),
        Part::row("It holds", &dollars(*cap)),
        Part::row("Spent or set aside", &dollars(*used)),
    ]
}

fn list(label: &str, items: &[String]) -> Part {
    Part::list(label, false, items.iter().map(|item| (item.as_str(), None)))
}

/// The word of a plain value, as files and models have it.
fn word(value: &impl Serialize) -> String {
    let word = serde_json::to_value(value).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// Whatever it is: a string as it is, all else as JSON.
fn anything(label: &str, value: &Value) -> Part {
    match value {
        Value::String(text) if text.contains('\n') => Part::prose(label, text),
        Value::String(text) => Part::row(label, text),
        other => Part::row(&format!("{label} (JSON)"), &other.to_string()),
    }
}

/// To the last nanodollar: what is shown is what is meant.
fn dollars(amount: Usd) -> String {
    let nanos = amount.nanos();
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let part = format!("{:09}", nanos % 1_000_000_000);
    let (cents, rest) = part.split_at(2);
    let rest = rest.trim_end_matches('0');
    format!("{sign}${}.{cents}{rest}", nanos / 1_000_000_000)
}
