use super::*;
use crate::roadmap::edit::RoadmapError;

const FILE: &str = "# Roadmap: shop\n\nA word of ana.\n\n## 1. Auth system\n- Status: done\n- Branch: codebutler/auth-system\n- Depends on: —\n- Acceptance criteria: login, register\n\n## 2) User profile API\n* **Status:** ✅ In Progress\n* **Depends on:** #1\n\n## 3. Profile UI\nStatus: pending\nDepends on: items 1 and 2\nAcceptance criteria:\n  - [ ] page\n  - edit form\n\n## 4: Mail\n\nben's notes\n\n## 5. Push\n- status: Blocked — no account\n- needs: 4, 9\n\n## Ideas for 2027\n- Status: whatever\n";

fn numbers(items: &[&Item]) -> Vec<u32> {
    items.iter().map(|item| item.number).collect()
}

#[test]
fn what_people_write_is_read() {
    let roadmap = Roadmap::parse(FILE);
    assert_eq!(roadmap.text(), FILE);
    let statuses: Vec<_> = roadmap
        .items()
        .iter()
        .map(|item| item.status.clone())
        .collect();
    let blocked = Status::Blocked("no account".into());
    assert_eq!(
        statuses,
        [
            Status::Done,
            Status::InProgress,
            Status::Pending,
            Status::Pending,
            blocked
        ]
    );
    let third = roadmap.item(3).unwrap();
    assert_eq!(third.title, "Profile UI");
    assert_eq!(third.depends_on, [1, 2]);
    assert_eq!(third.criteria, ["page", "edit form"]);
    assert_eq!(
        roadmap.item(1).unwrap().branch.as_deref(),
        Some("codebutler/auth-system")
    );
    assert!(roadmap.item(1).unwrap().depends_on.is_empty());
    assert_eq!(roadmap.item(1).unwrap().criteria, ["login, register"]);
}

#[test]
fn ready_is_pending_with_everything_done() {
    let roadmap = Roadmap::parse(FILE);
    assert_eq!(numbers(&roadmap.ready()), [4]);
    assert_eq!(roadmap.waiting_on(roadmap.item(3).unwrap()), [2]);
    let later = roadmap.set_status(2, &Status::Done).unwrap();
    assert_eq!(numbers(&later.ready()), [3, 4]);
}

#[test]
fn statuses_read_back_and_unknown_words_start_nothing() {
    for (text, expected) in [
        ("todo", Status::Pending),
        ("", Status::Pending),
        ("In-Progress (ana)", Status::InProgress),
        ("**done**", Status::Done),
        (
            "blocked: waits for ben",
            Status::Blocked("waits for ben".into()),
        ),
        ("blocked (a (b))", Status::Blocked("a (b)".into())),
        ("blocked", Status::Blocked(String::new())),
        ("doneish", Status::Unknown("doneish".into())),
        ("maybe", Status::Unknown("maybe".into())),
    ] {
        let status = Status::read(text);
        assert_eq!(status, expected, "{text}");
        assert_eq!(Status::read(&status.to_string()), status, "{text}");
    }
    let roadmap = Roadmap::parse("## 1. A\n- Status: maybe\n");
    assert!(roadmap.ready().is_empty());
}

#[test]
fn cycles_missing_and_double_numbers_are_reported_with_their_lines() {
    let text = "## 1. A\nDepends on: 3\n## 2. B\nDepends on: 1\n## 3. C\nDepends on: 2\n## 4. D\nDepends on: 4, 8\n## 4. E\nStatus: huh\n## 5. F\nDepends on: 1\n";
    let roadmap = Roadmap::parse(text);
    assert_eq!(roadmap.cycles(), [vec![1, 2, 3], vec![4]]);
    let problems: Vec<_> = roadmap
        .problems("roadmap.md")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        problems,
        [
            "roadmap.md:1: items 1, 2, 3 wait for each other",
            "roadmap.md:7: item 4 depends on 8, which does not exist",
            "roadmap.md:7: item 4 depends on itself",
            "roadmap.md:9: item 4 is there twice",
            "roadmap.md:9: item 4: status \"huh\" is not pending, in_progress, done or blocked",
        ]
    );
    assert!(roadmap.ready().is_empty());
}

#[test]
fn a_status_changes_its_own_bytes_only() {
    let roadmap = Roadmap::parse(FILE);
    let changed = roadmap
        .set_status(2, &Status::Blocked("needs\nana".into()))
        .unwrap();
    assert_eq!(
        changed.text(),
        FILE.replace("✅ In Progress", "blocked (needs ana)")
    );
    let changed = roadmap.set_status(4, &Status::InProgress).unwrap();
    assert_eq!(
        changed.text(),
        FILE.replace("## 4: Mail\n", "## 4: Mail\n- Status: in_progress\n")
    );
    assert_eq!(
        roadmap.set_status(7, &Status::Done),
        Err(RoadmapError::Unknown(7))
    );
    let branch = roadmap.set_branch(1, "codebutler/other").unwrap();
    assert_eq!(branch.text(), FILE.replace("auth-system", "other"));
    let bare = Roadmap::parse("## 1. A\r\n- Status:\r\n- Branch: \r\n## 2. B");
    let bare = bare
        .set_status(1, &Status::Done)
        .unwrap()
        .set_branch(1, "x")
        .unwrap();
    let bare = bare.set_status(2, &Status::Done).unwrap();
    assert_eq!(
        bare.text(),
        "## 1. A\r\n- Status: done\r\n- Branch: x \r\n## 2. B\r\n- Status: done\r\n"
    );
}

#[test]
fn a_new_item_comes_after_the_others_and_before_a_persons_sections() {
    let roadmap = Roadmap::parse(FILE);
    let criteria = ["sent\nonce".to_owned()];
    let (number, changed) = roadmap.add("Digest mail", &[4], &criteria).unwrap();
    assert_eq!(number, 6);
    let block = "## 6. Digest mail\n- Status: pending\n- Depends on: 4\n- Acceptance criteria:\n  - sent once\n";
    let expected = FILE.replace("\n## Ideas", &format!("\n{block}\n## Ideas"));
    assert_eq!(changed.text(), expected);
    assert_eq!(changed.item(6).unwrap().criteria, ["sent once"]);
    let (_, first) = Roadmap::parse("# Roadmap\n").add("A", &[], &[]).unwrap();
    assert_eq!(first.item(1).unwrap().title, "A");
    assert_eq!(
        Roadmap::parse("```\n").add("A", &[], &[]),
        Err(RoadmapError::Tangled)
    );
}
