//! The pull request of a thread, where people review it: what it changes file by file,
//! what the checks and the Reviewer said, comments that go to the Coder as findings, and
//! what can be decided about it.

use std::collections::HashMap;

use butler_protocol::{DecisionKind, DecisionView, HandOver, RequestId, Right, ThreadId};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    page::{
        Around,
        render::{
            FileTexts, Names, Scene, blocks,
            comment::{self, Talk},
            diff::{self, FileChange},
            diff_table::{self, Drawing},
            file_tree::{self, Leaf},
            message, plan,
            sign::sign,
            text,
        },
        thread_actions,
        view::{Tab, thread, timeline},
    },
    views::{Comment, Moment, Side, What, pulls::Pull},
    workspace::Channel,
};

/// Longer files are folded and drawn when somebody opens them.
const LONG_FILE: usize = 400;
/// So many lines are drawn at first, in all files.
const AT_FIRST: usize = 2_000;

/// How somebody wants to see the change.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Look {
    /// `split` shows old and new side by side.
    view: Option<String>,
    /// Only what changed since the last round.
    since: Option<String>,
    /// A long file to draw, and its first line.
    open: Option<usize>,
    from: Option<usize>,
    /// Lines to comment on: `f3R12`, `f3R12-15`.
    at: Option<String>,
}

impl Look {
    fn split(&self) -> bool {
        self.view.as_deref() == Some("split")
    }

    /// The query that keeps this look but for one line.
    fn query(&self) -> String {
        let since = if self.since.is_some() { "&since=1" } else { "" };
        let view = if self.split() { "&view=split" } else { "" };
        let open = self.open.map(|file| format!("&open={file}"));
        let from = self.from.map(|line| format!("&from={line}"));
        format!(
            "?{view}{since}{}{}",
            open.unwrap_or_default(),
            from.unwrap_or_default()
        )
    }

    /// The file and the lines that a comment is asked for.
    fn place(&self) -> Option<(usize, Side, u32, u32)> {
        let at = self.at.as_deref()?.strip_prefix('f')?;
        let letter = at.find(['L', 'R'])?;
        let (file, rest) = at.split_at_checked(letter)?;
        let (side, lines) = rest.split_at_checked(1)?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let side = Side::of_letter(side)?;
        Some((file.parse().ok()?, side, first.min(last), first.max(last)))
    }
}

/// What the page shows.
pub(crate) struct ChangesView {
    pub(crate) channel: Channel,
    pub(crate) thread: ThreadId,
    /// What it is about.
    pub(crate) title: String,
    pub(crate) pull: Option<Pull>,
    pub(crate) moments: Vec<Moment>,
    pub(crate) decisions: Vec<DecisionView>,
    /// Cards that this person may decide about.
    pub(crate) decidable: Vec<RequestId>,
    pub(crate) highest: Right,
    /// The messages that carry the merge cards.
    pub(crate) cards: Vec<Value>,
    /// The words by which this person can act on the thread now.
    pub(crate) can: Vec<&'static str>,
    pub(crate) comments: Vec<Comment>,
    /// What this person has gone through, with the hash of what it was.
    pub(crate) viewed: HashMap<String, String>,
    pub(crate) look: Look,
    pub(crate) names: Names,
    pub(crate) around: Around,
}

/// The whole page.
pub(crate) fn page(view: &ChangesView) -> Markup {
    let mut live = format!("/changes/live{}", view.look.query());
    if let (Some(at), Some(_)) = (&view.look.at, view.look.place()) {
        live.push_str(&format!("&at={at}"));
    }
    let place = (&view.channel, &view.thread, view.title.as_str());
    thread::framed(
        place,
        (Tab::Changes, Some(&live)),
        &view.around,
        &parts(view),
    )
}

/// What is swapped in when something changed.
pub(crate) fn parts(view: &ChangesView) -> Markup {
    let Some(pull) = &view.pull else {
        return html! {
            div.page data-part="changes" {
                div.empty { p.big { (sign("branch")) } h2 { "No pull request yet" }
                    p { "It appears when the Coder hands its work over for review." } }
            }
        };
    };
    let diff = pull.diff.as_deref().unwrap_or_default();
    let files = diff::files(diff);
    let last = diff::files(pull.last_diff.as_deref().unwrap_or_default());
    let review = Review {
        view,
        files: &files,
        last: &last,
        digests: files.iter().map(FileChange::digest).collect(),
        query: view.look.query(),
    };
    html! {
        div.page.review {
            div data-part="changes" { (about(view, pull, &files)) }
            @if files.is_empty() {
                p.soft { "The diff is not known here." }
            } @else {
                div data-part="review-bar" { (review.bar()) }
                div.surface {
                    nav.filetree aria-label="Files" data-part="tree" { (review.tree()) }
                    div.files data-part="files" data-keyed {
                        @for index in 0..files.len() { (review.file(index)) }
                    }
                }
            }
            // Whoever has read the change decides.
            div data-part="merge-card" { (merge_card(view)) }
        }
    }
}

/// What it is, what the others said about it, and what can be decided.
fn about(view: &ChangesView, pull: &Pull, files: &[FileChange<'_>]) -> Markup {
    let (added, removed) = files.iter().fold((0, 0), |(added, removed), file| {
        (added + file.added, removed + file.removed)
    });
    let number = format!("#{}", pull.number);
    html! {
        section.panel.pull {
            h2 {
                span.state.(pull.state.as_str()) { (pull.state.as_str()) } " "
                @match pull.url.as_deref().filter(|url| text::is_web(url)) {
                    Some(url) => a href=(url) rel="noreferrer" { (number) },
                    None => (number),
                }
                " " (pull.title)
            }
            p.soft.facts {
                @if !pull.branch.is_empty() { code { (pull.branch) } }
                span { "at " code { (pull.head.chars().take(10).collect::<String>()) } }
                span { (files.len()) @if files.len() == 1 { " file" } @else { " files" } }
                span.counts { span.plus { "+" (added) } " " span.minus { "−" (removed) } }
                (message::time_ms(pull.at_ms))
            }
            @if let Some(command) = check_out(&pull.branch) {
                details.checkout #checkout { summary { "Look at it in your own clone" } pre { code { (command) } } }
            }
            @if !pull.body.is_empty() {
                details.checkout #description { summary { "Description" } div.markdown { (blocks::markdown(&pull.body, &view.names)) } }
            }
            (thread_actions::buttons(&view.thread, &view.can, view.around.slack.is_none()))
        }
        div.pair {
            section.panel { h2 { "Checks" } (checks(&view.moments)) }
            section.panel { h2 { "Review" } (review(&view.moments)) }
        }
    }
}

/// Brings the branch into a clone without touching any branch there; the team's own
/// worktree has it checked out already.
fn check_out(branch: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
    let safe = !branch.is_empty() && !branch.starts_with('-') && branch.chars().all(plain);
    safe.then(|| format!("git fetch origin {branch} && git switch --detach FETCH_HEAD"))
}

/// The change with everything that is said about it.
struct Review<'a> {
    view: &'a ChangesView,
    files: &'a [FileChange<'a>],
    last: &'a [FileChange<'a>],
    digests: Vec<String>,
    query: String,
}

impl Review<'_> {
    /// How to look at it, and the drafts that wait to be sent.
    fn bar(&self) -> Markup {
        let (look, view) = (&self.view.look, self.view);
        let mine = |one: &&Comment| one.sent.is_none();
        let drafts = view.comments.iter().filter(mine).count();
        let with = |split: bool, since: bool| {
            let look = Look {
                view: split.then(|| "split".to_owned()),
                since: since.then(|| "1".to_owned()),
                ..Look::default()
            };
            look.query()
        };
        let (split, since) = (look.split(), look.since.is_some());
        let link = |label: &str, query: String, current: bool| {
            html! { a href=(query) aria-current=[current.then_some("true")] { (label) } }
        };
        let seen = self.digests.iter().zip(self.files);
        let seen = seen.filter(|(digest, file)| view.viewed.get(file.path) == Some(digest));
        html! {
            div.bar {
                nav.choice-of-view aria-label="How to look at it" {
                    (link("Unified", with(false, since), !split))
                    (link("Split", with(true, since), split))
                    @if !self.last.is_empty() {
                        (link("All changes", with(split, false), !since))
                        (link("Since the last round", with(split, true), since))
                    }
                }
                span.soft { (seen.count()) " of " (self.files.len()) " viewed" }
                @if drafts > 0 {
                    form.send method="post" action=(self.talk("").address("send")) {
                        input type="hidden" name="back" value=(self.query);
                        button.primary type="submit" {
                            "Send " (drafts) @if drafts == 1 { " comment" } @else { " comments" } " to the Coder"
                        }
                    }
                } @else if view.around.slack.is_none() {
                    span.soft { "Choose the number of a line to comment on it." }
                }
            }
        }
    }

    fn talk<'t>(&'t self, digest: &'t str) -> Talk<'t> {
        Talk {
            thread: &self.view.thread,
            me: &self.view.around.person.id,
            names: &self.view.names,
            back: &self.query,
            here: self.view.around.slack.is_none(),
            digest,
        }
    }

    fn comments_on(&self, path: &str) -> Vec<&Comment> {
        let all = self.view.comments.iter();
        all.filter(|one| one.lines.path == path).collect()
    }

    fn is_viewed(&self, index: usize) -> bool {
        let (file, digest) = (self.files.get(index), self.digests.get(index));
        file.zip(digest)
            .is_some_and(|(file, digest)| self.view.viewed.get(file.path) == Some(digest))
    }

    /// What the file was in the last round.
    fn before(&self, path: &str) -> Option<&FileChange<'_>> {
        self.last.iter().find(|file| file.path == path)
    }

    /// Whether the last round had exactly this.
    fn is_old(&self, file: &FileChange<'_>, digest: &str) -> bool {
        self.view.look.since.is_some()
            && self
                .before(file.path)
                .is_some_and(|before| before.digest() == digest)
    }

    fn tree(&self) -> Markup {
        let leaves = self.files.iter().zip(&self.digests).enumerate();
        let leaves = leaves.filter(|(_, (file, digest))| !self.is_old(file, digest));
        let leaves: Vec<_> = leaves
            .map(|(index, (file, _))| Leaf {
                path: file.path,
                index,
                added: file.added,
                removed: file.removed,
                viewed: self.is_viewed(index),
                comments: self.comments_on(file.path).len(),
            })
            .collect();
        html! {
            @if leaves.is_empty() { p.soft { "Nothing changed since the last round." } }
            (file_tree::tree(&leaves))
        }
    }

    /// Whether a file is drawn at first: those that are short, until it is enough.
    fn is_short(&self, index: usize) -> bool {
        let before: usize = self.files.iter().take(index).map(drawn_lines).sum();
        let Some(file) = self.files.get(index) else {
            return false;
        };
        file.len() <= LONG_FILE && before < AT_FIRST
    }

    fn file(&self, index: usize) -> Markup {
        let (Some(file), Some(digest)) = (self.files.get(index), self.digests.get(index)) else {
            return html! {};
        };
        if self.is_old(file, digest) {
            return html! {};
        }
        let look = &self.view.look;
        let at = look.place().filter(|(file, ..)| *file == index);
        let asked = look.open == Some(index) || at.is_some();
        let drawn = asked || self.is_short(index);
        let viewed = self.is_viewed(index);
        let comments = self.comments_on(file.path);
        let talk = self.talk(digest);
        html! {
            div.file #{ "f" (index) } {
                (viewed_button(file.path, digest, viewed, &talk))
                // Another name for the fold makes the script forget that it was open.
                details.filediff #{ "fold" (index) @if viewed { "-viewed" } } open[drawn && (asked || !viewed)] {
                    summary {
                        code { (file.path) }
                        span.counts { span.plus { "+" (file.added) } " " span.minus { "−" (file.removed) } }
                    }
                    @if drawn {
                        (self.drawn(index, file, &comments, &talk, at.map(|(_, side, first, last)| (side, first, last))))
                    } @else {
                        (outdated(&comments, &talk, None))
                        p.more { a href={ (self.query) "&open=" (index) "#f" (index) } { "Show its " (file.len()) " lines" } }
                    }
                }
            }
        }
    }

    fn drawn(
        &self,
        index: usize,
        file: &FileChange<'_>,
        comments: &[&Comment],
        talk: &Talk<'_>,
        at: Option<(Side, u32, u32)>,
    ) -> Markup {
        let look = &self.view.look;
        let (fresh, gone) = match look.since {
            Some(_) => file.since(self.before(file.path)),
            None => (Vec::new(), Vec::new()),
        };
        let from = look.from.filter(|_| look.open == Some(index));
        let drawing = Drawing {
            index,
            split: look.split(),
            from: from.unwrap_or(0),
            fresh: &fresh,
            base: &self.query,
            at,
            comments,
            talk,
        };
        html! {
            (outdated(comments, talk, Some(file)))
            @if !gone.is_empty() {
                details.gone { summary { (gone.len()) @if gone.len() == 1 { " line" } @else { " lines" } " of the last round left the change" }
                    pre { code { @for line in gone { (line) "\n" } } } }
            }
            (diff_table::table(file, &drawing))
        }
    }
}

fn drawn_lines(file: &FileChange<'_>) -> usize {
    match file.len() {
        0..=LONG_FILE => file.len(),
        _ => 0,
    }
}

/// Comments on lines that are not drawn: the change does not have them any more.
fn outdated(comments: &[&Comment], talk: &Talk<'_>, file: Option<&FileChange<'_>>) -> Markup {
    let rows = file.map(FileChange::rows).unwrap_or_default();
    let drawn = |one: &Comment| {
        let place = Some((one.lines.side, one.lines.last));
        rows.iter().any(|row| row.place() == place)
    };
    html! { @for one in comments.iter().filter(|one| !drawn(one)) { (comment::shown(one, talk)) } }
}

/// Marks a file as gone through; the mark goes when the file changes.
fn viewed_button(path: &str, digest: &str, viewed: bool, talk: &Talk<'_>) -> Markup {
    html! {
        form.viewed data-quiet method="post" action=(talk.address("viewed")) {
            input type="hidden" name="path" value=(path);
            input type="hidden" name="back" value=(talk.back);
            @if !viewed { input type="hidden" name="digest" value=(digest); }
            button.quiet type="submit" aria-pressed=(viewed) aria-label={ "Viewed: " (path) } {
                span aria-hidden="true" { (if viewed { "☑" } else { "☐" }) } " Viewed"
            }
        }
    }
}

/// The newest merge card, with its buttons while it waits.
fn merge_card(view: &ChangesView) -> Markup {
    let newest = view
        .decisions
        .iter()
        .rev()
        .find(|one| one.asked.kind == DecisionKind::Merge);
    let card = newest.and_then(|one| {
        let ts = one.asked.message.as_str();
        view.cards.iter().find(|message| message["ts"] == ts)
    });
    let files = FileTexts::default();
    let scene = Scene {
        decisions: &view.decisions,
        decidable: &view.decidable,
        highest: view.highest,
        ..Scene::new(&view.thread.channel, &view.names, &files, &view.around)
    };
    html! { @if let Some(card) = card { (message::card(card, &scene)) } }
}

/// The newest receipt, and what the checks printed.
fn checks(moments: &[Moment]) -> Markup {
    let newest = moments.iter().rev().find_map(|moment| match &moment.what {
        What::Checked { receipt } => Some((receipt, moment)),
        _ => None,
    });
    let log = moments.iter().rev().find_map(|moment| match &moment.what {
        What::Tool { tool, output, .. } if tool == "RunChecks" => output.as_deref(),
        _ => None,
    });
    html! {
        @match newest {
            Some((receipt, moment)) => { (timeline::checks(receipt)) p { (message::time_ms(moment.at_ms)) } }
            None => { p.soft { "No receipt was left here." } }
        }
        @if let Some(log) = log {
            details.fold #check-log { summary { "What they printed" } pre tabindex="0" { code { (log) } } }
        }
    }
}

fn review(moments: &[Moment]) -> Markup {
    let newest = moments.iter().rev().find_map(|moment| match &moment.what {
        What::HandedOver { body, .. } => match &**body {
            HandOver::Verdict { verdict, .. } => Some(verdict),
            _ => None,
        },
        _ => None,
    });
    html! {
        @match newest {
            Some(verdict) => (plan::verdict(verdict)),
            None => { p.soft { "Not reviewed yet." } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(at: &str) -> Option<(usize, Side, u32, u32)> {
        let look = Look {
            at: Some(at.to_owned()),
            ..Look::default()
        };
        look.place()
    }

    #[test]
    fn lines_are_read_from_the_address() {
        assert_eq!(place("f3R12"), Some((3, Side::New, 12, 12)));
        assert_eq!(place("f0L9-4"), Some((0, Side::Old, 4, 9)));
        for odd in [
            "", "f", "f3", "fR1", "f3X1", "f3R", "f3R1-", "3R1", "f3R-1", "fü",
        ] {
            assert_eq!(place(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_branch_with_an_odd_name_gives_no_command() {
        assert!(
            check_out("codebutler/greet-1")
                .unwrap()
                .contains(" origin codebutler/greet-1 ")
        );
        for odd in ["", "-x", "a b", "a;rm", "$(x)", "a`b"] {
            assert_eq!(check_out(odd), None, "{odd}");
        }
    }
}
