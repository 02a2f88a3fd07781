//! Each fault, and what the client makes of it.

use std::time::Duration;

use butler_model::{ErrorClass, Heard, ModelRequest};
use butler_protocol::Usd;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::kit::{Stage, request, stage, stage_with, user};

fn story(fault: &str) -> String {
    format!(
        "title: t\nroles:\n  coder:\n    - say: \"hello, this is a longer text in several pieces\"\n      call: [{{ tool: Edit, with: {{ path: \"a\", new: \"one\\ntwo\" }} }}]\n      fault: {fault}\n    - say: next\n"
    )
}

fn question(stream: bool) -> ModelRequest {
    let mut question = request("coder", vec![user("go")]);
    question.stream = stream;
    question
}

/// Local patience, so that silence is noticed soon.
async fn short_tempered(fault: &str) -> Stage {
    stage_with(&story(fault), true, |config| {
        config.first_byte = Duration::from_millis(150);
        config.idle = Duration::from_millis(150);
    })
    .await
}

#[tokio::test]
async fn what_passes_is_retried_and_then_answered() {
    let passing = [
        "rate_limited",
        "overloaded",
        "bad_gateway",
        "silence",
        "stall",
        "half_chunk",
        "cut",
        "mid_stream_error",
        "bad_json",
        "no_choices",
        "{ kind: no_credit, retry_after_ms: 5 }",
    ];
    for fault in passing {
        for stream in [true, false] {
            let stage = short_tempered(fault).await;
            let reply = stage.ask(&question(stream)).await;
            let reply = reply.unwrap_or_else(|error| panic!("{fault}, stream {stream}: {error}"));
            assert_eq!(reply.calls.len(), 1, "{fault}");
            assert_eq!(stage.waits(), 1, "{fault}, stream {stream}");
        }
    }
}

#[tokio::test]
async fn what_does_not_pass_fails_after_the_stated_number_of_retries() {
    let failing = [
        (
            "{ kind: rate_limited, times: 99 }",
            ErrorClass::RateLimited,
            5,
        ),
        ("{ kind: overloaded, times: 99 }", ErrorClass::Overloaded, 5),
        (
            "{ kind: mid_stream_error, times: 99 }",
            ErrorClass::Overloaded,
            5,
        ),
        ("{ kind: stall, times: 99 }", ErrorClass::Timeout, 1),
        ("{ kind: silence, times: 99 }", ErrorClass::Timeout, 1),
        ("{ kind: cut, times: 99 }", ErrorClass::Timeout, 1),
        ("{ kind: half_chunk, times: 99 }", ErrorClass::Timeout, 1),
        ("{ kind: bad_json, times: 99 }", ErrorClass::Malformed, 3),
        ("{ kind: no_choices, times: 99 }", ErrorClass::Malformed, 3),
        ("context_too_long", ErrorClass::ContextTooLong, 0),
        ("no_credit", ErrorClass::NoCredit, 0),
        ("auth", ErrorClass::Auth, 0),
        ("forbidden", ErrorClass::Forbidden, 0),
        ("filtered", ErrorClass::Filtered, 0),
        ("rejected", ErrorClass::Rejected, 0),
        ("bad_arguments500", ErrorClass::Rejected, 0),
    ];
    for (fault, class, retries) in failing {
        let stage = short_tempered(fault).await;
        let error = stage.ask(&question(true)).await.unwrap_err();
        assert_eq!(error.class(), class, "{fault}: {error}");
        assert_eq!(stage.waits(), retries, "{fault}");
        assert!(
            !error.advice().is_empty() && error.advice().ends_with('.'),
            "{fault}"
        );
    }
}

#[tokio::test]
async fn retry_after_is_obeyed_and_a_long_one_ends_the_call() {
    let stage = stage(&story(
        "{ kind: rate_limited, times: 2, retry_after_ms: 7000 }",
    ))
    .await;
    stage.ask(&question(true)).await.unwrap();
    let waits = stage.waits.lock().unwrap().clone();
    // Half of the jitter's ceiling on top: 1 s, then 2 s.
    assert_eq!(
        waits,
        [Duration::from_millis(7500), Duration::from_millis(8000)]
    );

    let stage = crate::kit::stage(&story(
        "{ kind: rate_limited, times: 1, retry_after_ms: 600000 }",
    ))
    .await;
    let error = stage.ask(&question(true)).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(600)));
    assert_eq!(stage.waits(), 0);
}

#[tokio::test]
async fn what_models_get_wrong_is_repaired_or_reported() {
    let edit = json!({"path": "a", "new": "one\ntwo"});
    for fault in ["near_json", "tool_as_text"] {
        let stage = stage(&story(fault)).await;
        let reply = stage.ask(&question(true)).await.unwrap();
        assert_eq!(reply.calls[0].arguments, edit, "{fault}");
        assert_eq!(reply.calls[0].problem, None, "{fault}");
        assert!(reply.text.unwrap().starts_with("hello"), "{fault}");
    }
    for (fault, words) in [("broken_arguments", "send"), ("output_limit", "cut off")] {
        let stage = stage(&story(fault)).await;
        let reply = stage.ask(&question(true)).await.unwrap();
        assert_eq!(reply.calls[0].arguments, json!({}), "{fault}");
        let problem = reply.calls[0].problem.as_deref().unwrap();
        assert!(problem.contains(words), "{problem}");
        assert_eq!(reply.cut, fault == "output_limit");
    }
    let stage = stage(&story("empty")).await;
    let reply = stage.ask(&question(true)).await.unwrap();
    assert_eq!((reply.text, reply.calls.len()), (None, 0));
    let nudged = request("coder", vec![user("go"), user("please go on")]);
    assert_eq!(
        stage.ask(&nudged).await.unwrap().calls.len(),
        1,
        "after a nudge"
    );
}

#[tokio::test]
async fn a_stop_ends_a_stalled_answer_at_once_and_still_costs() {
    let stage = stage(&story("{ kind: stall, times: 99 }")).await;
    let stop = CancellationToken::new();
    let at_first_word = |_: Heard<'_>| stop.cancel();
    let asked = question(true);
    // The default patience is minutes: only the stop can end this.
    let error = stage
        .client
        .complete(&asked, &stop, Some(&at_first_word))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled);
    assert!(error.spent() > Usd::ZERO);
    let error = stage
        .client
        .complete(&asked, &stop, None)
        .await
        .unwrap_err();
    assert_eq!(
        (error.class(), error.spent()),
        (ErrorClass::Cancelled, Usd::ZERO),
        "before it began"
    );
}

#[tokio::test]
async fn a_broken_stream_is_void_and_its_cost_is_in_the_bill() {
    let stage = stage(&story("cut")).await;
    let heard = std::sync::Mutex::new(String::new());
    let listen = |piece: Heard<'_>| match piece {
        Heard::Text(text) => heard.lock().unwrap().push_str(text),
        Heard::Again => heard.lock().unwrap().clear(),
    };
    let asked = question(true);
    let reply = stage
        .client
        .complete(&asked, &CancellationToken::new(), Some(&listen))
        .await
        .unwrap();
    assert_eq!(Some(heard.into_inner().unwrap()), reply.text);
    assert!(
        reply.cost > Usd::ZERO,
        "the broken attempt, at the upper price"
    );
}

#[tokio::test]
async fn stopping_the_server_ends_its_open_answers() {
    let stage = stage(&story("{ kind: stall, times: 99 }")).await;
    let asked = question(true);
    let cancel = stage.cancel.clone();
    let listen = |_: Heard<'_>| cancel.cancel();
    let none = CancellationToken::new();
    let error = stage
        .client
        .complete(&asked, &none, Some(&listen))
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Timeout, "{error}");
    stage.rehearsal.stop().await;
}
