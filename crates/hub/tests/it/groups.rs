//! Several processes of one role: each thread has one of them, and who is lost loses its
//! threads to another one, for good.

use std::collections::BTreeMap;

use butler_protocol::{
    Activity, ActivityState, Ending, Entry, LogEnd, MessageTs, Record, RecordBatch, Reservation,
    ReserveId, Role, ThreadId, Usd,
};
use butler_slack::{Control, Envelope, SharedEpoch, SlackError, Socket, Web};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::world::{PATIENCE, World, peek, take, text_of};

/// One process of a role.
struct Process {
    socket: Socket,
    cancel: CancellationToken,
}

impl Process {
    async fn start(world: &World, role: Role, name: &str) -> Self {
        let cancel = CancellationToken::new();
        let token = world.repo.agents[&role].app.clone();
        let opening = Socket::open_as(Some(name.into()), &world.base, token, cancel.clone());
        let socket = timeout(PATIENCE, opening).await.unwrap().unwrap();
        Self { socket, cancel }
    }

    fn web(&self, world: &World, role: Role, thread: &ThreadId) -> Web {
        let web = world.web_at(role, self.socket.shared_epoch());
        web.in_thread(thread)
    }

    fn control(&self, world: &World, role: Role, thread: &ThreadId) -> Control {
        control(world, role, self.socket.shared_epoch()).in_thread(thread)
    }

    /// Gone without a word, as after `kill -9`.
    async fn die(self) -> SharedEpoch {
        let epoch = self.socket.shared_epoch();
        self.cancel.cancel();
        self.socket.close().await;
        epoch
    }

    /// Until the hub says that it stands like this.
    async fn stands(&self, first: bool, shared: bool) {
        let mut standing = self.socket.standing();
        let wanted = standing.wait_for(|now| (now.first, now.shared) == (first, shared));
        timeout(PATIENCE, wanted).await.unwrap().unwrap();
    }
}

fn control(world: &World, role: Role, epoch: SharedEpoch) -> Control {
    let token = world.repo.agents[&role].bot.clone();
    Control::new(&world.base, token, epoch).unwrap()
}

fn entry(seq: u64, epoch: u64, record: Record) -> Entry {
    Entry {
        seq,
        epoch,
        at_ms: 10 + i64::try_from(seq).unwrap(),
        record,
    }
}

fn note(text: &str) -> Record {
    Record::Note { text: text.into() }
}

fn lines(thread: &ThreadId, entries: Vec<Entry>) -> RecordBatch {
    RecordBatch {
        thread: thread.clone(),
        entries,
        end: None,
    }
}

fn end(seq: u64, epoch: u64) -> LogEnd {
    LogEnd {
        base: 0,
        seq,
        epoch,
        at_ms: match seq {
            0 => 0,
            seq => 10 + i64::try_from(seq).unwrap(),
        },
    }
}

fn is_given(envelope: &Envelope) -> bool {
    envelope.payload["event"]["type"] == "thread_given"
}

/// Takes envelopes up to this one; one whose acknowledgement was lost comes again.
async fn until(socket: &mut Socket, text: &str) {
    while text_of(&take(socket).await) != text {}
}

fn code<T: std::fmt::Debug>(answer: Result<T, SlackError>) -> String {
    let error = answer.unwrap_err();
    error.code().unwrap_or_default().to_owned()
}

/// Everything that comes to either of two processes until so many events have.
async fn gather(
    one: &mut Process,
    other: &mut Process,
    events: usize,
) -> [BTreeMap<String, Vec<String>>; 2] {
    let mut got = [BTreeMap::new(), BTreeMap::new()];
    for _ in 0..events {
        let (at, envelope) = tokio::select! {
            envelope = take(&mut one.socket) => (0, envelope),
            envelope = take(&mut other.socket) => (1, envelope),
        };
        let thread = envelope.stamp.as_ref().unwrap().thread.clone().unwrap();
        let of_thread: &mut Vec<String> = got[at].entry(thread.to_string()).or_default();
        of_thread.push(text_of(&envelope));
    }
    got
}

#[tokio::test]
async fn threads_are_spread_and_each_has_one_process() {
    let world = World::start().await;
    let mut one = Process::start(&world, Role::Coder, "one").await;
    one.stands(true, false).await;
    let mut other = Process::start(&world, Role::Coder, "other").await;
    other.stands(false, true).await;
    one.stands(true, true).await;
    let mut roots = Vec::new();
    for number in 0..6 {
        roots.push(world.say(&format!("{number}"), None).await);
    }
    for round in 0..2 {
        for root in &roots {
            world.say(&format!("again {round}"), Some(root)).await;
        }
    }
    let [first, second] = gather(&mut one, &mut other, 18).await;
    assert_eq!((first.len(), second.len()), (3, 3), "{first:?} {second:?}");
    for (thread, texts) in first.iter().chain(&second) {
        assert_eq!(texts[1..], ["again 0", "again 1"], "{thread}");
    }
    assert!(first.keys().all(|thread| !second.contains_key(thread)));
}

#[tokio::test]
async fn a_word_for_the_whole_team_is_told_to_every_process_of_a_role() {
    let world = World::start().await;
    let mut one = Process::start(&world, Role::Coder, "one").await;
    let mut other = Process::start(&world, Role::Coder, "other").await;
    other.stands(false, true).await;
    one.stands(true, true).await;
    let root = world.say("begin", None).await;
    let has_it = tokio::select! {
        _ = take(&mut one.socket) => true,
        _ = take(&mut other.socket) => false,
    };
    let (holder, other) = match has_it {
        true => (&mut one, &mut other),
        false => (&mut other, &mut one),
    };
    world.say("!pause", Some(&root)).await;
    until(&mut holder.socket, "!pause").await;
    let told = take(&mut other.socket).await;
    assert_eq!(told.payload["event"]["type"], "team_told");
    assert_eq!(told.payload["event"]["message"]["text"], "!pause");
    let thread = told.stamp.unwrap().thread;
    assert_eq!(thread, Some(world.thread(&root)));
    // What is for the thread alone is not told, and what is told does not count as work.
    world.say("please pause", Some(&root)).await;
    until(&mut holder.socket, "please pause").await;
    world.say("new", None).await;
    assert_eq!(text_of(&take(&mut other.socket).await), "new");
}

#[tokio::test]
async fn whoever_answers_people_has_all_threads_and_is_followed_by_another() {
    let world = World::start().await;
    let mut one = Process::start(&world, Role::Pm, "one").await;
    let mut other = Process::start(&world, Role::Pm, "other").await;
    other.stands(false, true).await;
    for number in 0..3 {
        world.say(&format!("{number}"), None).await;
        assert_eq!(text_of(&take(&mut one.socket).await), number.to_string());
    }
    one.die().await;
    other.stands(true, false).await;
    world.say("still there?", None).await;
    until(&mut other.socket, "still there?").await;
}

/// A thread that one process works on and one that it is done with.
async fn working(world: &World, one: &mut Process) -> (ThreadId, ThreadId) {
    let (busy, quiet) = (
        world.say("busy", None).await,
        world.say("quiet", None).await,
    );
    take(&mut one.socket).await;
    take(&mut one.socket).await;
    let epoch = one.socket.epoch().0;
    let [busy, quiet] = [busy, quiet].map(|root| world.thread(&root));
    let started = || entry(1, epoch, Record::ActivationStarted { activation: 1 });
    let ended = Record::ActivationEnded {
        activation: 1,
        ending: Ending::Done,
    };
    let log = one.control(world, Role::Coder, &busy);
    log.records(&lines(&busy, vec![started(), entry(2, epoch, note("a"))]))
        .await
        .unwrap();
    let log = one.control(world, Role::Coder, &quiet);
    log.records(&lines(&quiet, vec![started(), entry(2, epoch, ended)]))
        .await
        .unwrap();
    (busy, quiet)
}

#[tokio::test]
async fn who_is_lost_is_followed_at_work_and_refused_when_it_comes_back() {
    let world = World::start().await;
    let mut one = Process::start(&world, Role::Coder, "one").await;
    let (busy, quiet) = working(&world, &mut one).await;
    let before = one.socket.epoch().0;
    // It heard this and died before it could say so.
    world.say("go on", Some(&busy.root)).await;
    assert_eq!(text_of(&peek(&mut one.socket).await), "go on");
    let mut other = Process::start(&world, Role::Coder, "other").await;
    other.stands(false, true).await;
    let dead = one.die().await;
    let mut came = [take(&mut other.socket).await, take(&mut other.socket).await];
    came.sort_by_key(is_given);
    assert_eq!(text_of(&came[0]), "go on");
    assert!(is_given(&came[1]), "{:?}", came[1]);
    let thread = came[1].stamp.as_ref().unwrap().thread.clone();
    assert_eq!(thread, Some(busy.clone()), "what rests needs nobody");
    // The new one gets the log, and writes above every line of the old one.
    let control_of_other = other.control(&world, Role::Coder, &busy);
    let held = control_of_other
        .records_held(&busy, end(0, 0))
        .await
        .unwrap();
    assert_eq!((held.upto, held.keep), (2, Some(0)));
    let texts: Vec<&Record> = held.entries.iter().map(|line| &line.record).collect();
    assert_eq!(texts[1], &note("a"));
    assert!(held.epoch > before, "{} after {before}", held.epoch);
    let next = vec![entry(3, held.epoch, note("from the other"))];
    control_of_other.records(&lines(&busy, next)).await.unwrap();

    // The old one goes on writing: with its old epoch, then with a new connection.
    let late = control(&world, Role::Coder, dead.clone()).in_thread(&busy);
    let late_lines = lines(&busy, vec![entry(3, before, note("late"))]);
    assert_eq!(code(late.records(&late_lines).await), "stale_epoch");
    let web = world.web_at(Role::Coder, dead).in_thread(&busy);
    let post = world.post("late", Some(&busy.root), "late");
    assert_eq!(code(web.post(&post).await), "stale_epoch");
    let back = Process::start(&world, Role::Coder, "one").await;
    let log = back.control(&world, Role::Coder, &busy);
    assert_eq!(code(log.records(&late_lines).await), "thread_taken");
    assert_eq!(
        code(log.records_held(&busy, end(3, before)).await),
        "thread_taken"
    );
    let activity = Activity {
        thread: busy.clone(),
        state: ActivityState::Working,
        step: None,
        lease_seconds: 30,
    };
    assert_eq!(code(log.activity(&activity).await), "thread_taken");
    let money = Reservation {
        id: ReserveId::new("late"),
        thread: busy.clone(),
        person: None,
        amount: Usd::from_cents(1),
        heard: None,
    };
    assert_eq!(code(log.reserve(&money).await), "thread_taken");
    assert_eq!(code(log.put_body(b"late").await), "thread_taken");
    let web = back.web(&world, Role::Coder, &busy);
    assert_eq!(code(web.post(&post).await), "thread_taken");
    // Its other threads are its own.
    let web = back.web(&world, Role::Coder, &quiet);
    let fine = world.post("fine", Some(&quiet.root), "fine");
    web.post(&fine).await.unwrap();
    let all = back.control(&world, Role::Pm, &busy);
    let all = all.logs(&busy, &["note"]).await.unwrap();
    let notes: Vec<&Record> = all.iter().map(|line| &line.entry.record).collect();
    assert_eq!(notes, [&note("a"), &note("from the other")]);
    let said = world.web(Role::Pm).replies(&busy).await.unwrap();
    assert!(said.iter().all(|message| message.text != "late"));
}

#[tokio::test]
async fn a_line_never_stands_for_two_and_a_log_is_compared_line_by_line() {
    let world = World::start().await;
    let mut one = Process::start(&world, Role::Coder, "one").await;
    let (busy, _) = working(&world, &mut one).await;
    let epoch = one.socket.epoch().0;
    let log = one.control(&world, Role::Coder, &busy);
    let again = lines(&busy, vec![entry(2, epoch, note("a"))]);
    log.records(&again).await.unwrap();
    let other = lines(&busy, vec![entry(2, epoch + 1, note("b"))]);
    assert_eq!(code(log.records(&other).await), "thread_taken");
    for (ours, keep, more) in [
        (end(2, epoch), Some(2), 0),
        (end(1, epoch), Some(1), 1),
        (end(0, 0), Some(0), 2),
        (end(2, epoch + 1), None, 0),
        (end(5, epoch), None, 0),
    ] {
        let held = log.records_held(&busy, ours).await.unwrap();
        assert_eq!((held.keep, held.entries.len()), (keep, more), "{ours:?}");
        assert_eq!(held.last, Some(end(2, epoch)));
    }
}

#[tokio::test]
async fn one_that_comes_back_in_time_keeps_its_threads_and_one_without_a_name_is_alone() {
    let world = World::start().await;
    let mut one = Process::start(&world, Role::Coder, "one").await;
    let (busy, _) = working(&world, &mut one).await;
    let _other = Process::start(&world, Role::Coder, "other").await;
    one.stands(true, true).await;
    one.die().await;
    let mut one = Process::start(&world, Role::Coder, "one").await;
    one.stands(true, true).await;
    let log = one.control(&world, Role::Coder, &busy);
    log.records_held(&busy, end(0, 0)).await.unwrap();
    let root: MessageTs = busy.root.clone();
    world.say("go on", Some(&root)).await;
    let came = take(&mut one.socket).await;
    assert_eq!(text_of(&came), "go on");
    let mut alone = world.socket(Role::Coder).await;
    assert!(
        timeout(PATIENCE, one.socket.next())
            .await
            .unwrap()
            .is_none()
    );
    world.say("and now", Some(&root)).await;
    until(&mut alone, "and now").await;
}
