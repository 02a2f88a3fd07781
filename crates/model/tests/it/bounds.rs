//! Properties: a stream cut anywhere reads alike, no bytes panic, and retries
//! never exceed what the table states.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use butler_model::{
    ErrorClass, EventReader, Gather, ModelError, Pace, PriceBook, RetryPolicy, Trouble, read_reply,
    run,
};
use butler_protocol::{ModelReply, Price, Usd};
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use crate::kit::question;

const FIXTURES: [&str; 7] = [
    include_str!("fixtures/openrouter_kimi.sse"),
    include_str!("fixtures/openrouter_claude.sse"),
    include_str!("fixtures/openai.sse"),
    include_str!("fixtures/llama_cpp.sse"),
    include_str!("fixtures/llama_cpp_python.sse"),
    include_str!("fixtures/ollama.sse"),
    include_str!("fixtures/vllm.sse"),
];

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<ModelReply, String> {
    let mut reader = EventReader::default();
    let mut gather = Gather::default();
    for piece in pieces {
        for data in reader.push(piece) {
            gather.event(&data).map_err(|error| error.to_string())?;
        }
    }
    if let Some(rest) = reader.finish() {
        let _ = gather.event(&rest);
    }
    if !gather.ended() {
        return Err("cut".to_owned());
    }
    let upper = Price::flat(Usd::from_cents(1), Usd::from_cents(1));
    read_reply(
        gather.finish(),
        &question("m"),
        &PriceBook::default(),
        &upper,
    )
    .map_err(|error| error.to_string())
}

const CLASSES: [ErrorClass; 10] = [
    ErrorClass::RateLimited,
    ErrorClass::Overloaded,
    ErrorClass::Timeout,
    ErrorClass::Malformed,
    ErrorClass::ContextTooLong,
    ErrorClass::NoCredit,
    ErrorClass::Auth,
    ErrorClass::Forbidden,
    ErrorClass::Filtered,
    ErrorClass::Rejected,
];

fn failure(class: ErrorClass, wait: Option<u64>) -> ModelError {
    let mut trouble = Trouble::new("m", "x");
    trouble.retry_after = wait.map(Duration::from_secs);
    trouble.spent = Usd::from_nanos(1);
    class.with(trouble)
}

proptest! {
    #[test]
    fn chunks_cut_anywhere_give_the_same_reply(
        fixture in prop::sample::select(FIXTURES.to_vec()),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let stream = fixture.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let whole = read([stream]);
        prop_assert!(whole.is_ok(), "{:?}", whole);
        prop_assert_eq!(read(places.windows(2).map(|w| &stream[w[0]..w[1]])), whole);
    }

    #[test]
    fn a_stream_that_stops_early_is_an_error_or_the_whole_reply(
        fixture in prop::sample::select(FIXTURES.to_vec()),
        cut in any::<prop::sample::Index>(),
    ) {
        let stream = fixture.as_bytes();
        let whole = read([stream]).unwrap();
        if let Ok(reply) = read([&stream[..cut.index(stream.len())]]) {
            // Only what comes after the end (usage) may be missing.
            prop_assert_eq!((reply.text, reply.calls), (whole.text, whole.calls));
        }
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        fixture in prop::sample::select(FIXTURES.to_vec()),
        place in any::<prop::sample::Index>(),
    ) {
        let _ = read([bytes.as_slice()]);
        let mut damaged = fixture.as_bytes().to_vec();
        let at = place.index(damaged.len());
        let end = (at + bytes.len()).min(damaged.len());
        damaged.splice(at..end, bytes);
        let _ = read([damaged.as_slice()]);
    }

    #[test]
    fn no_json_panics(text in r#"\{"choices":\[\{"delta":\{"(content|tool_calls|reasoning_details)":.{0,40}\}\}\]\}"#, value in "[\\[\\]{}\",:a-z0-9]{0,40}") {
        let _ = read([format!("data: {text}\n\n").as_bytes()]);
        let _ = read([format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{value}]}}}}]}}\n\n").as_bytes()]);
    }

    #[test]
    fn retries_never_exceed_the_stated_count(
        failures in prop::collection::vec((prop::sample::select(CLASSES.to_vec()), prop::option::of(0..200_u64)), 1..20),
    ) {
        let policy = RetryPolicy {
            pace: Pace::new(|_| std::future::ready(()), || 0.9),
            ..RetryPolicy::default()
        };
        let attempts = AtomicU32::new(0);
        let attempt = |number: u32| {
            attempts.fetch_add(1, Ordering::Relaxed);
            let (class, wait) = failures[number as usize % failures.len()];
            std::future::ready(Err::<(), _>(failure(class, wait)))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let error = runtime.block_on(run(&policy, &CancellationToken::new(), attempt)).unwrap_err();
        let made = attempts.into_inner();
        prop_assert!(made <= 6, "{} attempts", made);
        prop_assert_eq!(error.spent(), Usd::from_nanos(i64::from(made)), "each attempt is paid");
        for class in CLASSES {
            let met = (0..made).filter(|n| failures[*n as usize % failures.len()].0 == class).count();
            prop_assert!(met as u32 <= class.retries() + 1, "{:?} {} times", class, met);
        }
    }
}

#[test]
fn the_table_is_the_stated_one() {
    let retries = CLASSES.map(ErrorClass::retries);
    assert_eq!(retries, [5, 5, 1, 3, 0, 5, 0, 0, 0, 0]);
    assert!(
        !failure(ErrorClass::NoCredit, None).retryable(),
        "no credit waits only when asked to"
    );
    assert!(failure(ErrorClass::NoCredit, Some(1)).retryable());
}
