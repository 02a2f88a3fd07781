//! Is this message for me? Pure string work, the same in every process, so that
//! six agents who see one message agree about whom it is for without talking.

use butler_policy::{Duty, Word, meanings, without_mentions};
use butler_protocol::{RequestId, Role, Stamp, StampKind, UserId, mentions, without_code};

/// Who listens, and how.
#[derive(Debug, Clone, Copy)]
pub struct Ear<'a> {
    pub role: Role,
    /// The app's own user id: autocomplete turns `@codebutler` into it.
    pub bot: Option<&'a UserId>,
    /// Whether a message that mentions nobody starts work.
    pub respond_to: RespondTo,
}

/// What starts work in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RespondTo {
    /// Every message of a person: a channel of our own.
    #[default]
    All,
    /// Only a mention; in a thread where work has begun, everything.
    Mention,
}

/// Who wrote, besides what the stamp says about our own roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A person, or one of our roles (the stamp tells).
    Ours,
    /// Another app. Ignored unless the config allows it.
    ForeignBot {
        /// The config allows it.
        allowed: bool,
    },
}

/// Whom a message is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressed {
    /// Me: it starts or continues my work.
    Me,
    /// Me, because I am at work in this thread and nobody else was named.
    Steers,
    No,
    /// A word for the runtime, to be obeyed without a model.
    Command(Command),
}

/// Words that are obeyed without a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Who does what. Answered by the PM process, like the next two.
    Status,
    Cost,
    /// What one can say.
    Help,
    /// The whole team is paused. For every role; the PM reports it.
    Pause,
    /// The whole team goes on. For every role; the PM reports it.
    Resume,
    /// Every process ends when its running turns are over, and is started anew. For
    /// every role; the PM answers.
    Restart,
    /// `!pm claude`: another model for a role in this thread.
    Model {
        role: Role,
        /// As typed.
        name: String,
    },
    /// `!draft …`: collect what this person writes, and act on nothing. For every
    /// role; the PM answers.
    Draft(String),
    /// `!done`: make one request of what was collected. For every role; the PM
    /// answers.
    Done,
    /// `approve k3m9qa` or `reject k3m9qa`: the hub decides; the role that asked may say so.
    Decide(RequestId),
}

/// Decides whom `text` is for. `work_begun` says whether this thread has been
/// worked in before, for channels where only a mention starts work.
pub fn addressed(
    ear: &Ear<'_>,
    stamp: &Stamp,
    author: Author,
    text: &str,
    work_begun: bool,
) -> Addressed {
    if !matches!(stamp.kind, StampKind::Message | StampKind::HandOver) {
        return Addressed::No;
    }
    if author == (Author::ForeignBot { allowed: false }) {
        return Addressed::No;
    }
    if let Some(from) = stamp.from {
        return from_role(ear, stamp, from);
    }
    if let Some(answer) = command(ear, text) {
        return answer;
    }
    let named = mentions(text, ear.bot);
    if !named.is_empty() {
        return me_if(named.contains(&ear.role));
    }
    match stamp.active {
        Some(active) if active == ear.role => Addressed::Steers,
        Some(_) => Addressed::No,
        None => {
            let heard = ear.respond_to == RespondTo::All || work_begun || names_us(ear, text);
            me_if(heard && Duty::Front.is_of(ear.role))
        }
    }
}

/// Between roles the address in the metadata decides, never the text.
fn from_role(ear: &Ear<'_>, stamp: &Stamp, from: Role) -> Addressed {
    me_if(from != ear.role && stamp.to.contains(&ear.role))
}

fn me_if(mine: bool) -> Addressed {
    if mine { Addressed::Me } else { Addressed::No }
}

/// The app itself is mentioned, without a role.
fn names_us(ear: &Ear<'_>, text: &str) -> bool {
    let plain = without_code(text);
    let bot = ear.bot.map(|user| format!("<@{user}>"));
    bot.is_some_and(|bot| plain.contains(&bot)) || plain.to_lowercase().contains("@codebutler")
}

/// A message that is nothing but a command, with or without a mention before it.
fn command(ear: &Ear<'_>, text: &str) -> Option<Addressed> {
    let plain = without_mentions(text, ear.bot);
    let lower = plain.to_lowercase();
    let pm_only = |command| {
        if Duty::Front.is_of(ear.role) {
            Addressed::Command(command)
        } else {
            Addressed::No
        }
    };
    if lower == "!aside" || lower.starts_with("!aside ") {
        return Some(Addressed::No);
    }
    if lower == "!done" {
        return Some(Addressed::Command(Command::Done));
    }
    if lower == "!draft" || strip_word(&lower, "!draft").is_some() {
        let rest = plain.get("!draft".len()..).unwrap_or_default();
        return Some(Addressed::Command(Command::Draft(rest.trim().to_owned())));
    }
    if let Some(rest) = plain.strip_prefix('!')
        && let Some((role, name)) = rest.split_once(' ')
        && let Ok(role) = role.parse::<Role>()
    {
        let name = name.trim().to_owned();
        let mine = ear.role == role;
        let command = Addressed::Command(Command::Model { role, name });
        return Some(if mine { command } else { Addressed::No });
    }
    let decides = ["approve", "reject"];
    let mut named = decides.iter().filter_map(|word| strip_word(&lower, word));
    if let Some(request) = named.find(|word| is_request(word)) {
        return Some(pm_only(Command::Decide(RequestId::new(request))));
    }
    match meanings(plain).first()? {
        Word::Pause => Some(Addressed::Command(Command::Pause)),
        Word::Resume => Some(Addressed::Command(Command::Resume)),
        Word::Restart => Some(Addressed::Command(Command::Restart)),
        Word::Status => Some(pm_only(Command::Status)),
        Word::Cost => Some(pm_only(Command::Cost)),
        Word::Help => Some(pm_only(Command::Help)),
        // The hub says when one of these acts on the thread or stops it; else they
        // are words.
        Word::Stop
        | Word::Yes
        | Word::No
        | Word::Merge
        | Word::Hold
        | Word::Close
        | Word::Archive => None,
    }
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim())
}

fn is_request(word: &str) -> bool {
    word.len() == 6
        && word
            .bytes()
            .all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b))
}
