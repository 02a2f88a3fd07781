//! Offers to let the team get to know the code when it starts: what it costs is said
//! before, and one key skips it.

use std::{collections::BTreeMap, path::Path, time::Duration};

use butler_config::Settings;
use butler_model::{ModelClient, ModelInfo, Resolved, resolve};
use butler_protocol::{Role, TokenUsage, Usd};
use butler_repo::Git;

use crate::{
    CliError, Ui,
    commands::{environment, run::learning, setup::init::ask},
    process,
    wiring::{self, Unlisted},
};

/// The calls that it takes at most, by who makes them.
const CALLS: [(Role, u64); 5] = [
    (Role::Pm, 2),
    (Role::Coder, 3),
    (Role::Reviewer, 2),
    (Role::Artist, 2),
    (Role::Lead, 3),
];
/// What one of them reads and writes at most, by what was seen.
const TOKENS: (u64, u64) = (20_000, 2_500);
/// An endpoint that does not tell its prices in this time tells none.
const PATIENCE: Duration = Duration::from_secs(5);

/// Endings of files that hold code.
const CODE: &[&str] = &[
    "c", "cc", "clj", "cpp", "cs", "dart", "el", "ex", "exs", "fs", "go", "h", "hpp", "hs", "java",
    "jl", "js", "jsx", "kt", "lua", "m", "ml", "mjs", "nim", "php", "pl", "ps1", "py", "r", "rb",
    "rs", "scala", "sh", "sql", "svelte", "swift", "tf", "ts", "tsx", "vue", "zig",
];

/// Asks, where there is code and nobody has made a map of it yet.
pub(super) fn offer(root: &Path, ui: &Ui) -> Result<(), CliError> {
    let settings = Settings::load(root, &environment)?;
    let (code, price) =
        process::run_on_one_thread(async |_| Ok((has_code(root).await, price(&settings).await)))?;
    if !code || is_known(root) {
        return Ok(());
    }
    let choices = ["yes, when it starts", "no"].map(str::to_owned);
    let help = format!("{price}; a card shows what it found, Esc skips it");
    match ask::one_of("Let the team get to know the code?", &help, &choices, 0) {
        Ok(0) => {
            learning::want(root)?;
            ui.line("The team gets to know the code when it starts.")
        }
        // Whoever skips it can still say it.
        Ok(_) | Err(_) => ui.line("Skipped: say `learn this repo` to the team at any time."),
    }
    .map_err(CliError::from)
}

async fn has_code(root: &Path) -> bool {
    let listed = Git::at(root).call(["ls-files", "-z"]).finish().await;
    let mut paths = listed.iter().flat_map(|output| output.fields());
    paths.any(|path| {
        let path = String::from_utf8_lossy(path);
        let ours = path.starts_with(".codebutler/");
        let ending = path
            .rsplit('/')
            .next()
            .and_then(|name| name.rsplit_once('.'));
        !ours && ending.is_some_and(|(_, ending)| CODE.contains(&ending))
    })
}

/// Whether a map was made before.
fn is_known(root: &Path) -> bool {
    let global = root.join(butler_config::FOLDER).join("global.md");
    let text = std::fs::read_to_string(global).unwrap_or_default();
    text.contains("Seen at `")
}

/// What it costs at most, as far as that is known.
async fn price(settings: &Settings) -> String {
    let calls: u64 = CALLS.iter().map(|(_, calls)| calls).sum();
    let unknown = format!("{calls} model calls at most, at a price that is not known");
    let mut total = Usd::ZERO;
    let mut lists = BTreeMap::new();
    for (role, calls) in CALLS {
        match worst(settings, role, calls, &mut lists).await {
            Some(cost) => total += cost,
            None => return unknown,
        }
    }
    match total {
        Usd::ZERO => format!("{calls} model calls at most, free on this machine"),
        total => format!("{calls} model calls at most, {total} at most"),
    }
}

/// What a role's part costs; an endpoint is asked once for its list.
async fn worst(
    settings: &Settings,
    role: Role,
    calls: u64,
    lists: &mut BTreeMap<String, Vec<ModelInfo>>,
) -> Option<Usd> {
    let (machine, home) = (&settings.machine, &settings.home);
    let (name, endpoint) = wiring::endpoint_of(machine, home, role).ok()?;
    let config = wiring::client_config(machine, home, role).ok()?;
    let usage = TokenUsage {
        input: TOKENS.0 * calls,
        output: TOKENS.1 * calls,
        ..TokenUsage::default()
    };
    let client = ModelClient::new(config).ok()?;
    let unlisted = wiring::unlisted_price(&endpoint, &client.config().endpoint);
    if !lists.contains_key(&name) {
        let listed = tokio::time::timeout(PATIENCE, client.models()).await;
        let models = listed.ok().and_then(Result::ok).unwrap_or_default();
        lists.insert(name.clone(), models);
    }
    let models = lists.get(&name)?;
    let wanted = settings.repo.models.of(role).model;
    let found = match resolve(models, &wanted) {
        Resolved::Exact(info) | Resolved::Respelt(info) => info.price.as_ref(),
        Resolved::Unknown { .. } => None,
    };
    match (found, unlisted) {
        (Some(price), _) => Some(price.base.of(&usage)),
        (None, Unlisted::Named(price)) => Some(price.of(&usage)),
        (None, Unlisted::Free) => Some(Usd::ZERO),
        (None, Unlisted::Unknown) => None,
    }
}
