//! What a role does this very moment, for people who watch: the words of the model, the
//! output of what runs, the checklist, the change as it grows. Only ends are held here, in
//! memory; they are sent while somebody looks and never otherwise.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use butler_model::Heard;
use butler_protocol::{LiveStep, LiveWork, ThreadId};
use butler_slack::SlackError;
use butler_tools::{DiffMaker, Watcher, plain};
use butler_turn::{Progress, Sign};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::Agent;

/// The most of an end that is shown, and of a diff.
const SHOWN: usize = 8 * 1024;
const DIFF: usize = 64 * 1024;
/// Between two pictures.
const PACE: Duration = Duration::from_millis(400);
/// Also without news: the answer says whether somebody still looks.
const STILL_THERE: Duration = Duration::from_secs(5);
/// After a hub that did not answer.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a hub that is away is asked again: the next picture is newer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The end of something that grows.
#[derive(Default)]
struct Tail(Vec<u8>);

impl Tail {
    /// Twice as much is held as is shown: what is cut off in front is then never the
    /// middle of a secret that the redactor would know whole.
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        if self.0.len() > 4 * SHOWN {
            let surplus = self.0.len() - 2 * SHOWN;
            self.0.drain(..surplus);
        }
    }

    /// What may be shown of it: whole words while it grows, for the redactor knows no
    /// halves, and of a long one the end, from the beginning of a line.
    fn shown(&self, grows: bool, clean: impl Fn(&str) -> String) -> String {
        let text = plain(&self.0);
        let whole = match text.rfind(char::is_whitespace) {
            _ if !grows => &text,
            Some(at) => &text[..=at],
            None => "",
        };
        let clean = clean(whole);
        if clean.len() <= SHOWN {
            return clean;
        }
        let mut from = clean.len() - SHOWN;
        while !clean.is_char_boundary(from) {
            from += 1;
        }
        let end = &clean[from..];
        end.split_once('\n')
            .map_or(end, |(_, rest)| rest)
            .to_owned()
    }
}

#[derive(Default)]
struct State {
    /// Rises with every change.
    moves: u64,
    saying: Tail,
    /// Whether the model is still at it.
    speaks: bool,
    running: Option<String>,
    output: Tail,
    /// Whether what writes it still runs.
    runs: bool,
    /// How often the checklist moved, and the checklist.
    listed: u64,
    steps: Vec<LiveStep>,
    /// How the change is made, and how many calls ended since the folder was opened.
    diff: Option<DiffMaker>,
    calls: u64,
}

/// What one role does in one thread.
pub(crate) struct LiveBoard {
    state: Mutex<State>,
    working: watch::Sender<bool>,
}

impl Default for LiveBoard {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            working: watch::channel(false).0,
        }
    }
}

impl LiveBoard {
    fn change(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.moves += 1;
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whole values only are put behind this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the role is at work at all.
    pub(crate) fn set_working(&self, works: bool) {
        if !works {
            let mut state = self.change();
            *state = State {
                moves: state.moves,
                ..State::default()
            };
        }
        self.working
            .send_if_modified(|now| std::mem::replace(now, works) != works);
    }

    /// The model is asked.
    pub(crate) fn asked(&self) {
        let mut state = self.change();
        state.saying = Tail::default();
        state.speaks = true;
    }

    /// The next piece of its answer.
    pub(crate) fn hear(&self, heard: Heard<'_>) {
        let mut state = self.change();
        match heard {
            Heard::Text(text) => state.saying.push(text.as_bytes()),
            Heard::Again => state.saying = Tail::default(),
        }
    }

    /// It has answered, or not.
    pub(crate) fn answered(&self) {
        self.change().speaks = false;
    }

    /// The folder is open; this makes its change.
    pub(crate) fn opened(&self, diff: DiffMaker) {
        self.change().diff = Some(diff);
    }

    /// A tool call is over.
    pub(crate) fn call_ended(&self) {
        let mut state = self.change();
        state.calls += 1;
        state.runs = false;
        state.running = None;
    }

    /// The checklist moved, perhaps.
    pub(crate) fn list(&self, progress: &Progress) {
        if self.state().listed == progress.moves {
            return;
        }
        let steps = progress.steps.iter().map(|(sign, text)| LiveStep {
            state: word(*sign).to_owned(),
            text: text.clone(),
        });
        let mut state = self.change();
        state.listed = progress.moves;
        state.steps = steps.collect();
    }

    /// As it is now; the diff is another matter.
    fn picture(&self, thread: &ThreadId, clean: impl Fn(&str) -> String) -> LiveWork {
        let state = self.state();
        LiveWork {
            saying: state.saying.shown(state.speaks, &clean),
            running: state.running.as_deref().map(&clean),
            output: state.output.shown(state.runs, &clean),
            steps: state.steps.clone(),
            ..LiveWork::nothing(thread.clone())
        }
    }
}

impl Watcher for LiveBoard {
    fn progress(&self, line: &str) {
        let mut state = self.change();
        state.running = Some(line.to_owned());
        state.output = Tail::default();
        state.runs = true;
    }

    fn output(&self, bytes: &[u8]) {
        self.change().output.push(bytes);
    }
}

const fn word(sign: Sign) -> &'static str {
    match sign {
        Sign::Open => "open",
        Sign::Doing => "doing",
        Sign::Done => "done",
        Sign::Dropped => "dropped",
    }
}

/// Shows the work to whoever looks, until cancelled. While nobody works nothing is asked;
/// while nobody looks one request waits at the hub.
pub(crate) async fn keep_showing(
    agent: Arc<Agent>,
    thread: ThreadId,
    board: Arc<LiveBoard>,
    cancel: CancellationToken,
) {
    let mut working = board.working.subscribe();
    let showing = async {
        while working.wait_for(|works| *works).await.is_ok() {
            if let Err(error) = show(&agent, &thread, &board).await {
                debug!(%error, "the live work is not shown");
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    tokio::select! {
        () = cancel.cancelled() => {}
        () = showing => {}
    }
}

/// Waits for somebody who looks, and shows them everything until they go or the work ends.
async fn show(agent: &Agent, thread: &ThreadId, board: &LiveBoard) -> Result<(), SlackError> {
    let control = agent.poster.control.clone().with_patience(PATIENCE);
    if !control.watched(thread).await?.watched {
        return Ok(());
    }
    let clean = |text: &str| agent.clean(text);
    let (mut shown, mut at) = (None, Instant::now());
    let (mut diff, mut made_for) = (String::new(), None);
    let mut working = board.working.subscribe();
    while *working.borrow_and_update() {
        let (moves, calls, maker) = {
            let state = board.state();
            (state.moves, state.calls, state.diff.clone())
        };
        if shown != Some(moves) || at.elapsed() >= STILL_THERE {
            if let Some(make) = maker.filter(|_| made_for != Some(calls)) {
                made_for = Some(calls);
                // Without the change the rest is still worth showing.
                diff = make(CancellationToken::new()).await.unwrap_or_default();
                diff = clean(head(&diff));
            }
            let picture = LiveWork {
                diff: diff.clone(),
                ..board.picture(thread, clean)
            };
            (shown, at) = (Some(moves), Instant::now());
            if !control.live(&picture).await?.watched {
                return Ok(());
            }
        }
        tokio::select! {
            () = tokio::time::sleep(PACE) => {}
            _ = working.changed() => {}
        }
    }
    control.live(&LiveWork::nothing(thread.clone())).await?;
    Ok(())
}

/// The beginning of a diff, in whole lines.
fn head(diff: &str) -> &str {
    if diff.len() <= DIFF {
        return diff;
    }
    let mut end = DIFF;
    while !diff.is_char_boundary(end) {
        end -= 1;
    }
    diff[..end].rfind('\n').map_or("", |at| &diff[..=at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainly(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn half_a_word_is_not_shown_while_more_may_come() {
        let mut tail = Tail::default();
        tail.push(b"the key is sk-half");
        assert_eq!(tail.shown(true, plainly), "the key is ");
        assert_eq!(tail.shown(false, plainly), "the key is sk-half");
        assert_eq!(Tail(b"sk-half".to_vec()).shown(true, plainly), "");
    }

    #[test]
    fn little_is_held_and_the_end_is_shown_from_a_line_on() {
        let mut tail = Tail::default();
        for number in 0..20_000 {
            tail.push(format!("line {number}\n").as_bytes());
            assert!(tail.0.len() <= 4 * SHOWN);
        }
        let shown = tail.shown(true, plainly);
        assert!(shown.len() <= SHOWN && shown.ends_with("line 19999\n"));
        assert!(shown.starts_with("line "), "{}", &shown[..20]);
    }

    #[test]
    fn a_secret_at_the_cut_is_taken_out_whole() {
        let secret = "s3cr3t-s3cr3t-s3cr3t";
        for before in 0..secret.len() {
            let mut tail = Tail::default();
            tail.push(b"x\n");
            tail.push(secret.as_bytes());
            tail.push(b"\n");
            let rest = SHOWN - before;
            tail.push(&vec![b'y'; rest - 1]);
            tail.push(b"\n");
            let shown = tail.shown(true, |text| text.replace(secret, "[gone]"));
            for part in 4..secret.len() {
                assert!(
                    !shown.contains(&secret[part..]) || secret.len() - part < 4,
                    "{before}"
                );
            }
        }
    }

    #[test]
    fn an_attempt_that_failed_is_void_and_work_that_ended_shows_nothing() {
        let board = LiveBoard::default();
        let thread: ThreadId = "C1/1700000000.000100".parse().unwrap();
        board.set_working(true);
        board.asked();
        board.hear(Heard::Text("never mind "));
        board.hear(Heard::Again);
        board.hear(Heard::Text("I look at it "));
        board.progress("running make");
        board.output(b"one\ntw");
        let now = board.picture(&thread, plainly);
        assert_eq!(now.saying, "I look at it ");
        assert_eq!(
            (now.running.as_deref(), now.output.as_str()),
            (Some("running make"), "one\n")
        );
        board.set_working(false);
        assert_eq!(board.picture(&thread, plainly), LiveWork::nothing(thread));
    }

    #[test]
    fn a_long_diff_ends_with_a_line() {
        let long = "+a line of the change\n".repeat(10_000);
        let shown = head(&long);
        assert!(shown.len() <= DIFF && shown.ends_with("change\n"));
        assert_eq!(head("+a\n"), "+a\n");
    }
}
