//! Whom a message is for: every role asks the same question, exactly the right
//! ones hear it.

use butler_protocol::{RequestId, Role, Stamp, StampKind, UserId};
use butler_turn::route::{Addressed, Author, Command, Ear, RespondTo, addressed};

fn stamp() -> Stamp {
    Stamp {
        seq: 1,
        from: None,
        to: vec![],
        kind: StampKind::Message,
        reference: None,
        active: None,
        thread: None,
    }
}

/// Every role's answer that is not "no".
fn who(stamp: &Stamp, text: &str) -> Vec<(Role, Addressed)> {
    with(stamp, Author::Ours, RespondTo::All, text, false)
}

fn with(
    stamp: &Stamp,
    author: Author,
    respond_to: RespondTo,
    text: &str,
    begun: bool,
) -> Vec<(Role, Addressed)> {
    let bot = UserId::new("U0BOT");
    let answers = Role::ALL.into_iter().map(|role| {
        let ear = Ear {
            role,
            bot: Some(&bot),
            respond_to,
        };
        (role, addressed(&ear, stamp, author, text, begun))
    });
    answers
        .filter(|(_, answer)| *answer != Addressed::No)
        .collect()
}

fn active(role: Role) -> Stamp {
    Stamp {
        active: Some(role),
        ..stamp()
    }
}

#[test]
fn a_person_reaches_whom_they_mention_else_who_is_active_else_the_pm() {
    assert_eq!(
        who(&stamp(), "please add a flag"),
        [(Role::Pm, Addressed::Me)]
    );
    assert_eq!(
        who(&stamp(), "@codebutler.coder go"),
        [(Role::Coder, Addressed::Me)]
    );
    assert_eq!(
        who(
            &active(Role::Coder),
            "@codebutler.lead and @codebutler.pm: look"
        ),
        [(Role::Pm, Addressed::Me), (Role::Lead, Addressed::Me)]
    );
    assert_eq!(
        who(&active(Role::Coder), "use tabs"),
        [(Role::Coder, Addressed::Steers)]
    );
    assert_eq!(
        who(&active(Role::Pm), "use tabs"),
        [(Role::Pm, Addressed::Steers)]
    );
    assert_eq!(
        who(&stamp(), "`@codebutler.coder` is a name"),
        [(Role::Pm, Addressed::Me)]
    );
}

#[test]
fn a_role_reaches_only_its_address_never_itself_and_never_by_text() {
    let from = |to: &[Role]| Stamp {
        from: Some(Role::Coder),
        to: to.to_vec(),
        ..stamp()
    };
    assert_eq!(who(&from(&[]), "@codebutler.pm what now?"), []);
    assert_eq!(
        who(&from(&[Role::Pm]), "@codebutler.lead"),
        [(Role::Pm, Addressed::Me)]
    );
    assert_eq!(who(&from(&[Role::Coder]), "me"), []);
    let hand_over = Stamp {
        kind: StampKind::HandOver,
        ..from(&[Role::Reviewer])
    };
    assert_eq!(who(&hand_over, "stop"), [(Role::Reviewer, Addressed::Me)]);
}

#[test]
fn foreign_bots_and_everything_that_is_no_message_are_passed_over() {
    let bot = |allowed| Author::ForeignBot { allowed };
    assert_eq!(with(&stamp(), bot(false), RespondTo::All, "hi", false), []);
    assert_eq!(
        with(&stamp(), bot(true), RespondTo::All, "hi", false).len(),
        1
    );
    for kind in [
        StampKind::Other,
        StampKind::Reaction,
        StampKind::Activity,
        StampKind::Decision,
    ] {
        assert_eq!(who(&Stamp { kind, ..stamp() }, "hi"), []);
    }
}

#[test]
fn asides_are_for_people() {
    assert_eq!(who(&active(Role::Coder), "!aside is it lunch?"), []);
    assert_eq!(who(&stamp(), "!aside @codebutler.pm is slow today"), []);
}

#[test]
fn words_that_are_obeyed_without_a_model() {
    // What a stop is the hub says, and it is nobody's message.
    let stop = Stamp {
        kind: StampKind::Stop,
        ..active(Role::Coder)
    };
    assert_eq!(who(&stop, "stop"), []);
    for (text, command) in [
        (
            "!draft  write it down",
            Command::Draft("write it down".into()),
        ),
        ("!draft", Command::Draft(String::new())),
        ("!Done", Command::Done),
    ] {
        let all = Role::ALL.map(|role| (role, Addressed::Command(command.clone())));
        assert_eq!(
            who(&active(Role::Coder), text),
            all,
            "{text}: every role keeps it"
        );
    }
    let pm = |text: &str, command| {
        assert_eq!(
            who(&active(Role::Coder), text),
            [(Role::Pm, Addressed::Command(command))]
        );
    };
    pm("status", Command::Status);
    pm("cost", Command::Cost);
    pm("Help", Command::Help);
    pm("approve k3m7qa", Command::Decide(RequestId::new("k3m7qa")));
    pm("Reject k3m7qa", Command::Decide(RequestId::new("k3m7qa")));
    let swap = Command::Model {
        role: Role::Coder,
        name: "claude".into(),
    };
    assert_eq!(
        who(&stamp(), "!coder claude"),
        [(Role::Coder, Addressed::Command(swap))]
    );
}

#[test]
fn the_same_words_inside_a_sentence_are_ordinary() {
    for text in [
        "stop using tabs",
        "what is the status of this?",
        "approve the plan",
        "help me",
        "!important",
    ] {
        assert_eq!(who(&stamp(), text), [(Role::Pm, Addressed::Me)], "{text}");
    }
}

#[test]
fn in_a_busy_channel_only_a_mention_starts_work() {
    let busy = |text: &str, begun| with(&stamp(), Author::Ours, RespondTo::Mention, text, begun);
    assert_eq!(busy("lunch?", false), []);
    assert_eq!(
        busy("<@U0BOT> add a flag", false),
        [(Role::Pm, Addressed::Me)]
    );
    assert_eq!(
        busy("@codebutler add a flag", false),
        [(Role::Pm, Addressed::Me)]
    );
    assert_eq!(
        busy("@codebutler.lead look", false),
        [(Role::Lead, Addressed::Me)]
    );
    assert_eq!(busy("yes please", true), [(Role::Pm, Addressed::Me)]);
}
