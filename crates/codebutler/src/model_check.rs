//! Whether a model endpoint can be used, found out without spending anything: its
//! key with a free call, its models by their list. What is wrong is said in words of
//! the command line, for people who have never seen the configuration.

use std::time::Duration;

use butler_config::Machine;
use butler_model::{ClientConfig, EndpointKind, ErrorClass, ModelClient, ModelError, ModelInfo};
use butler_protocol::Role;

use crate::wiring;

/// Longer than any list takes.
const PATIENCE: Duration = Duration::from_secs(15);

/// How an endpoint is.
#[derive(Debug, Clone)]
pub(crate) enum Health {
    /// It has these models.
    Lists(Vec<ModelInfo>),
    /// It does not tell what it has, which does not keep it from answering.
    Unlisted(String),
    /// No call would be answered.
    Unusable(Fault),
}

/// What is wrong, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is wrong, in a sentence.
    pub what: String,
    /// What to do.
    pub fix: String,
    /// Whether it is the key; else it is the address, or what is there.
    pub key: bool,
}

/// Asks an endpoint.
pub(crate) async fn examine(mut config: ClientConfig) -> Health {
    config.endpoint.address_from = "the address".to_owned();
    config.endpoint.key_from = "`codebutler init --model-key-env VARIABLE`".to_owned();
    let address = config.endpoint.address();
    let shows_list_to_all = config.endpoint.kind == EndpointKind::Openrouter;
    let client = match ModelClient::new(config) {
        Ok(client) => client,
        Err(error) => return judge(&address, &error),
    };
    let asking = async {
        if shows_list_to_all {
            client.check_key().await?;
        }
        client.models().await
    };
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(Ok(models)) => Health::Lists(models),
        Ok(Err(error)) => judge(&address, &error),
        Err(_) => Health::Unusable(Fault {
            what: format!("{address} does not answer"),
            fix: "look whether the server is well, or name another one: `codebutler init --model-url URL`"
                .to_owned(),
            key: false,
        }),
    }
}

/// No list, but perhaps models: only what would fail a request for an answer too
/// is a failure.
fn judge(address: &str, error: &ModelError) -> Health {
    let another = "`codebutler init --model-url URL` takes another address";
    let (fix, key) = match error {
        ModelError::Unreachable(_) => (format!("start the server; {another}"), false),
        ModelError::Auth(_) | ModelError::NoKey(_) => (
            "put a good key into a variable and run `codebutler init --model-key-env VARIABLE`"
                .to_owned(),
            true,
        ),
        _ => match error.class() {
            ErrorClass::NoCredit => ("add credit at the provider".to_owned(), true),
            ErrorClass::Forbidden => (
                "look at the limits of the key at the provider".to_owned(),
                true,
            ),
            ErrorClass::Malformed => (
                format!("most addresses of models end in /v1; {another}"),
                false,
            ),
            ErrorClass::Timeout | ErrorClass::Setup => (another.to_owned(), false),
            _ => return Health::Unlisted(error.to_string()),
        },
    };
    let what = match error {
        ModelError::Auth(trouble) => {
            format!("{address} refuses the key: {}", trouble.detail)
        }
        other => other.to_string(),
    };
    Health::Unusable(Fault { what, fix, key })
}

/// The machine's endpoints, each with its name, the roles that it answers for, and
/// how it is. All are asked at once.
pub(crate) async fn of_machine(machine: &Machine) -> Vec<(String, Vec<Role>, Health)> {
    let asked = wiring::roles_by_endpoint(machine).into_iter();
    let asked = asked.map(|(name, (endpoint, roles))| async move {
        let health = match wiring::client_of(machine, &name, &endpoint) {
            Ok(config) => examine(config).await,
            Err(error) => Health::Unusable(Fault {
                what: error.plain(),
                fix: "`codebutler init --model-url URL` takes another address".to_owned(),
                key: false,
            }),
        };
        (name, roles, health)
    });
    futures_util::future::join_all(asked).await
}
