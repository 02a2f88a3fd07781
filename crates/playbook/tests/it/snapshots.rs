//! The prompts as models get them. The first line has the tokens, so that a
//! change of wording shows what it costs.

use butler_playbook::{Profile, tokens};
use butler_protocol::Role;

use crate::budget::assembled;

#[test]
fn all_prompts_in_both_profiles() {
    for role in Role::ALL {
        for (profile, name) in [(Profile::Full, "full"), (Profile::Small, "small")] {
            let text = assembled(role, profile);
            let shown = format!("{} tokens\n\n{text}", tokens(&text));
            insta::assert_snapshot!(format!("{role}_{name}"), shown);
        }
    }
}
