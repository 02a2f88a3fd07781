//! Lists, pipelines, branches, loops, functions; and the ledger of findings.

use std::rc::Rc;

use butler_protocol::Tier;

use super::{
    Assessment, RiskContext,
    state::{Output, State, Stdin},
    table::Line,
    text::Text,
};
use crate::shell::{self, Block, BlockKind, Node};

/// Commands inside commands (`sh -c`, `eval`, …) are followed so deep.
const MAX_NESTING: usize = 8;

/// A text may make us judge so many commands, loops unrolled.
const MAX_COMMANDS: usize = 4000;

/// Loops over a known list are followed value by value up to this length.
const MAX_ROUNDS: usize = 12;

/// One judgement under way.
pub(super) struct Analyzer<'a> {
    pub ctx: RiskContext<'a>,
    worst: Assessment,
    /// The source of the simple command being judged.
    pub part: String,
    /// The line of the table being read.
    pub line: Option<&'static Line>,
    nesting: usize,
    commands: usize,
    /// Bytes of arithmetic read so far.
    pub computed: usize,
    /// Functions being called, with how many pipelines were around them.
    calls: Vec<(String, usize)>,
    /// Pipelines and background jobs around this point.
    forks: usize,
    /// Functions that were defined and not called yet.
    uncalled: Vec<(String, Rc<Node>)>,
}

impl<'a> Analyzer<'a> {
    pub(super) fn new(ctx: RiskContext<'a>) -> Self {
        Self {
            ctx,
            worst: Assessment::new(Tier::Read, "it only looks"),
            part: String::new(),
            line: None,
            nesting: 0,
            commands: 0,
            computed: 0,
            calls: Vec::new(),
            forks: 0,
            uncalled: Vec::new(),
        }
    }

    /// The verdict, after the functions that nobody called.
    pub(super) fn finish(mut self, state: &mut State) -> Assessment {
        for (_, body) in std::mem::take(&mut self.uncalled) {
            state.positional = None;
            self.node(&body, state, &Stdin::None);
        }
        self.worst.undoable &= self.worst.tier == Tier::Destructive && !self.worst.network;
        self.worst
    }

    /// A person must be asked.
    pub(super) fn ask(&mut self, reason: impl Into<String>) {
        self.worst.undoable = false;
        self.find(Tier::Destructive, reason, false);
    }

    /// A person must be asked, and the network is needed.
    pub(super) fn ask_online(&mut self, reason: impl Into<String>) {
        self.worst.undoable = false;
        self.find(Tier::Destructive, reason, true);
    }

    /// It changes the worktree.
    pub(super) fn local(&mut self, reason: &str) {
        self.find(Tier::WriteLocal, reason, false);
    }

    /// A person must be asked, unless what happens to files of the worktree is
    /// agreed to be undone instead.
    pub(super) fn ask_undoable(&mut self, reason: impl Into<String>) {
        self.find(Tier::Destructive, reason, false);
    }

    /// Notes a finding; the first of the worst ones is shown.
    pub(super) fn find(&mut self, tier: Tier, reason: impl Into<String>, network: bool) {
        if tier > self.worst.tier {
            self.worst.tier = tier;
            self.worst.reason = reason.into();
            self.worst.part = self.here();
            self.worst.row = self.line.map(Line::shown);
        }
        if network && !self.worst.network {
            self.worst.network = true;
            self.worst.network_part = self.here();
        }
    }

    /// It pushes from the worktree.
    pub(super) const fn pushes(&mut self) {
        self.worst.pushes = true;
    }

    fn here(&self) -> Option<String> {
        Some(self.part.clone()).filter(|part| !part.is_empty())
    }

    pub(super) fn nodes(&mut self, nodes: &[Node], state: &mut State, stdin: &Stdin) -> Output {
        let mut printed = Output::nothing();
        for node in nodes {
            let more = self.node(node, state, stdin);
            printed = after(printed, more);
        }
        printed
    }

    pub(super) fn node(&mut self, node: &Node, state: &mut State, stdin: &Stdin) -> Output {
        self.commands += 1;
        if self.commands > MAX_COMMANDS {
            self.ask("it runs too many commands to judge");
            return Output::Unknown;
        }
        match node {
            Node::Simple(simple) => self.simple(simple, state, stdin),
            Node::Pipeline(stages) => self.pipeline(stages, state, stdin),
            Node::Background(inner) => {
                self.forks += 1;
                let output = self.node(inner, &mut state.clone(), stdin);
                self.forks -= 1;
                output
            }
            Node::Function(function) => {
                let (name, body) = (function.name.clone(), function.body.clone());
                state.functions.insert(name.clone(), body.clone());
                self.uncalled.push((name, body));
                Output::nothing()
            }
            Node::Block(block) => self.block(block, state, stdin),
        }
    }

    fn pipeline(&mut self, stages: &[Node], state: &mut State, stdin: &Stdin) -> Output {
        self.forks += 1;
        let mut stdin = stdin.clone();
        let mut output = Output::nothing();
        let mut foreign = false;
        for stage in stages {
            // Each stage is a process of its own; what it makes stays.
            let mut own = state.clone();
            output = self.node(stage, &mut own, &stdin);
            state.files.extend(own.files);
            state.links.extend(own.links);
            foreign |= output == Output::Foreign;
            stdin = output.stdin();
        }
        self.forks -= 1;
        if foreign && output == Output::Unknown {
            output = Output::Foreign;
        }
        output
    }

    fn block(&mut self, block: &Block, state: &mut State, stdin: &Stdin) -> Output {
        let stdin = self.redirects(&block.redirects, state, stdin, &Output::Unknown);
        match &block.kind {
            BlockKind::Group => {
                let mut printed = Output::nothing();
                for body in &block.bodies {
                    printed = after(printed, self.nodes(body, state, &stdin));
                }
                printed
            }
            BlockKind::Subshell => {
                let mut own = state.clone();
                let mut printed = Output::nothing();
                for body in &block.bodies {
                    printed = self.nodes(body, &mut own, &stdin);
                }
                state.files.extend(own.files);
                state.links.extend(own.links);
                printed
            }
            BlockKind::Test => {
                let texts = self.expand_all(&block.words, state);
                let words: Vec<&str> = texts.iter().map(Text::as_str).collect();
                self.conditions(&words, state);
                Output::nothing()
            }
            BlockKind::Branches => {
                self.expand_all(&block.words, state);
                self.branches(&block.bodies, state, &stdin)
            }
            BlockKind::Each { name, listed } => self.each(name, *listed, block, state, &stdin),
        }
    }

    /// Bodies of which some run, perhaps more than once: judged until what is
    /// known no longer changes, at most twice.
    fn branches(&mut self, bodies: &[Vec<Node>], state: &mut State, stdin: &Stdin) -> Output {
        for _ in 0..2 {
            if self.commands > MAX_COMMANDS {
                break;
            }
            let before = state.clone();
            for body in bodies {
                let mut own = state.clone();
                self.nodes(body, &mut own, stdin);
                let analyzer = &*self;
                state.join(own, |cwd| analyzer.is_inside(cwd));
            }
            if before.variables == state.variables && before.cwd == state.cwd {
                break;
            }
        }
        Output::Unknown
    }

    fn each(
        &mut self,
        name: &str,
        listed: bool,
        block: &Block,
        state: &mut State,
        stdin: &Stdin,
    ) -> Output {
        let values = if listed {
            self.expand_all(&block.words, state)
        } else {
            state.positional.clone().unwrap_or(vec![Text::unknown()])
        };
        let rounds = if values.len() <= MAX_ROUNDS {
            values
        } else if values.iter().all(|value| value.placed) {
            vec![Text::placed(values[0].text.clone())]
        } else {
            vec![Text::unknown()]
        };
        for value in rounds {
            if self.commands > MAX_COMMANDS {
                break;
            }
            state.variables.insert(name.to_owned(), vec![value]);
            self.branches(&block.bodies, state, stdin);
        }
        Output::Unknown
    }

    /// `$( … )`: runs elsewhere, prints here.
    pub(super) fn substitution(&mut self, nodes: &[Node], state: &State) -> Output {
        self.aside(|analyzer| analyzer.nodes(nodes, &mut state.clone(), &Stdin::None))
    }

    /// `<( … )`, which prints into a file, and `>( … )`, which is fed by whoever
    /// writes to it.
    pub(super) fn process(&mut self, nodes: &[Node], reads: bool, state: &State) {
        let stdin = if reads { Stdin::None } else { Stdin::Unknown };
        self.aside(|analyzer| analyzer.nodes(nodes, &mut state.clone(), &stdin));
    }

    /// Judges a command text found inside another command.
    pub(super) fn script(&mut self, text: &str, state: &mut State, stdin: &Stdin) -> Output {
        self.deeper(|analyzer| match shell::parse(text) {
            Ok(nodes) => analyzer.aside(|analyzer| analyzer.nodes(&nodes, state, stdin)),
            Err(problem) => {
                analyzer.ask(format!("the command inside cannot be read: {problem}"));
                Output::Unknown
            }
        })
    }

    /// Judges a command inside a command, up to a depth.
    pub(super) fn deeper(&mut self, judge: impl FnOnce(&mut Self) -> Output) -> Output {
        if self.nesting >= MAX_NESTING {
            self.ask("commands are nested too deep in commands");
            return Output::Unknown;
        }
        self.nesting += 1;
        let output = judge(self);
        self.nesting -= 1;
        output
    }

    /// Runs something and goes on with the part that was being judged.
    fn aside<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let part = self.part.clone();
        let result = run(self);
        self.part = part;
        result
    }

    /// Calls a function of the text.
    pub(super) fn call(
        &mut self,
        name: &str,
        args: &[Text],
        state: &mut State,
        stdin: &Stdin,
    ) -> Output {
        let Some(body) = state.functions.get(name).cloned() else {
            return Output::Unknown;
        };
        if let Some((_, forks)) = self.calls.iter().find(|(called, _)| called == name) {
            if self.forks > *forks {
                self.ask("it multiplies itself without end");
            }
            return Output::Unknown;
        }
        self.uncalled.retain(|(uncalled, _)| uncalled != name);
        self.calls.push((name.to_owned(), self.forks));
        let outer = state.positional.replace(args.to_vec());
        let output = self.aside(|analyzer| analyzer.node(&body, state, stdin));
        state.positional = outer;
        self.calls.pop();
        output
    }
}

/// What two commands print one after the other.
fn after(first: Output, second: Output) -> Output {
    match (first, second) {
        (Output::Text(first), Output::Text(second)) => Output::Text(first + &second),
        (Output::Text(empty), other) | (other, Output::Text(empty)) if empty.is_empty() => other,
        (Output::Foreign, _) | (_, Output::Foreign) => Output::Foreign,
        _ => Output::Unknown,
    }
}
