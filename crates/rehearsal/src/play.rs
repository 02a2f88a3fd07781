//! Which step answers a request. Pure: the same request, the same answer.

use butler_model::wire::Chat;
use butler_protocol::Role;
use serde_json::{Map, Value, json};

use crate::{
    Fault, OffScript, Scenario,
    fault::FaultKind,
    history::{History, Said},
    render::{Values, fill, fill_arguments},
    scenario::{ReadyStep, ReadyWhen},
    script::{StepUsage, Texts},
    unify,
};

/// The answer to a request.
#[derive(Debug, Clone)]
pub struct Played {
    pub role: Role,
    /// Which step of the role, from 0; nothing for a built-in answer.
    pub step: Option<usize>,
    pub say: Option<String>,
    pub calls: Vec<PlayedCall>,
    pub fault: Option<Fault>,
    /// Milliseconds before it begins.
    pub delay_ms: u64,
    /// Milliseconds between its pieces.
    pub pace_ms: u64,
    /// Tokens to report.
    pub usage: Option<StepUsage>,
}

/// A tool call with its values filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedCall {
    pub tool: String,
    pub arguments: Value,
}

/// How far a conversation has come.
struct Progress {
    counts: Vec<u32>,
    /// The steps that do not simply come one after another.
    special: Vec<usize>,
    /// The last step without `when` that appears.
    furthest: Option<usize>,
    /// What people ask for when they want this story.
    words: Vec<String>,
    values: Values,
}

/// The tool that an aside goes along with.
const SEND: &str = "SendMessage";

impl Scenario {
    /// The answer of `role` to a request. `spent` says whether the fault of a
    /// step was already played often enough at this place.
    /// Errors: [`OffScript`] with what came and what was expected.
    pub fn play(
        &self,
        role: Role,
        chat: &Chat,
        spent: &dyn Fn(usize) -> bool,
    ) -> Result<Played, OffScript> {
        let history = History::new(&chat.messages, !chat.tools.is_empty());
        let steps = self.roles.get(&role).map(Vec::as_slice).unwrap_or_default();
        let mut progress = self.progress(steps, history);
        for (place, ready) in steps.iter().enumerate() {
            // A fault without an answer is over once it was played.
            if ready.step.say.is_none() && ready.step.call.is_empty() && spent(place) {
                progress.counts[place] = u32::MAX;
            }
        }
        let off_script = |expected: Vec<String>| OffScript {
            role,
            title: self.script.title.clone(),
            came: history.newest(),
            expected,
        };
        let Some(place) = choose(steps, history, &progress) else {
            if !history.tools_offered {
                return Ok(built_in(role, &self.script.title, history));
            }
            return Err(off_script(waiting(steps, history, &progress)));
        };
        let ready = &steps[place];
        let unmet = ready.expect.as_ref();
        if let Some(reason) = unmet.and_then(|expect| expect.failure(steps, history, &progress)) {
            return Err(off_script(vec![format!("{}: {reason}", ready.name())]));
        }
        let mut played = render(role, place, ready, history, &mut progress.values)
            .map_err(|reason| off_script(vec![format!("{}: {reason}", ready.name())]))?;
        let answers_people = ready.when.as_ref().and_then(|ready| ready.when.person_said);
        if answers_people != Some(true) && history.people_now().next().is_some() {
            self.add_aside(&mut played, chat);
        }
        if self.paced && played.delay_ms == 0 {
            played.delay_ms = pause(&played);
        }
        let once_only = |fault: &Fault| !fault.kind.is_in_answer();
        played.fault = played
            .fault
            .filter(|fault| !(once_only(fault) && spent(place)));
        Ok(played)
    }

    /// A person spoke while the role works: a word to them, and the work goes on.
    fn add_aside(&self, played: &mut Played, chat: &Chat) {
        let offered = chat.tools.iter().any(|tool| tool.name == SEND);
        let opens = played.step.is_none_or(|place| {
            let steps = self.roles.get(&played.role);
            steps.is_none_or(|steps| steps[..place].iter().all(|one| one.when.is_some()))
        });
        if let Some(aside) = &self.script.aside
            && offered
            && !opens
            && !played.calls.is_empty()
        {
            let message = PlayedCall {
                tool: SEND.to_owned(),
                arguments: json!({"message": aside}),
            };
            played.calls.insert(0, message);
        }
    }

    /// Matches the answers of the history with the steps.
    fn progress(&self, steps: &[ReadyStep], history: History<'_>) -> Progress {
        let mut progress = Progress {
            counts: vec![0; steps.len()],
            special: (0..steps.len())
                .filter(|place| steps[*place].when.is_some() || steps[*place].is_emergency())
                .collect(),
            furthest: None,
            words: self.script.words.clone(),
            values: self.script.vars.clone(),
        };
        for (before, said) in history.answers() {
            let said = self.without_aside(said);
            // What a person stopped has not happened: it is given again.
            if said.stopped {
                continue;
            }
            let open = |place: &usize| progress.counts[*place] < steps[*place].times();
            let likely = choose(steps, before, &progress);
            let candidates = likely.into_iter().chain((0..steps.len()).filter(open));
            let found = candidates.into_iter().find_map(|place| {
                let mut values = progress.values.clone();
                fits(&steps[place], before, said, &mut values).then_some((place, values))
            });
            if let Some((place, values)) = found {
                progress.counts[place] = progress.counts[place].saturating_add(1);
                progress.values = values;
                if steps[place].when.is_none() {
                    progress.furthest = progress.furthest.max(Some(place));
                }
            }
        }
        progress
    }
}

/// Milliseconds that a paced answer takes: long enough to see who is at work,
/// short enough for a whole story in less than a minute.
fn pause(played: &Played) -> u64 {
    700 + (played.bytes() as u64 * 2).min(1_300)
}

/// The step that answers a history, by the rules of the crate's page.
fn choose(steps: &[ReadyStep], history: History<'_>, progress: &Progress) -> Option<usize> {
    let holds = |place: usize| match &steps[place].when {
        Some(when) => when.failure(steps, history, progress).is_none(),
        None => history.tools_offered && progress.furthest.is_none_or(|furthest| place >= furthest),
    };
    let open = |place: &usize| progress.counts[*place] < steps[*place].times() && holds(*place);
    let special = || progress.special.iter().copied();
    let emergency = special().find(|place| steps[*place].is_emergency() && open(place));
    // Long scenarios are asked a thousand times: plain steps that lie behind are
    // not looked at again.
    let from = progress.furthest.unwrap_or(0);
    let plain = || (from..steps.len()).find(|place| steps[*place].when.is_none() && open(place));
    emergency.or_else(|| special().find(open).into_iter().chain(plain()).min())
}

/// Whether an answer of the history is this step's. A step with calls is known
/// by its calls: the text beside them is progress, and may be dropped.
fn fits(ready: &ReadyStep, before: History<'_>, said: Said<'_>, values: &mut Values) -> bool {
    let step = &ready.step;
    if step.call.len() != said.calls.len() || (step.call.is_empty() && step.say.is_none()) {
        return false;
    }
    let mut tools = step.call.iter().zip(said.calls);
    if !tools.all(|(ours, theirs)| fold(&ours.tool) == fold(&theirs.name)) {
        return false;
    }
    for catch in &ready.catches {
        if let Some(found) = catch.find(before) {
            values.insert(catch.name.clone(), found);
        }
    }
    if step.call.is_empty() {
        let ours = step.say.as_deref().map(words);
        let theirs = said.text.map(words);
        let both = ours.zip(theirs);
        return both.is_some_and(|(ours, theirs)| unify::text(&ours, &theirs, values));
    }
    let kind = step.fault.as_ref().map(|fault| fault.kind);
    let unreadable = matches!(
        kind,
        Some(FaultKind::BrokenArguments | FaultKind::OutputLimit)
    );
    let mut calls = step.call.iter().zip(said.calls);
    unreadable || calls.all(|(ours, theirs)| unify::object(&ours.with, &theirs.arguments, values))
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Fills in a step; its captures stay for later steps.
fn render(
    role: Role,
    place: usize,
    ready: &ReadyStep,
    history: History<'_>,
    values: &mut Values,
) -> Result<Played, String> {
    for catch in &ready.catches {
        let found = catch.find(history).ok_or_else(|| {
            let (name, regex, from) = (&catch.name, &catch.regex, catch.from.as_str());
            format!("capture `{name}` finds `{regex}` in no {from}")
        })?;
        values.insert(catch.name.clone(), found);
    }
    let missing = |name: String| format!("`${{{name}}}` has no value yet");
    let step = &ready.step;
    let calls = step.call.iter().map(|call| {
        Ok(PlayedCall {
            tool: call.tool.clone(),
            arguments: fill_arguments(&call.with, values)?,
        })
    });
    Ok(Played {
        role,
        step: Some(place),
        calls: calls.collect::<Result<_, String>>().map_err(missing)?,
        say: match &step.say {
            Some(text) => Some(fill(text, values).map_err(missing)?),
            None => None,
        },
        fault: step.fault.clone(),
        delay_ms: step.delay_ms,
        pace_ms: step.pace_ms,
        usage: step.usage,
    })
}

/// The answer to a request without tools for which the scenario has no step: a
/// person's notes come back as they are, a conversation as a summary of its facts.
fn built_in(role: Role, title: &str, history: History<'_>) -> Played {
    if let Some(notes) = history.notes() {
        return Played::text(role, notes.to_owned());
    }
    let mut used = Map::new();
    for (_, said) in history.answers() {
        for call in said.calls {
            let count = used.get(&call.name).and_then(Value::as_u64).unwrap_or(0);
            used.insert(call.name.clone(), Value::from(count + 1));
        }
    }
    let tools = used.iter().map(|(tool, n)| format!("{tool} {n}×"));
    let mut tools = tools.collect::<Vec<_>>().join(", ");
    if tools.is_empty() {
        "none".clone_into(&mut tools);
    }
    let first = history.users().next().unwrap_or_default().chars();
    let first: String = first.take(400).collect();
    let say = format!(
        "This is a rehearsal of “{title}”; a script answers. The task so far: {first}\nAnswers: {}. Tools used: {tools}.",
        history.answer_count(),
    );
    Played::text(role, say)
}

/// What the open steps wait for, the first few.
fn waiting(steps: &[ReadyStep], history: History<'_>, progress: &Progress) -> Vec<String> {
    let open = (0..steps.len()).filter(|place| progress.counts[*place] < steps[*place].times());
    open.filter_map(|place| {
        let when = steps[place].when.as_ref()?;
        let reason = when.failure(steps, history, progress)?;
        Some(format!("{}: {reason}", steps[place].name()))
    })
    .take(5)
    .collect()
}

impl Scenario {
    /// An answer as its step has it: without the aside that went along.
    fn without_aside<'a>(&self, mut said: Said<'a>) -> Said<'a> {
        if let [first, rest @ ..] = said.calls
            && !rest.is_empty()
            && first.name == SEND
            && first.arguments["message"].as_str() == self.script.aside.as_deref()
        {
            said.calls = rest;
        }
        said
    }
}

impl ReadyWhen {
    /// The first condition that does not hold, in words.
    fn failure(
        &self,
        steps: &[ReadyStep],
        history: History<'_>,
        progress: &Progress,
    ) -> Option<String> {
        let when = &self.when;
        if when.tools_offered.unwrap_or(true) != history.tools_offered {
            return Some("tools are offered or not".to_owned());
        }
        self.about_users(history)
            .or_else(|| self.about_people(history, progress))
            .or_else(|| self.about_results(history))
            .or_else(|| self.about_counts(history))
            .or_else(|| {
                let played = |id: &String| {
                    let place = steps.iter().position(|s| s.step.id.as_ref() == Some(id));
                    place.is_some_and(|place| progress.counts[place] > 0)
                };
                let missing = texts(&when.played).iter().find(|id| !played(id));
                let early = texts(&when.not_played).iter().find(|id| played(id));
                missing
                    .map(|id| format!("step `{id}` was not played"))
                    .or_else(|| early.map(|id| format!("step `{id}` was played")))
            })
    }

    fn about_users(&self, history: History<'_>) -> Option<String> {
        let when = &self.when;
        let first = history.users().next().unwrap_or_default();
        let last = history.users().next_back().unwrap_or_default();
        lacks("the first message", first, &when.first_user_contains)
            .or_else(|| lacks("the newest message", last, &when.last_user_contains))
            .or_else(|| {
                let mut wanted = texts(&when.any_user_contains).iter();
                let heard = |text: &str| history.users().any(|user| user.contains(text));
                let missing = wanted.find(|text| !heard(text))?;
                Some(format!("no message contains “{missing}”"))
            })
    }

    fn about_people(&self, history: History<'_>, progress: &Progress) -> Option<String> {
        let opens = |said: &str| progress.furthest.is_none() && holds_all(said, &progress.words);
        let spoke = history.people_now().any(|said| !opens(said));
        if self.when.person_said.is_some_and(|wanted| wanted != spoke) {
            let not = if spoke { "a" } else { "no" };
            return Some(format!("{not} person spoke since the last answer"));
        }
        let since = self.when.since.as_ref()?;
        let Some(after) = history.since_call(&since.call, since.with.as_deref()) else {
            return Some(format!("{} was not called", since.call));
        };
        let heard = |text: &&String| after.users().any(|user| user.contains(*text));
        let missing = texts(&since.heard).iter().find(|text| !heard(text));
        let unwanted = texts(&since.unheard).iter().find(heard);
        missing
            .map(|text| format!("“{text}” was not heard since {}", since.call))
            .or_else(|| unwanted.map(|text| format!("“{text}” was heard since {}", since.call)))
    }

    fn about_results(&self, history: History<'_>) -> Option<String> {
        let when = &self.when;
        let newest = history.newest_results();
        let joined: Vec<&str> = newest.iter().map(|(_, text)| *text).collect();
        let joined = joined.join("\n");
        let tools = texts(&when.last_tool);
        let of_these = |(name, _): &(&str, &str)| tools.iter().any(|tool| tool == name);
        if !tools.is_empty() && !newest.iter().any(of_these) {
            let tools = tools.join(" or ");
            return Some(format!("the newest result is not of {tools}"));
        }
        if let Some(reason) = lacks("the newest results", &joined, &when.tool_result_contains) {
            return Some(reason);
        }
        let mut unwanted = texts(&when.tool_result_lacks).iter();
        if let Some(text) = unwanted.find(|text| joined.contains(*text)) {
            return Some(format!("the newest results contain “{text}”"));
        }
        let expected = self.matches.as_ref();
        if let Some(regex) = expected.filter(|regex| !regex.is_match(&joined)) {
            return Some(format!("the newest results do not match `{regex}`"));
        }
        let wanted = when.interrupted?;
        let what = if wanted { "nothing" } else { "something" };
        (wanted != history.is_interrupted()).then(|| format!("{what} was interrupted"))
    }

    fn about_counts(&self, history: History<'_>) -> Option<String> {
        let check = |what: &str, wanted: Option<u32>, found: usize| {
            wanted
                .filter(|wanted| *wanted as usize != found)
                .map(|wanted| format!("this would be {what} {found}, not {wanted}"))
        };
        check("answer", self.when.nth, history.answer_count() + 1)
            .or_else(|| check("turn", self.when.turn, history.answers_since_user() + 1))
    }
}

/// Whether a text holds all of these words, in any case.
pub(crate) fn holds_all(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    let mut each = words.iter();
    !words.is_empty() && each.all(|word| text.contains(&word.to_lowercase()))
}

fn texts(texts: &Option<Texts>) -> &[String] {
    texts.as_ref().map(Texts::as_slice).unwrap_or_default()
}

fn lacks(what: &str, text: &str, wanted: &Option<Texts>) -> Option<String> {
    let mut wanted = texts(wanted).iter();
    let missing = wanted.find(|wanted| !text.contains(*wanted))?;
    Some(format!("{what} does not contain “{missing}”"))
}

impl Played {
    /// A plain text that no step asked for.
    pub(crate) fn text(role: Role, say: String) -> Self {
        Self {
            role,
            step: None,
            say: Some(say),
            calls: Vec::new(),
            fault: None,
            delay_ms: 0,
            pace_ms: 0,
            usage: None,
        }
    }

    /// How long its text and the arguments of its calls are.
    pub(crate) fn bytes(&self) -> usize {
        let called = self.calls.iter().map(|call| call.arguments.to_string());
        let called: usize = called.map(|arguments| arguments.len()).sum();
        self.say.as_deref().map_or(0, str::len) + called
    }
}
