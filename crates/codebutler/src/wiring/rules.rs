//! From the repo's settings to the rules that its agents work under.

use std::time::Duration;

use butler_agent::{
    AccessRules, ByComplexity, Images, IssueRules, ModelRules, Patience, Rules, Transcription,
    WorkLimits,
};
use butler_config::{
    Endpoint, EndpointKind, JournalPlace, Knowledge, Language, Settings, Undoable,
};
use butler_policy::{Duty, McpApproval, Overrides, Right, right};
use butler_protocol::{Complexity, Role, Usd, visible_line};
use butler_tools::{Check, OutsideTools};
use butler_turn::{Limits, Models, route::RespondTo};

use crate::{
    CliError,
    wiring::{client_of, mcp, redactor},
};

/// For models of which nobody knows better.
const USUAL_WINDOW: u64 = 128_000;
/// What a minute of speech costs where nobody says it: more than anybody asks for it.
const DEAREST_MINUTE: f64 = 0.02;
/// The same of a picture.
const DEAREST_PICTURE: f64 = 0.40;
/// The most that one answer may hold: room for a long file, and little enough
/// that its worst case does not eat the budget.
const LONGEST_ANSWER: u32 = 8_192;

/// The rules for a role, before its models were compared with the endpoint's.
pub(crate) fn rules(settings: &Settings, role: Role) -> Result<Rules, CliError> {
    let waiting = settings.waiting().into_iter().map(|ask| ask.words);
    let servers = mcp::waiting(settings).into_iter();
    let servers = servers.map(|name| format!("the MCP server `{name}`"));
    Ok(Rules {
        models: models(settings, role),
        access: AccessRules {
            allowed: settings.repo.limits.allowed_users.clone(),
            respond_to: match settings.repo.slack.respond_to {
                butler_config::RespondTo::All => RespondTo::All,
                butler_config::RespondTo::Mention => RespondTo::Mention,
            },
            allowed_bots: settings.repo.slack.allowed_bots.clone(),
            issues: IssueRules {
                label: settings.repo.issues.label.clone(),
                mention: settings.repo.issues.mention.clone(),
            },
        },
        limits: limits(settings, role),
        journal_in_pull: settings.repo.journal == JournalPlace::Pr,
        labels: settings.repo.labels.0.clone(),
        plan_gate: settings.policy.plan_gate.0,
        language: language(settings),
        reply_language: reply_language(settings),
        knowledge_direct: settings.policy.knowledge == Knowledge::Direct,
        checks: checks(settings),
        prepare: settings.repo.prepare.clone(),
        unagreed: waiting.chain(servers).collect(),
        overrides: overrides(settings),
        outside: OutsideTools::default(),
        redactor: redactor(settings)?,
        remarks: Vec::new(),
    })
}

fn models(settings: &Settings, role: Role) -> ModelRules {
    let choice = settings.repo.models.of(role);
    let endpoint = settings.machine.endpoint_for(role);
    let window = endpoint.and_then(|(_, endpoint)| endpoint.window);
    ModelRules {
        chain: Models {
            usual: choice.model,
            fallback: choice.fallback,
            // Follows from the complexity of the plan.
            stronger: None,
            window_tokens: window.unwrap_or(USUAL_WINDOW),
            max_tokens: LONGEST_ANSWER,
        },
        profile: prompt_profile(choice.profile),
        by_complexity: Duty::Build.is_of(role).then(|| builders(settings)),
        builders: builders(settings),
        pool: settings.repo.models.pm.pool.clone(),
        first_pass: first_pass(settings, role),
        seeing: seeing(settings, role),
        transcription: transcription(settings, role),
        images: images(settings, role),
    }
}

fn limits(settings: &Settings, role: Role) -> WorkLimits {
    let limits = &settings.repo.limits;
    WorkLimits {
        activation: Limits {
            // Each side counts what it hears, which is half of what is said.
            agent_messages: (limits.max_exchanges / 2).max(1),
            ..Limits::with_turns(limits.max_turns.of(role))
        },
        thread_cap: limits.thread_cap(),
        review_rounds: limits.review_rounds,
        wait_minutes: limits.wait_minutes,
        threads_at_once: usize::try_from(limits.max_concurrent_threads).unwrap_or(1),
        patience: Patience {
            quiet_ms: milliseconds(limits.quiet_hours),
            grace_ms: milliseconds(limits.sleep_hours),
        },
        forge_pause: Duration::from_secs(limits.forge_seconds.max(1).into()),
        retention_days: settings.repo.retention_days.0,
        research_days: settings.repo.research.max_age_days,
    }
}

/// The language of answers and cards, where it is not left to the person who asks.
fn reply_language(settings: &Settings) -> Option<String> {
    let reply = &settings.repo.language.reply;
    (*reply != Language::default().reply).then(|| reply.clone())
}

/// What the prompts say about languages, where it is not what the role files say.
pub(crate) fn language(settings: &Settings) -> Option<String> {
    let usual = Language::default();
    let language = &settings.repo.language;
    let mut rules = Vec::new();
    if language.reply != usual.reply {
        let reply = visible_line(&language.reply);
        rules.push(format!("Answer people in {reply}."));
    }
    if language.repo != usual.repo {
        let repo = visible_line(&language.repo);
        rules.push(format!(
            "Code, commits, pull requests and what the team remembers are in {repo}."
        ));
    }
    (!rules.is_empty()).then(|| rules.join(" "))
}

/// Hours as a person writes them.
fn milliseconds(hours: f64) -> i64 {
    // The cast saturates; who writes a thousand years means never.
    (hours * 3_600_000.0) as i64
}

/// Who writes recordings down, and what a minute of that may cost.
fn transcription(settings: &Settings, role: Role) -> Option<Transcription> {
    let named = settings.repo.models.transcription.as_ref()?;
    let machine = &settings.machine;
    let found = machine.media_endpoint();
    let (name, endpoint) = found.or_else(|| machine.endpoint_for(role))?;
    let client = client_of(machine, &name, &endpoint).ok()?;
    let unknown = match client.endpoint.is_loopback() {
        true => 0.0,
        false => DEAREST_MINUTE,
    };
    Some(Transcription {
        model: named.model.clone(),
        per_minute: Usd::from_dollars(named.dollars_per_minute.unwrap_or(unknown)),
        client,
    })
}

/// Who makes pictures. Names with a maker in front are OpenRouter's.
fn images(settings: &Settings, role: Role) -> Option<Images> {
    let artist = &settings.repo.models.artist;
    let model = artist.image_model.clone()?;
    if right(role, "GenerateImage") == Right::No {
        return None;
    }
    let machine = &settings.machine;
    let own = machine.endpoint_for(role);
    let routed = |(_, one): &(String, Endpoint)| one.kind == EndpointKind::OpenRouter;
    let own_first = model.contains('/') && own.as_ref().is_some_and(routed);
    let media = machine.media_endpoint().filter(|_| !own_first);
    let (name, endpoint) = media.or(own)?;
    let client = client_of(machine, &name, &endpoint).ok()?;
    let bound = match client.endpoint.is_loopback() {
        true => 0.0,
        false => DEAREST_PICTURE,
    };
    Some(Images {
        model,
        each: artist.dollars_per_image.map(Usd::from_dollars),
        bound: Usd::from_dollars(bound),
        client,
    })
}

/// The Artist's model sees for those that do not, where it is at the same endpoint.
fn seeing(settings: &Settings, role: Role) -> Option<String> {
    let endpoint = |role| settings.machine.endpoint_for(role).map(|(name, _)| name);
    let shared = endpoint(role) == endpoint(Role::Artist);
    shared.then(|| settings.repo.models.of(Role::Artist).model)
}

/// A cheap look before the full one, where the repo wants that.
fn first_pass(settings: &Settings, role: Role) -> Option<String> {
    let models = &settings.repo.models.reviewer;
    let wanted = Duty::Review.is_of(role) && models.two_pass;
    models.first_pass.clone().filter(|_| wanted)
}

/// How much a role's model can be told at once.
pub(crate) fn prompt_profile(profile: butler_config::Profile) -> butler_playbook::Profile {
    match profile {
        butler_config::Profile::Full => butler_playbook::Profile::Full,
        butler_config::Profile::Small => butler_playbook::Profile::Small,
    }
}

/// The Coder's models, by the size of the plan.
fn builders(settings: &Settings) -> ByComplexity {
    let of = |complexity| {
        let models = &settings.repo.models.coder;
        models.for_complexity(complexity).to_owned()
    };
    ByComplexity {
        simple: of(Complexity::Simple),
        medium: of(Complexity::Medium),
        complex: of(Complexity::Complex),
    }
}

/// What RunChecks runs.
pub(crate) fn checks(settings: &Settings) -> Vec<Check> {
    let checks = settings.repo.checks().into_iter();
    checks
        .map(|check| Check {
            name: check.name,
            command: check.command,
        })
        .collect()
}

/// The part of the repo's policy that judges calls. Settings have already left
/// out what loosens without consent.
pub(crate) fn overrides(settings: &Settings) -> Overrides {
    let policy = &settings.policy;
    let mut overrides = Overrides::default();
    let bash = &mut overrides.tool_overrides.bash;
    bash.destructive
        .clone_from(&policy.tool_overrides.bash.destructive);
    bash.safe.clone_from(&policy.tool_overrides.bash.safe);
    overrides.accept_weaker = policy.sandbox.accept_weaker;
    overrides.undoable = policy.undoable == Undoable::Save;
    overrides
        .web_hosts
        .clone_from(&settings.repo.research.hosts);
    overrides.mcp = match policy.mcp.approval {
        butler_config::McpApproval::Never => McpApproval::Never,
        butler_config::McpApproval::Writes => McpApproval::Writes,
        butler_config::McpApproval::Always => McpApproval::Always,
    };
    let asks = &mut overrides.require_approval;
    asks.git_push_to
        .clone_from(&policy.require_approval.git_push_to);
    asks.create_pr_to
        .clone_from(&policy.require_approval.create_pr_to);
    overrides
}
