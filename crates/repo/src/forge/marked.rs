//! Our part of a pull request's description: a block between two marks that the runtime
//! writes anew whenever something changed. What a person writes around it stays. Pure.

const BEGIN: &str = "<!-- codebutler:begin, written anew by the team; words around it stay -->";
const END: &str = "<!-- codebutler:end -->";

/// A description with this block: in the place of the one that is there, else after what
/// stands there.
pub fn with_block(body: &str, block: &str) -> String {
    // A mark inside would end it early.
    let block = block.replace("<!-- codebutler:", "<!- codebutler:");
    let block = format!("{BEGIN}\n{}\n{END}", block.trim());
    match around(body) {
        Some((before, after)) => format!("{before}{block}{after}"),
        None if body.trim().is_empty() => block,
        None => format!("{}\n\n{block}", body.trim_end()),
    }
}

/// A description as people read it: without the marks.
pub fn without_marks(body: &str) -> String {
    let lines = body.lines().filter(|line| ![BEGIN, END].contains(line));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// What stands before and after the block, if there is a whole one.
fn around(body: &str) -> Option<(&str, &str)> {
    let begin = body.find(BEGIN)?;
    let end = begin + body[begin..].find(END)?;
    Some((&body[..begin], &body[end + END.len()..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_is_written_anew_and_words_around_it_stay() {
        let first = with_block("", "one");
        assert_eq!(without_marks(&first), "one");
        let by_hand = format!("See #7.\n\n{first}\n\nFixes #8.\n");
        let second = with_block(&by_hand, "two <!-- codebutler:end --> three");
        assert_eq!(
            second,
            by_hand.replace("\none\n", "\ntwo <!- codebutler:end --> three\n")
        );
        assert_eq!(without_marks(&by_hand), "See #7.\n\none\n\nFixes #8.");
        assert_eq!(with_block(&second, "one"), by_hand);
        assert!(with_block("By hand.", "x").starts_with("By hand.\n\n<!--"));
        // Somebody deleted one of the marks: their text stays as it is.
        let broken = first.replace(END, "");
        assert!(with_block(&broken, "two").starts_with(broken.trim_end()));
    }

    proptest! {
        /// Whatever people write around it and whatever we write in it, only ours changes.
        #[test]
        fn only_ours_changes(before in ".{0,40}", after in ".{0,40}", one in ".{0,40}", two in ".{0,40}") {
            let body = format!("{before}{}{after}", with_block("", &one));
            let again = with_block(&body, &two);
            prop_assert!(again.starts_with(&before) && again.ends_with(&after));
            prop_assert_eq!(with_block(&again, &two), again);
        }
    }
}
