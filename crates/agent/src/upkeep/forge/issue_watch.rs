//! Issues that somebody assigns to the team on the forge, by a label or a word: each gets a
//! thread, once. Only whoever may push to the repository assigns anything; what they write
//! is read as text from outside all the same. The hub knows the thread by the issue's
//! number, so that a look that ended half way, or with the process, is simply taken again.

use std::{collections::HashMap, sync::Arc};

use butler_protocol::{Idem, ThreadId, fault};
use butler_repo::{Author, Issue, IssueNumber};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{pull_watch, wake::ForgeWake};
use crate::{
    Agent, AgentError,
    develop::runner::Letter,
    listen::{intake::Mail, issue, work_key::WorkKey},
    rules::IssueRules,
    tell::thread_logs,
};

/// When the team starts, words in issues that did not change for so long are not looked for:
/// each such issue costs a request.
const RECENT: i64 = 7 * 24 * 60 * 60;

/// Looks until `cancel`; asks for nothing where the repository assigns nothing this way.
pub(crate) async fn watch(
    agent: Arc<Agent>,
    letters: mpsc::Sender<Letter>,
    cancel: CancellationToken,
) {
    let mut watch = Watch {
        agent,
        letters,
        cancel,
        since: 0,
        seen: HashMap::new(),
    };
    let (mut failures, mut woken) = (0, ForgeWake::default());
    loop {
        let rules = watch.agent.rules();
        let usual = rules.limits.forge_pause;
        let pause = match watch.round(&rules.access.issues).await {
            Ok(()) => {
                failures = 0;
                usual
            }
            Err(error) => {
                failures += 1;
                warn!(%error, "the issues could not be looked at");
                pull_watch::after_look(&error, failures, usual)
            }
        };
        let pause = (pause, failures);
        if !woken.pause(&watch.agent, pause, &watch.cancel).await {
            return;
        }
    }
}

struct Watch {
    agent: Arc<Agent>,
    letters: mpsc::Sender<Letter>,
    cancel: CancellationToken,
    /// What changed before was looked at.
    since: i64,
    /// When those changed last that changed in the last second that was looked at.
    seen: HashMap<IssueNumber, i64>,
}

impl Watch {
    async fn round(&mut self, rules: &IssueRules) -> Result<(), AgentError> {
        let forge = &self.agent.forge;
        if *rules == IssueRules::default() || !forge.is_hosted() {
            return Ok(());
        }
        let mut moved = forge.issues_since(self.since, &self.cancel).await?;
        let first = self.since == 0;
        let newest = moved.iter().map(|issue| issue.changed).max();
        let newest = newest.unwrap_or(self.since);
        moved.retain(|issue| self.seen.get(&issue.number) != Some(&issue.changed));
        moved.sort_by_key(|issue| issue.number);
        for one in &moved {
            let recent = !first || one.changed >= newest - RECENT;
            if let Some(by) = self.assigned_by(rules, one, recent).await? {
                self.begin(one, &by).await?;
            }
            self.seen.insert(one.number, one.changed);
        }
        self.seen.retain(|_, changed| *changed >= newest);
        self.since = newest;
        Ok(())
    }

    /// Who may assign it and did.
    async fn assigned_by(
        &self,
        rules: &IssueRules,
        issue: &Issue,
        recent: bool,
    ) -> Result<Option<String>, AgentError> {
        let (forge, cancel) = (&self.agent.forge, &self.cancel);
        let mut people = Vec::new();
        if let Some(label) = rules
            .label
            .as_ref()
            .filter(|one| issue.labels.contains(one))
        {
            let by = forge.labelled(issue.number, label, cancel).await?;
            people.extend(by.map(|(by, _)| by));
        }
        if let Some(word) = rules.mention.as_ref().filter(|_| recent) {
            let whole = forge.issue(issue.number, cancel).await?;
            people.extend(who_says(&whole, word));
        }
        for by in people {
            if forge.may_write(&by, cancel).await? {
                return Ok(Some(by));
            }
        }
        Ok(None)
    }

    /// Opens the thread and gives the issue to it, unless its log has it.
    async fn begin(&self, issue: &Issue, by: &str) -> Result<(), AgentError> {
        let (agent, number) = (&self.agent, issue.number);
        let place = issue.url.as_deref();
        let place = place.map_or_else(String::new, |url| format!(": {url}"));
        // Its title is not ours: roles read what stands here as our own words.
        let text = format!("{by} assigned issue {number} to the team on the forge{place}");
        let channel = &agent.config.channel;
        let idem = Idem::new(format!("assigned-issue-{}", number.0));
        fault("agent.before-issue");
        let posted = agent.poster.open(channel, idem, &text, None).await?;
        fault("agent.after-issue");
        let thread = ThreadId::new(channel.clone(), posted.ts);
        let own = thread_logs::own(agent, &thread);
        let known = |log: &thread_logs::RoleLog| log.fold.outside.issues.contains(&number.0);
        if own.iter().any(known) {
            return Ok(());
        }
        info!(%thread, %number, by, "an issue was assigned to the team");
        let mail = Mail::words(issue::assigned(number, by));
        // The process ends when nobody takes it.
        let _ = self.letters.send((WorkKey::thread(thread), mail)).await;
        Ok(())
    }
}

/// Those who write a word in an issue or below it, the newest first.
fn who_says(issue: &Issue, word: &str) -> Vec<String> {
    let says = |text: &str| {
        let mut words = text.split(|one: char| one.is_whitespace() || ",.:;!?()".contains(one));
        words.any(|one| one.eq_ignore_ascii_case(word))
    };
    let name = |author: &Author| match author {
        Author::Person(name) => Some(name.clone()),
        Author::Role(_) => None,
    };
    let comments = issue.comments.iter().rev();
    let below = comments.filter(|one| says(&one.body));
    let mut people: Vec<String> = below.filter_map(|one| name(&one.author)).collect();
    if says(&issue.body) || says(&issue.title) {
        people.extend(name(&issue.author));
    }
    people
}

#[cfg(test)]
mod tests {
    use butler_protocol::Role;
    use butler_repo::Comment;

    use super::*;

    #[test]
    fn a_word_counts_as_a_whole_and_from_people_only() {
        let said = |author, body: &str| Comment {
            id: "note-1".into(),
            author,
            body: body.into(),
            place: None,
            at: 0,
            key: None,
        };
        let person = |name: &str| Author::Person(name.to_owned());
        let issue = Issue {
            number: IssueNumber(12),
            author: person("ben"),
            title: "Slow".into(),
            body: "Ask @Butler!".into(),
            labels: Vec::new(),
            open: true,
            url: None,
            comments: vec![
                said(person("ana"), "@butler, please"),
                said(person("you"), "not @butlers, mail@butler neither"),
                said(Author::Role(Role::Pm), "@butler"),
            ],
            key: None,
            changed: 0,
        };
        assert_eq!(who_says(&issue, "@butler"), ["ana", "ben"]);
        assert_eq!(who_says(&issue, "@other"), Vec::<String>::new());
    }
}
