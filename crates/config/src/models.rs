//! Which model each role talks to. A repo chooses models, never hosts.

use std::collections::BTreeMap;

use butler_protocol::{Complexity, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cheap model with tools and a long context.
const QUICK: &str = "moonshotai/kimi-k2.6";
/// A good all-rounder.
const SOUND: &str = "anthropic/claude-sonnet-5";
/// The best coder.
const STRONG: &str = "anthropic/claude-opus-4.6";

/// What the PM can be swapped to by `!pm <name>`.
const POOL: [(&str, &str); 3] = [
    ("kimi", QUICK),
    ("claude", SOUND),
    ("gpt", "openai/gpt-6-luna"),
];

/// The models of the six roles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Models {
    /// The PM: a default, and a pool to swap from with `!pm <name>`.
    pub pm: PmModels,
    /// The Coder: one model, or one per complexity of the plan.
    pub coder: CoderModels,
    /// The Reviewer: a full pass, and optionally a cheap one before it.
    pub reviewer: ReviewerModels,
    /// The Researcher.
    pub researcher: ResearcherModel,
    /// The Artist.
    pub artist: ArtistModels,
    /// The Lead.
    pub lead: LeadModel,
    /// Who writes voice notes down. Unset: people are told that nobody listens.
    pub transcription: Option<TranscriptionModel>,
}

/// The model for voice notes, at the machine's endpoint called `openai` or of that kind, else
/// at that of the role that is spoken to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TranscriptionModel {
    /// Its name, as in `gpt-transcribe`.
    pub model: String,
    /// What a minute costs in US dollars, when the answer does not say it. Unset: a high bound;
    /// nothing for a server on this machine.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub dollars_per_minute: Option<f64>,
}

/// How much a model can be told at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// A hosted model of the usual size.
    #[default]
    Full,
    /// A local model: a shorter prompt.
    Small,
}

settings! {
    /// The models of the PM.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct PmModels {
        /// The model that answers unless a thread swapped it.
        pub default: String = QUICK.into(),
        /// Short names for `!pm <name>`.
        pub pool: BTreeMap<String, String> = POOL.map(|(name, model)| (name.into(), model.into())).into(),
        /// Answers while the other one is down.
        pub fallback_model: Option<String> = Some(SOUND.into()),
        /// How much it can handle.
        pub profile: Profile,
    }
}

settings! {
    /// The models of the Coder.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct CoderModels {
        /// The model for a complexity that has none of its own. Unset: `anthropic/claude-opus-4.6`,
        /// and `anthropic/claude-sonnet-5` for simple plans.
        pub default: Option<String>,
        /// Another word for `default`, as the other roles have it.
        pub model: Option<String>,
        /// For plans that the PM called simple.
        pub simple: Option<String>,
        /// For plans that the PM called medium.
        pub medium: Option<String>,
        /// For plans that the PM called complex.
        pub complex: Option<String>,
        /// Answers while the other one is down.
        pub fallback_model: Option<String> = Some(SOUND.into()),
        /// How much it can handle.
        pub profile: Profile,
    }
}

impl CoderModels {
    /// The model for a plan of this complexity. The built-in choices count only
    /// where the repo is silent: one model named for everything means everything.
    pub fn for_complexity(&self, complexity: Complexity) -> &str {
        let (own, built_in) = match complexity {
            Complexity::Simple => (&self.simple, SOUND),
            Complexity::Medium => (&self.medium, STRONG),
            Complexity::Complex => (&self.complex, STRONG),
        };
        let named = own
            .as_ref()
            .or(self.default.as_ref())
            .or(self.model.as_ref());
        named.map_or(built_in, String::as_str)
    }
}

settings! {
    /// The models of the Reviewer.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ReviewerModels {
        /// The model of the full pass.
        pub model: String = SOUND.into(),
        /// The model of the cheap first pass.
        pub first_pass: Option<String> = Some(QUICK.into()),
        /// Whether a cheap pass comes before the full one.
        pub two_pass: bool,
        /// Answers while the other one is down.
        pub fallback_model: Option<String> = Some(QUICK.into()),
        /// How much it can handle.
        pub profile: Profile,
    }
}

settings! {
    /// The model of the Researcher.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ResearcherModel {
        /// Its model.
        pub model: String = QUICK.into(),
        /// Answers while the other one is down.
        pub fallback_model: Option<String> = Some(SOUND.into()),
        /// How much it can handle.
        pub profile: Profile,
    }
}

settings! {
    /// The models of the Artist.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct ArtistModels {
        /// Proposes designs.
        pub ux_model: String = SOUND.into(),
        /// Makes pictures. Unset: nobody does. At OpenRouter for a name with a maker in front, as in
        /// `google/…`, when the Artist is asked there; else at the machine's endpoint called `openai`
        /// or of that kind, which may be a Stable Diffusion server that speaks its language.
        pub image_model: Option<String>,
        /// What a picture costs in US dollars, when the answer does not say it. Unset: a high bound;
        /// nothing for a server on this machine.
        #[schemars(range(min = 0.0))]
        pub dollars_per_image: Option<f64>,
        /// Answers while `uxModel` is down.
        pub fallback_model: Option<String> = Some(QUICK.into()),
        /// How much it can handle.
        pub profile: Profile,
    }
}

settings! {
    /// The model of the Lead.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct LeadModel {
        /// Its model.
        pub model: String = SOUND.into(),
        /// Answers while the other one is down.
        pub fallback_model: Option<String> = Some(QUICK.into()),
        /// How much it can handle.
        pub profile: Profile,
    }
}

/// What one role's process needs to know about its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    pub model: String,
    /// The one to ask while the first is down.
    pub fallback: Option<String>,
    pub profile: Profile,
}

impl Models {
    /// The model a role starts with. The Coder's may rise with the plan, see [`CoderModels`].
    pub fn of(&self, role: Role) -> ModelChoice {
        let choice = |model: &str, fallback: &Option<String>, profile| ModelChoice {
            model: model.to_owned(),
            // A fallback to itself would only ask the same broken model twice.
            fallback: fallback.clone().filter(|other| other != model),
            profile,
        };
        let Self {
            pm,
            coder,
            reviewer,
            researcher,
            artist,
            lead,
            ..
        } = self;
        match role {
            Role::Pm => choice(&pm.default, &pm.fallback_model, pm.profile),
            Role::Coder => {
                let usual = coder.for_complexity(Complexity::Medium);
                choice(usual, &coder.fallback_model, coder.profile)
            }
            Role::Reviewer => choice(&reviewer.model, &reviewer.fallback_model, reviewer.profile),
            Role::Researcher => choice(
                &researcher.model,
                &researcher.fallback_model,
                researcher.profile,
            ),
            Role::Artist => choice(&artist.ux_model, &artist.fallback_model, artist.profile),
            Role::Lead => choice(&lead.model, &lead.fallback_model, lead.profile),
        }
    }

    /// Every id that a role may ask for, each once, with the key that names it.
    pub fn ids(&self, role: Role) -> Vec<(String, String)> {
        let choice = self.of(role);
        let mut ids: Vec<(String, String)> = Vec::new();
        let mut add = |key: &str, id: &str| {
            if !ids.iter().any(|(_, known)| known == id) {
                ids.push((format!("models.{role}.{key}"), id.to_owned()));
            }
        };
        match role {
            Role::Pm => {
                add("default", &choice.model);
                for (name, id) in &self.pm.pool {
                    add(&format!("pool.{name}"), id);
                }
            }
            Role::Coder => {
                for (key, complexity) in [
                    ("simple", Complexity::Simple),
                    ("medium", Complexity::Medium),
                    ("complex", Complexity::Complex),
                ] {
                    add(key, self.coder.for_complexity(complexity));
                }
            }
            Role::Reviewer => {
                add("model", &choice.model);
                let first = self.reviewer.first_pass.as_ref();
                if let Some(id) = first.filter(|_| self.reviewer.two_pass) {
                    add("firstPass", id);
                }
            }
            Role::Artist => add("uxModel", &choice.model),
            Role::Researcher | Role::Lead => add("model", &choice.model),
        }
        if let Some(id) = &choice.fallback {
            add("fallbackModel", id);
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids that the providers have retired or never had, and what the seeds of
    /// this project called them; see the providers' deprecation pages.
    const GONE: [&str; 5] = [
        "moonshotai/kimi-k2",
        "anthropic/claude-opus-4-6",
        "anthropic/claude-sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4.5",
        "openai/gpt-4o-mini",
    ];

    #[test]
    fn no_default_is_a_model_that_is_gone() {
        let models = Models::default();
        let asked = Role::ALL.into_iter().flat_map(|role| models.ids(role));
        let mut ids: Vec<String> = asked.map(|(_, id)| id).collect();
        ids.extend(models.reviewer.first_pass.clone());
        assert!(ids.len() > 8, "{ids:?}");
        for id in ids {
            assert!(!GONE.contains(&id.as_str()), "{id} is gone");
            // A family's moving alias changes its price under us.
            assert!(!id.starts_with('~') && !id.ends_with("-latest"), "{id}");
            let (_, version) = id.rsplit_once('/').unwrap_or(("", &id));
            let dashed = version
                .split('-')
                .filter(|part| part.bytes().all(|b| b.is_ascii_digit()));
            assert!(dashed.count() < 2, "{id}: versions are written with a dot");
        }
    }

    #[test]
    fn every_id_of_a_role_is_listed_once_with_its_key() {
        let mut models = Models::default();
        models.coder.default = Some("one".into());
        models.coder.fallback_model = Some("two".into());
        let keys = |role| {
            let ids = models.ids(role);
            let ids = ids.into_iter().map(|(key, id)| format!("{key}={id}"));
            ids.collect::<Vec<_>>()
        };
        assert_eq!(
            keys(Role::Coder),
            ["models.coder.simple=one", "models.coder.fallbackModel=two"]
        );
        assert!(keys(Role::Pm).contains(&"models.pm.pool.gpt=openai/gpt-6-luna".to_owned()));
        assert!(
            !keys(Role::Reviewer)
                .iter()
                .any(|key| key.contains("firstPass"))
        );
        models.reviewer.two_pass = true;
        models.reviewer.first_pass = Some("quick".into());
        let with = models.ids(Role::Reviewer);
        assert!(with.contains(&("models.reviewer.firstPass".into(), "quick".into())));
    }
}
