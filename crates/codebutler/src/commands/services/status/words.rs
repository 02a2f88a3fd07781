//! The status as people read it: one line per process, what is wrong below it.

use jiff::{Timestamp, tz::TimeZone};

use super::gather::{ProcessStatus, RepoStatus, State};
use crate::{
    Paint,
    commands::services::{INSTALLS, RUNS_HERE, WORKS_HERE},
    process::running::HUB,
};

/// All of it.
pub(super) fn text(repos: &[RepoStatus], now_ms: i64) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, repo) in repos.iter().enumerate() {
        if number > 0 {
            lines.push(String::new());
        }
        lines.push(format!("{}  {}", repo.repo.bold(), repo.root.dimmed()));
        lines.extend(
            of_repo(repo, now_ms)
                .into_iter()
                .map(|line| format!("  {line}")),
        );
    }
    lines
}

fn of_repo(repo: &RepoStatus, now_ms: i64) -> Vec<String> {
    let shown = |one: &&ProcessStatus| {
        one.state != State::Absent || one.expected || one.turned_away.is_some()
    };
    let shown: Vec<&ProcessStatus> = repo.processes.iter().filter(shown).collect();
    if let Some(problem) = &repo.problem {
        return vec![problem.red().to_string()];
    }
    let mut lines = Vec::new();
    if shown.is_empty() && repo.elsewhere.is_empty() {
        lines.push(match repo.joined {
            true => format!("nothing runs; {WORKS_HERE}"),
            false => format!("nothing runs; {RUNS_HERE}, {INSTALLS} as services"),
        });
    }
    if !shown.iter().any(|process| process.name == HUB)
        && let Some(hub) = &repo.hub
    {
        let silent = if repo.hub_answers {
            ""
        } else {
            " does not answer"
        };
        let whose = match repo.joined {
            true => "on another machine",
            false => "that of this machine",
        };
        lines.push(format!("{HUB:<11} {whose}, {hub}{}", silent.red()));
    }
    if !repo.elsewhere.is_empty() {
        let roles = repo.elsewhere.join(", ");
        lines.push(format!("{:<11} {roles} connected", "elsewhere"));
    }
    if shown.is_empty() && repo.elsewhere.is_empty() {
        return lines;
    }
    for process in shown {
        lines.push(of_process(process, repo, now_ms));
        lines.extend(trouble(process, now_ms).map(|line| format!("{:<11} {line}", "")));
    }
    lines.extend(slack(repo));
    lines.extend(money_and_threads(repo));
    lines
}

fn of_process(process: &ProcessStatus, repo: &RepoStatus, now_ms: i64) -> String {
    let word = match process.state {
        State::Running => "running".green().to_string(),
        State::Changing => "starting or ending".yellow().to_string(),
        State::Retrying => "crashed, tried again".yellow().to_string(),
        State::Stopped => "stopped".to_owned(),
        State::Failed => "failed".red().to_string(),
        State::Absent => "not running".red().to_string(),
    };
    let mut parts = vec![word];
    if let Some(note) = &process.note {
        parts.push(format!("{} ({})", note.kept_by.word(), note.pid));
        parts.push(note.version.clone());
        parts.push(format!("for {}", age(now_ms - note.started_ms)));
    }
    parts.extend(match (process.name, process.connected) {
        (HUB, Some(true)) => repo.hub.clone(),
        (HUB, Some(false)) => Some("does not answer".red().to_string()),
        (_, Some(true)) => Some("connected".to_owned()),
        (_, Some(false)) => Some("not connected".yellow().to_string()),
        (_, None) => None,
    });
    match process.threads.as_slice() {
        [] => {}
        threads => parts.push(format!("at work on {}", threads.join(", "))),
    }
    format!("{:<11} {}", process.name, parts.join("  "))
}

/// Why it does not run, what to do, and the last error.
fn trouble(process: &ProcessStatus, now_ms: i64) -> impl Iterator<Item = String> {
    let why = match process.state {
        State::Failed => {
            let how = process.ended_with.as_deref().unwrap_or("unknown");
            Some(format!(
                "it ended again and again ({} restarts, last {how}) and was given up; `codebutler start` tries it anew",
                process.restarts
            ))
        }
        State::Retrying => Some(format!("restarts so far: {}", process.restarts)),
        State::Stopped => Some("`codebutler start` starts it".to_owned()),
        _ => None,
    };
    let error = process.last_error.as_ref().map(|error| {
        format!(
            "last error, {} ({} ago): {}",
            clock(error.at_ms),
            age(now_ms - error.at_ms),
            error.what
        )
    });
    let turned_away = process
        .turned_away
        .iter()
        .map(|words| words.red().to_string());
    let turned_away: Vec<_> = turned_away.collect();
    why.into_iter().chain(turned_away).chain(error)
}

/// Whether what people say in Slack arrives.
fn slack(repo: &RepoStatus) -> Vec<String> {
    let Some(status) = &repo.slack else {
        return Vec::new();
    };
    let line = |what: String| format!("{:<11} {what}", "slack");
    match repo.deaf().as_slice() {
        [] => {
            let workspace = status["workspace"].as_str().unwrap_or_default();
            vec![line(format!("{}  {workspace}", "heard".green()))]
        }
        troubles => troubles
            .iter()
            .map(|one| line(one.red().to_string()))
            .collect(),
    }
}

fn money_and_threads(repo: &RepoStatus) -> Option<String> {
    let (open, at_work) = (repo.open_threads?, repo.threads_at_work?);
    let threads = match open {
        1 => "1 open thread".to_owned(),
        _ => format!("{open} open threads"),
    };
    let money = match (repo.spent_today, repo.day_cap) {
        (Some(spent), Some(cap)) => format!("; {spent} of {cap} spent today"),
        _ => String::new(),
    };
    Some(format!("{threads}, {at_work} at work{money}"))
}

/// How long, in the one unit that matters.
pub(super) fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn clock(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    let at = at.to_zoned(TimeZone::system());
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use butler_protocol::{Role, Usd};

    use super::*;
    use crate::{
        commands::services::status::gather::LastError,
        error::CliError,
        process::running::{KeptBy, Note, names},
    };

    const NOW: i64 = 1_800_000_000_000;

    fn process(name: &'static str) -> ProcessStatus {
        ProcessStatus {
            name,
            state: State::Running,
            installed: true,
            note: Some(Note {
                pid: 4711,
                version: "1.2.0".to_owned(),
                started_ms: NOW - 3 * 3_600_000,
                kept_by: KeptBy::Service,
            }),
            restarts: 0,
            ended_with: None,
            connected: Some(true),
            turned_away: None,
            threads: Vec::new(),
            last_error: None,
            expected: true,
        }
    }

    fn repo(processes: Vec<ProcessStatus>) -> RepoStatus {
        RepoStatus {
            repo: "app".to_owned(),
            root: "/home/ana/app".to_owned(),
            hub: Some("http://127.0.0.1:7777/".to_owned()),
            joined: false,
            hub_answers: true,
            problem: None,
            elsewhere: Vec::new(),
            processes,
            open_threads: Some(5),
            threads_at_work: Some(1),
            spent_today: Some(Usd::from_cents(120)),
            day_cap: Some(Usd::from_cents(2_500)),
            slack: None,
        }
    }

    #[test]
    fn a_team_of_which_one_crashed_reads_like_this() {
        let mut processes: Vec<_> = names().map(process).collect();
        processes[1].threads = vec!["k3m9qa".to_owned()];
        processes[2] = ProcessStatus {
            state: State::Failed,
            note: None,
            restarts: 8,
            ended_with: Some("exit code 3".to_owned()),
            connected: None,
            last_error: Some(LastError {
                at_ms: NOW - 90_000,
                what: "2 problems in the configuration".to_owned(),
            }),
            ..process(Role::Coder.as_str())
        };
        let said = text(&[repo(processes)], NOW).join("\n");
        // The hour depends on where one is.
        let said = crate::ui::paint::plain(&said).replace(&clock(NOW - 90_000), "2027-01-15 08:00");
        insta::assert_snapshot!(said);
    }

    #[test]
    fn agents_of_other_machines_are_told_and_one_broken_repo_hides_no_other() {
        let absent = |name| ProcessStatus {
            state: State::Absent,
            note: None,
            installed: false,
            connected: None,
            expected: false,
            ..process(name)
        };
        let away = RepoStatus {
            elsewhere: vec!["pm", "coder"],
            ..repo(names().map(absent).collect())
        };
        let problems = CliError::user("1 problem in the configuration");
        let broken = RepoStatus::unknown("/home/ana/shop".as_ref(), &problems);
        assert!(!broken.is_fine());
        let said = crate::ui::paint::plain(&text(&[away, broken], NOW).join("\n"));
        assert!(said.contains("pm, coder connected"), "{said}");
        assert!(!said.contains("nothing runs"), "{said}");
        assert!(
            said.contains("that of this machine, http://127.0.0.1:7777/"),
            "{said}"
        );
        assert!(said.ends_with("1 problem in the configuration"), "{said}");
    }

    #[test]
    fn a_machine_that_joined_is_told_where_the_hub_is_and_how_its_agents_run() {
        let absent = |name| ProcessStatus {
            state: State::Absent,
            note: None,
            installed: false,
            connected: None,
            expected: false,
            ..process(name)
        };
        let joined = RepoStatus {
            joined: true,
            ..repo(names().map(absent).collect())
        };
        let said = crate::ui::paint::plain(&text(&[joined], NOW).join("\n"));
        assert!(said.contains("`codebutler worker`"), "{said}");
        assert!(!said.contains("codebutler up"), "{said}");
        let hub = "on another machine, http://127.0.0.1:7777/";
        assert!(said.contains(hub), "{said}");
    }

    #[test]
    fn nothing_at_all_says_how_to_begin() {
        let nothing = |name| ProcessStatus {
            state: State::Absent,
            note: None,
            installed: false,
            connected: None,
            expected: false,
            ..process(name)
        };
        let said = text(&[repo(names().map(nothing).collect())], NOW).join("\n");
        assert!(
            said.contains("codebutler up") && said.contains("codebutler start"),
            "{said}"
        );
    }
}
