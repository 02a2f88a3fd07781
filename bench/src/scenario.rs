//! What the model says: one small command per turn, then the end. Each command
//! is another one, so that nobody takes it for going in circles.

/// The command of a turn, with `{}` for its number.
pub(crate) const COMMAND: &str = "echo step {}";

/// The command of a turn.
pub(crate) fn command(turn: usize) -> String {
    COMMAND.replace("{}", &turn.to_string())
}

/// A scenario of so many turns, the last of which is the answer.
pub(crate) fn of(turns: usize) -> String {
    let mut text = "title: bench\nroles:\n  coder:\n".to_owned();
    for turn in 1..turns {
        // A small count, so that nothing is summarised: the request only grows.
        text.push_str(&format!(
            "    - call: [{{ tool: Bash, with: {{ command: \"{}\" }} }}]\n      \
             usage: {{ input: 1000, output: 10, cost: 0.0 }}\n",
            command(turn)
        ));
    }
    text.push_str("    - say: Done.\n      usage: { input: 1000, output: 10, cost: 0.0 }\n");
    text
}
