//! The stories of the demo: what each is called on the command line, what the
//! models say in it, and what the person does when `--play` plays them too.

use butler_rehearsal::Scenario;

use crate::CliError;

/// A story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Story {
    /// A new flag: a question from the Coder, and one round back from the Reviewer
    Feature,
    /// A bug with a regression test; the first attempt fails the checks
    Bugfix,
    /// A destructive command that is rejected and worked around
    Cleanup,
}

impl Story {
    /// All of them, in the order in which they are offered.
    pub(crate) const ALL: [Story; 3] = [Story::Feature, Story::Bugfix, Story::Cleanup];

    /// The scenario, ready to be played.
    pub(crate) fn scenario(self) -> Result<Scenario, CliError> {
        let text = match self {
            Story::Feature => include_str!("../../../../demo/scenarios/feature.yaml"),
            Story::Bugfix => include_str!("../../../../demo/scenarios/bugfix.yaml"),
            Story::Cleanup => include_str!("../../../../demo/scenarios/cleanup.yaml"),
        };
        let shared = include_str!("../../../../demo/scenarios/shared.yaml");
        let shared = Scenario::parse(shared).map_err(CliError::internal)?;
        let story = Scenario::parse(text).map_err(CliError::internal)?;
        Ok(story.with_shared(&shared))
    }

    /// Whether the person of this story lets a destructive command run.
    pub(crate) const fn allows_commands(self) -> bool {
        !matches!(self, Story::Cleanup)
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::run::demo::stories::*;

    #[test]
    fn every_story_can_be_asked_for_and_none_is_taken_for_another() {
        let stories: Vec<_> = Story::ALL
            .iter()
            .map(|one| one.scenario().unwrap())
            .collect();
        for (number, story) in stories.iter().enumerate() {
            assert!(!story.request().is_empty(), "{}", story.title());
            for (other, rest) in stories.iter().enumerate() {
                assert_eq!(
                    rest.belongs(story.request()),
                    number == other,
                    "{}",
                    rest.title()
                );
            }
        }
    }
}
