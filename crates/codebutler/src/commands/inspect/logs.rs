//! `codebutler logs`: what the processes of this repo's team wrote down, read
//! from their files; no hub is asked.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_config::machine_folder;
use butler_protocol::{LogLevel, LogLine, Role};

use crate::{
    CliError, Exit, Ui, cli,
    commands::{environment, settings_here},
    log::{self, file},
    process, wiring,
};

/// How often the files are looked at while following.
const GLANCE: Duration = Duration::from_millis(250);

/// Show what hub and agents wrote down
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this agent
    #[arg(long, conflicts_with = "hub", value_parser = cli::role(), ignore_case = true)]
    role: Option<Role>,

    /// Only the hub of this machine, whoever started it
    #[arg(long)]
    hub: bool,

    /// This level and worse: error, warn, info, debug, trace
    #[arg(long)]
    level: Option<LogLevel>,

    /// How many of the newest lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    lines: usize,

    /// Go on showing lines as they come, until Ctrl-C
    #[arg(short, long)]
    follow: bool,

    /// As JSON, one object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, CliError> {
    let mut tails: Vec<Tail> = paths(args)?.into_iter().map(Tail::new).collect();
    show(args, newest(&mut tails, args), ui)?;
    if !args.follow {
        return Ok(Exit::Done);
    }
    process::run_on_one_thread(async move |cancel| {
        loop {
            tokio::select! {
                () = cancel.cancelled() => return Ok(Exit::Done),
                () = tokio::time::sleep(GLANCE) => {}
            }
            let mut lines: Vec<LogLine> = tails.iter_mut().flat_map(Tail::read).collect();
            lines.sort_by_key(|line| line.at_ms);
            show(args, lines.into_iter(), ui)?;
        }
    })
}

/// The files that are asked for. The hub's are found outside of a repository as well.
fn paths(args: &Args) -> Result<Vec<PathBuf>, CliError> {
    let hubs = log::of_hubs(&machine_folder(&environment).unwrap_or_default());
    if args.hub {
        return Ok(hubs);
    }
    let settings = settings_here()?;
    let repo = wiring::repo_name(&settings.home, &settings.root)?;
    let wanted = |role: &&Role| args.role.is_none_or(|only| only == **role);
    let roles = Role::ALL.iter().filter(wanted);
    let mut paths: Vec<PathBuf> = roles
        .map(|role| log::path(&settings.home, &repo, role.as_str()))
        .collect();
    // Of a repository that joined, the hub is elsewhere.
    if args.role.is_none() && settings.joined().is_none() {
        paths.extend(hubs);
    }
    Ok(paths)
}

/// The newest error in the log of a process. Only the end of the file is read.
pub(crate) fn last_error(home: &Path, repo: &str, process: &str) -> Option<LogLine> {
    const END: u64 = 256 * 1024;
    let path = log::path(home, repo, process);
    let mut tail = Tail::new(path);
    tail.at = std::fs::metadata(&tail.path)
        .ok()?
        .len()
        .saturating_sub(END);
    let mut errors = tail.read();
    errors.retain(|line| line.level == LogLevel::Error);
    errors.pop()
}

fn show(args: &Args, lines: impl Iterator<Item = LogLine>, ui: &Ui) -> Result<(), CliError> {
    for line in lines.filter(|line| fits(args, line)) {
        if args.json {
            ui.json(&line)?;
        } else {
            ui.line(log::render(&line))?;
        }
    }
    Ok(())
}

fn fits(args: &Args, line: &LogLine) -> bool {
    args.level.is_none_or(|level| line.level <= level)
}

/// The newest lines of all files, in the order of time.
fn newest(tails: &mut [Tail], args: &Args) -> impl Iterator<Item = LogLine> + use<> {
    let mut lines: Vec<LogLine> = Vec::new();
    for tail in tails {
        let older = (1..=file::KEPT)
            .rev()
            .map(|n| file::numbered(&tail.path, n));
        lines.extend(older.flat_map(|path| Tail::new(path).read()));
        lines.extend(tail.read());
    }
    lines.retain(|line| fits(args, line));
    lines.sort_by_key(|line| line.at_ms);
    let from = lines.len().saturating_sub(args.lines);
    lines.into_iter().skip(from)
}

/// A file, and how far it was read.
struct Tail {
    path: PathBuf,
    at: u64,
    /// Which file: a full one is moved away and another takes its name.
    inode: u64,
}

impl Tail {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            at: 0,
            inode: 0,
        }
    }

    /// What is new. A file that is not there yet has nothing, and a line that
    /// is not whole yet comes next time.
    fn read(&mut self) -> Vec<LogLine> {
        let mut lines = Vec::new();
        if self.inode != 0 && inode(&self.path) != Some(self.inode) {
            // The rest of what was moved away, then the new file from its start.
            let _ = self.from(&file::numbered(&self.path, 1), &mut lines);
            self.at = 0;
        }
        self.inode = inode(&self.path).unwrap_or(0);
        let path = self.path.clone();
        let _ = self.from(&path, &mut lines);
        lines
    }

    fn from(&mut self, path: &Path, lines: &mut Vec<LogLine>) -> io::Result<()> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let mut reader = BufReader::new(file);
        let mut text = String::new();
        while reader.read_line(&mut text)? > 0 && text.ends_with('\n') {
            self.at += text.len() as u64;
            // A line that an older version wrote differently is passed over.
            lines.extend(serde_json::from_str::<LogLine>(&text).ok());
            text.clear();
        }
        Ok(())
    }
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|about| about.ino())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::commands::inspect::logs::*;
    use crate::log::file::Rotated;

    fn line(number: i64) -> String {
        let line = LogLine {
            at_ms: number,
            level: LogLevel::Info,
            process: "coder".into(),
            role: None,
            thread: None,
            turn: None,
            tool: None,
            message: "x".into(),
            fields: BTreeMap::new(),
        };
        serde_json::to_string(&line).unwrap()
    }

    #[test]
    fn a_follower_sees_every_line_once_also_across_a_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coder.jsonl");
        let mut tail = Tail::new(path.clone());
        assert!(tail.read().is_empty(), "not there yet");
        let mut log = Rotated::open(&path, 300).unwrap();
        let mut seen = Vec::new();
        for number in 1..=30 {
            log.write(&line(number));
            if number % 2 == 0 {
                seen.extend(tail.read().into_iter().map(|line| line.at_ms));
            }
        }
        assert!(file::numbered(&path, 1).exists(), "it was rotated");
        assert_eq!(seen, (1..=30).collect::<Vec<_>>());
    }
}
