//! A repository has one team at a time on a machine.

use crate::{
    running::{Running, line_with},
    scratch::{Scratch, pushed},
};

const UP: [&str; 3] = ["up", "--listen", "127.0.0.1:0"];
const AT_WORK: &str = "the team is at work: PM, Coder";

#[test]
fn a_second_up_leaves_the_first_alone_and_a_killed_one_is_in_nobodys_way() {
    let scratch = Scratch::new();
    let url = crate::endpoint::listing(&["qwen3:8b"]);
    pushed(&scratch.root());
    assert_eq!(scratch.run(&["init", "--yes", "--model-url", &url]).code, 0);
    let mut first = Running::start(&mut scratch.codebutler(&UP));
    line_with(&first.out, AT_WORK);

    let (code, out, err) = Running::start(&mut scratch.codebutler(&UP)).ended();
    assert_eq!(code, 4, "{out}\n{err}");
    let pid = first.child.id();
    let expected = format!(
        "error: the team of app runs already (process {pid})\n\
         hint: `codebutler link` gives a link to its page; `kill {pid}` ends it"
    );
    assert_eq!((out.as_str(), err), ("", expected));

    // As `kill -9` does: nobody is there to clean up.
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let mut third = Running::start(&mut scratch.codebutler(&UP));
    line_with(&third.out, AT_WORK);
    third.interrupt();
}
