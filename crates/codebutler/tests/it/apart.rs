//! Roles on different machines, as far as one machine can show it: every agent
//! process has a `threads/` of its own, and nobody else can look into it. What a
//! role knows of its neighbours it knows from the hub.

use std::{collections::BTreeSet, fs, time::Duration};

use butler_protocol::Role;
use butler_rehearsal::{Rehearsal, Scenario};
use butler_testkit::ScratchRepo;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    activation_world::{free_port, kept},
    person::Person,
    story::{REQUEST, SCENARIO, assert_story, merged},
    team::{agree, set_up, tokens},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_becomes_a_merge_though_no_role_has_a_neighbours_disk() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let scenarios = vec![Scenario::parse(SCENARIO).unwrap()];
    let any = ([127, 0, 0, 1], 0).into();
    let model = Rehearsal::start_all(any, scenarios, true, CancellationToken::new())
        .await
        .unwrap();
    let scratch = ScratchRepo::new();
    set_up(&scratch, &model.base_url(), None);
    agree(&scratch);
    let threads = scratch.root().join(".codebutler/threads");
    fs::create_dir_all(&threads).unwrap();
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let _hub = kept(
        &scratch,
        "hub",
        None,
        &["hub", "--listen", &address],
        vec![],
    );
    let known = tokens(&scratch);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let token = text(&known["people"]["you"]["token"]);
    let hub = format!("http://{address}/");
    let person = Person::new(&hub, &text(&known["channel"]), &token);
    while person.get("v1/me").await.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let own = |role: Role| scratch.folder().join(format!("threads-{role}"));
    let agents = Role::ALL.map(|role| {
        fs::create_dir_all(own(role)).unwrap();
        let (from, to) = (own(role), threads.display());
        let mounts = format!("mount --bind '{}' '{to}'", from.display());
        kept(
            &scratch,
            role.as_str(),
            Some(&mounts),
            &["--role", role.as_str()],
            vec![],
        )
    });
    let root = person.open(REQUEST).await;
    person.press(&root, "Plan", "approve").await.unwrap();
    person
        .press(&root, "Ready to merge", "merge")
        .await
        .unwrap();
    let thread = person.until(&root, "the merge", merged).await;
    assert_story(&thread.unwrap());
    assert_eq!(agents.iter().map(|agent| agent.deaths()).sum::<u32>(), 0);
    drop(agents);
    for role in Role::ALL {
        let mut names = BTreeSet::new();
        collect(&own(role), &mut names);
        let logs: Vec<&String> = names
            .iter()
            .filter(|name| name.ends_with(".jsonl"))
            .collect();
        let neighbours = logs
            .iter()
            .filter(|name| !name.ends_with(&format!("/{role}.jsonl")));
        assert_eq!(neighbours.count(), 0, "{role} has {logs:?}");
    }
    let seen = fs::read_dir(&threads).unwrap().count();
    assert_eq!(seen, 0, "somebody wrote where everybody can look");
}

fn collect(folder: &std::path::Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            collect(&entry.path(), names);
        } else {
            names.insert(entry.path().display().to_string());
        }
    }
}
