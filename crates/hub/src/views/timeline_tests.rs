use butler_protocol::{CrashClass, Sha256Hex, TokenUsage, ToolCall, ToolOutcome};
use serde_json::json;

use super::*;

fn records(all: Vec<(i64, Record)>) -> Vec<Value> {
    all.into_iter()
        .enumerate()
        .map(|(seq, (at_ms, record))| {
            let entry = Entry {
                seq: seq as u64 + 1,
                epoch: 1,
                at_ms,
                record,
            };
            json!({"role": "coder", "entry": entry})
        })
        .collect()
}

fn settled(cents: i64) -> Record {
    Record::Settled {
        reserve: butler_protocol::ReserveId::new("r"),
        cost: Usd::from_cents(cents),
        usage: TokenUsage::default(),
        model: "m".into(),
    }
}

fn assistant(turn: u32, call: Option<&str>) -> Record {
    let calls = call
        .map(|id| ToolCall {
            id: CallId::new(id),
            name: "Bash".into(),
            arguments: json!({"command": "ls"}),
            problem: None,
        })
        .into_iter()
        .collect();
    Record::Assistant {
        turn,
        text: None,
        calls,
        reasoning: None,
        model: "m".into(),
        usage: TokenUsage::default(),
    }
}

fn costs(told: &[Moment]) -> Vec<Option<Usd>> {
    told.iter()
        .filter_map(|moment| match &moment.what {
            What::Turn { cost, .. } => Some(*cost),
            _ => None,
        })
        .collect()
}

#[test]
fn a_call_has_its_input_its_output_and_its_time() {
    let call = CallId::new("c1");
    let told = tell(
        &[json!({"ts": "0000000001.000000", "text": "hi"})],
        &records(vec![
            (2_000, assistant(1, Some("c1"))),
            (
                2_500,
                Record::ToolIntent {
                    call: call.clone(),
                    tool: "Bash".into(),
                    crash: CrashClass::Opaque,
                    sha256: Sha256Hex::of("x"),
                    trace: None,
                },
            ),
            (
                4_000,
                Record::ToolResult {
                    call,
                    outcome: ToolOutcome::error("no such file"),
                },
            ),
        ]),
    );
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(matches!(told[0].what, What::Message { .. }));
    let What::Tool {
        input,
        output,
        ok,
        took_ms,
        ..
    } = &told[2].what
    else {
        panic!("{told:?}")
    };
    assert_eq!(input["command"], "ls");
    assert_eq!(
        (output.as_deref(), *ok, *took_ms),
        (Some("no such file"), Some(false), Some(1_500))
    );
}

#[test]
fn a_turn_has_its_price_whichever_is_written_first() {
    let before = records(vec![
        (1, settled(1)),
        (2, assistant(1, None)),
        (3, settled(2)),
        (4, assistant(2, None)),
    ]);
    let after = records(vec![
        (1, assistant(1, None)),
        (2, settled(1)),
        (3, assistant(2, None)),
        (4, settled(2)),
    ]);
    let expected = vec![Some(Usd::from_cents(1)), Some(Usd::from_cents(2))];
    assert_eq!(costs(&tell(&[], &before)), expected);
    assert_eq!(costs(&tell(&[], &after)), expected);
}

#[test]
fn what_is_not_understood_is_skipped() {
    let odd = [
        json!({"role": "cook", "entry": {}}),
        json!({"role": "pm", "entry": {"seq": 1, "epoch": 1, "at_ms": 1, "record": {"t": "dance"}}}),
        json!(null),
    ];
    assert!(tell(&[json!({"text": "no time"})], &odd).is_empty());
}
