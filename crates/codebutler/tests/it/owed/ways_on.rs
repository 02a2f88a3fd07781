//! From wherever a thread stands a person can go on: what is offered there fits what
//! git and the logs say of it. Offered by a hub that is opened on the store again, as
//! the next `up` does; nobody else is at work then.

use std::{collections::BTreeMap, path::Path, process::Command};

use butler_hub::{Hub, HubConfig, Tokens};
use butler_policy::Redactor;
use butler_protocol::{BranchName, Ending, Entry, Record, ThreadId};
use butler_repo::short_of;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{RoleLog, Thread};

/// The words that the page and `/v1` offer in each thread.
pub(super) type Offers = BTreeMap<ThreadId, Vec<String>>;

/// Asks a hub of our own on this store.
pub(super) fn offers(store: &Path, threads: &[Thread]) -> Offers {
    // The story's own runtime is busy with the drop that we are called from.
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime
                .enable_all()
                .build()
                .unwrap()
                .block_on(ask(store, threads))
        });
        asking.join().unwrap()
    })
}

async fn ask(store: &Path, threads: &[Thread]) -> Offers {
    let person = Tokens::open(store).unwrap().ensure_person("you").unwrap();
    let redactor = Redactor::new(&[], &[]).unwrap();
    let config = HubConfig::new(([127, 0, 0, 1], 0).into(), store.to_owned(), redactor);
    let cancel = CancellationToken::new();
    let hub = Hub::start(config, cancel.clone()).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut offers = Offers::new();
    for thread in threads {
        let url = format!("http://{}/v1/threads/{}", hub.address(), thread.id);
        let asked = client.get(url).bearer_auth(person.token.expose());
        let view: Value = asked.send().await.unwrap().json().await.unwrap();
        let can = serde_json::from_value(view["can"].clone());
        offers.insert(thread.id.clone(), can.unwrap_or_default());
    }
    cancel.cancel();
    hub.wait().await;
    offers
}

/// What a person has to be able to do here and cannot, and what is offered in vain.
pub(super) fn missing(thread: &Thread, offers: &Offers, remote: &Path) -> Vec<String> {
    let Some(can) = offers.get(&thread.id).filter(|_| !thread.under_way) else {
        return Vec::new();
    };
    let mut due = vec!["archive"];
    if stopped(&thread.logs) {
        due.push("resume");
    }
    let pulls = pulls(&thread.id, remote);
    let open = pulls.iter().any(|state| state == "open");
    if open {
        due.extend(["merge", "close"]);
    }
    let mut owed: Vec<String> = due
        .into_iter()
        .filter(|word| !can.iter().any(|known| known == word))
        .map(|word| format!("nobody can {word} here; offered is {can:?}"))
        .collect();
    if !open && !pulls.is_empty() && can.iter().any(|word| word == "merge") {
        owed.push(format!(
            "its pull requests are {pulls:?}, and one is to be merged"
        ));
    }
    owed
}

/// Whether a person stopped the thread and nobody has gone on since.
fn stopped(logs: &[RoleLog]) -> bool {
    let entries = || logs.iter().flat_map(|log| &log.entries);
    let last = |is_it: fn(&Record) -> bool| {
        let those = entries().filter(|entry: &&Entry| is_it(&entry.record));
        those.map(|entry| entry.at_ms).max()
    };
    let ended = last(|record| {
        let Record::ActivationEnded { ending, .. } = record else {
            return false;
        };
        *ending == Ending::Stopped
    });
    let begun = last(|record| matches!(record, Record::ActivationStarted { .. }));
    ended.is_some() && ended > begun
}

/// How the pull requests of a thread stand, where the remote itself keeps them.
fn pulls(thread: &ThreadId, remote: &Path) -> Vec<String> {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        let output = git.arg("-C").arg(remote).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let refs = git(&["for-each-ref", "--format=%(refname)", "refs/codebutler/pr"]);
    let kept = refs.lines().filter_map(|name| {
        let pull: Value = serde_json::from_str(&git(&["show", &format!("{name}:pr.json")])).ok()?;
        let branch = BranchName::new(pull["branch"].as_str()?);
        let ours = short_of(&branch) == Some(thread.short().as_str());
        ours.then(|| pull["state"]["is"].as_str().unwrap_or_default().to_owned())
    });
    kept.collect()
}
