//! The files that run the binary elsewhere say only what it understands: command lines,
//! flags, ports, paths, variables and configuration are held against the binary itself.

use std::{collections::BTreeSet, fs, path::Path};

use butler_config::Settings;
use serde_json::Value;

use crate::scratch::{Ran, Scratch};

/// One container that runs our image.
#[derive(Debug, Default)]
struct Container {
    name: String,
    /// What it runs; without a shell in between the words for the binary.
    words: Vec<String>,
    script: Option<String>,
    variables: Vec<(String, String)>,
    mounts: Vec<String>,
    folder: Option<String>,
}

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join("packaging").join(name)).unwrap()
}

fn parsed(name: &str) -> Vec<Value> {
    let documents = serde_saphyr::from_multiple(&file(name));
    documents.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// `sh -c` and its one argument, or words for the binary.
fn run(container: &mut Container, entry: &[String], words: Vec<String>) {
    match entry.first().map(String::as_str) {
        Some("sh") => container.script = words.into_iter().next(),
        Some("codebutler") => container.words = entry[1..].iter().cloned().chain(words).collect(),
        Some(other) => panic!("{other} is not ours"),
        None => container.words = words,
    }
}

/// The services of the compose file that are ours; `$$` is its way to write `$`.
fn composed() -> Vec<Container> {
    let compose = parsed("compose.yml").remove(0);
    let services = compose["services"].as_object().unwrap();
    let ours = services
        .iter()
        .filter(|(_, one)| one["image"] == "codebutler");
    ours.map(|(name, one)| {
        let mut container = Container {
            name: name.clone(),
            mounts: list(&one["volumes"])
                .iter()
                .map(|mount| mount.split_once(':').unwrap().1.to_owned())
                .collect(),
            folder: one["working_dir"].as_str().map(str::to_owned),
            ..Container::default()
        };
        let dollars = |text: String| text.replace("$$", "$");
        for (variable, value) in one["environment"].as_object().into_iter().flatten() {
            container
                .variables
                .push((variable.clone(), dollars(text(value))));
        }
        let words = list(&one["command"]).into_iter().map(dollars).collect();
        run(&mut container, &list(&one["entrypoint"]), words);
        container
    })
    .collect()
}

/// The containers of the manifest that are ours.
fn deployed() -> Vec<Container> {
    let mut all = Vec::new();
    for document in parsed("kubernetes.yml") {
        let pod = &document["spec"]["template"]["spec"];
        for kind in ["initContainers", "containers"] {
            for one in pod[kind].as_array().into_iter().flatten() {
                assert_eq!(one["image"], "codebutler");
                let pairs = one["env"].as_array().into_iter().flatten();
                let mut container = Container {
                    name: text(&one["name"]),
                    variables: pairs
                        .map(|pair| (text(&pair["name"]), text(&pair["value"])))
                        .collect(),
                    mounts: one["volumeMounts"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|mount| text(&mount["mountPath"]))
                        .collect(),
                    folder: one["workingDir"].as_str().map(str::to_owned),
                    ..Container::default()
                };
                run(&mut container, &list(&one["command"]), list(&one["args"]));
                all.push(container);
            }
        }
    }
    all
}

/// The words behind each `codebutler` of a shell script.
fn calls(script: &str) -> Vec<Vec<String>> {
    let parts = script.split("&&").flat_map(|part| part.split([';', '|']));
    let words = parts.map(|part| {
        part.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    words
        .filter_map(|words| {
            let at = words.iter().position(|word| word == "codebutler")?;
            Some(words[at + 1..].to_vec())
        })
        .collect()
}

/// What the binary says about a command line; it must understand every word of it.
fn understood(words: &[String]) -> Ran {
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    args.push("--help");
    let ran = Scratch::new().run(&args);
    assert_eq!(ran.code, 0, "codebutler {}: {}", words.join(" "), ran.err);
    ran
}

#[test]
fn the_files_for_containers_say_only_what_the_binary_understands() {
    let recipe = file("Containerfile");
    let init = understood(&["init".to_owned()]).out;
    for (origin, containers) in [("compose.yml", composed()), ("kubernetes.yml", deployed())] {
        let names: Vec<&str> = containers.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), 3, "{origin}: {names:?}");
        for one in &containers {
            let what = format!("{origin}, {}", one.name);
            let script = one.script.clone().unwrap_or_default();
            let mut lines = calls(&script);
            if one.script.is_none() {
                lines.push(one.words.clone());
            }
            let mut help = String::new();
            for line in &lines {
                help.push_str(&understood(line).out);
            }
            for (variable, value) in &one.variables {
                let read = help.contains(&format!("[env: {variable}"))
                    || (one.name == "worker" && init.contains(variable.as_str()))
                    || script.contains(&format!("${variable}"))
                    || file(origin).contains(&format!("${{{variable}}}"))
                    || file(origin).contains(&format!("$${{{variable}}}"));
                assert!(read, "{what}: nobody reads {variable}");
                if value.trim_start().starts_with('{') {
                    machine(&what, value);
                }
            }
            for mount in &one.mounts {
                let known =
                    recipe.contains(&format!("\"{mount}\"")) || script.contains(mount.as_str());
                assert!(known, "{what}: {mount} is no volume of the image");
            }
            let folder = one.folder.as_deref().unwrap_or("/repo");
            let exists = recipe.contains(folder) || folder == "/home/butler";
            assert!(exists, "{what}: {folder}");
        }
        let worker = containers.iter().find(|one| one.name == "worker").unwrap();
        assert_eq!(worker.words, ["worker"]);
    }
    for document in parsed("kubernetes.yml") {
        if document["kind"] == "ConfigMap" {
            machine(
                "kubernetes.yml",
                document["data"]["config.json"].as_str().unwrap(),
            );
        }
    }
}

/// A machine config that the binary takes, for a hub that encrypts.
fn machine(what: &str, config: &str) {
    let known = |_: &str| Some("postgres://user:password@host/name".to_owned());
    let read = Settings::check_machine(Path::new("config.json"), config, &known);
    let read = read.unwrap_or_else(|problems| panic!("{what}: {problems:?}"));
    assert_eq!(read.hub.tls.as_deref(), Some("self"), "{what}");
    assert!(read.hub.database.is_some(), "{what}");
    let url = read.hub.public_url.unwrap();
    assert!(
        url.starts_with("https://") && url.ends_with(":7878/"),
        "{what}: {url}"
    );
}

/// What somebody may type who reads a page: lines of its blocks, and what stands in the text.
fn commands_of(page: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    for (number, part) in page.split("```").enumerate() {
        let is_block = number % 2 == 1;
        let pieces: Vec<&str> = match is_block {
            // What a line of a block says about its command stands behind a gap.
            true => part
                .lines()
                .map(|line| line.split("   ").next().unwrap_or_default())
                .collect(),
            false => part.split('`').skip(1).step_by(2).collect(),
        };
        for piece in pieces {
            let words = piece.split_whitespace().skip_while(|word| *word == "$");
            let named = |word: &str| word.trim_matches('\'').replace("<role>", "pm");
            let mut words = words.map(named);
            if words.next().as_deref() == Some("codebutler") {
                found.insert(words.collect());
            }
        }
    }
    found
}

#[test]
fn every_command_of_the_pages_for_operators_is_one_that_the_binary_understands() {
    let mut all = BTreeSet::new();
    for page in ["operations", "machines", "services"] {
        let place = format!("../../docs/{page}.md");
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
        all.extend(commands_of(&fs::read_to_string(place).unwrap()));
    }
    assert!(all.len() > 30, "{all:?}");
    for words in all {
        understood(&words);
    }
}

#[test]
fn ports_probes_and_secrets_of_the_manifest_fit_together() {
    let documents = parsed("kubernetes.yml");
    let kind = |kind: &str| documents.iter().find(|one| one["kind"] == kind).unwrap();
    let hub = &kind("Deployment")["spec"];
    assert_eq!(hub["replicas"], 2);
    let container = &hub["template"]["spec"]["containers"][0];
    let port = &container["ports"][0]["containerPort"];
    assert!(text(&container["args"][0]).contains(&format!("--listen 0.0.0.0:{port}")));
    let service = &kind("Service")["spec"];
    assert_eq!(service["ports"][0]["targetPort"], *port);
    assert_eq!(service["selector"], hub["selector"]["matchLabels"]);
    assert_eq!(service["selector"], hub["template"]["metadata"]["labels"]);
    let served = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hub/src/hub/router.rs");
    let served = fs::read_to_string(served).unwrap();
    // A hub is not ended because its database or Slack is away.
    assert_eq!(container["livenessProbe"]["tcpSocket"]["port"], *port);
    let asked = &container["readinessProbe"]["httpGet"];
    // Agents come through the Service, which passes on to hubs that are ready only: a hub that
    // waits for its first agent has to be one.
    let path = Value::from("/readyz/store");
    assert_eq!((&asked["path"], &asked["port"]), (&path, port));
    assert_eq!(asked["scheme"], "HTTPS");
    assert!(served.contains(".route(\"/readyz/store\""));
    assert_eq!(service["publishNotReadyAddresses"], Value::Null);
    let name = text(&kind("Service")["metadata"]["name"]);
    let config = text(&kind("ConfigMap")["data"]["config.json"]);
    assert!(
        config.contains(&format!("https://{name}:{port}/")),
        "{config}"
    );
    let worker = &kind("StatefulSet")["spec"];
    let ready =
        list(&worker["template"]["spec"]["containers"][0]["readinessProbe"]["exec"]["command"]);
    assert_eq!(ready[0], "codebutler");
    understood(&ready[3..]);
    // Every secret that is named is one that the file says how to make.
    let whole = file("kubernetes.yml");
    for line in whole
        .lines()
        .filter(|line| line.contains("secretKeyRef: {"))
    {
        let inside = line.split(['{', '}']).nth(1).unwrap();
        let of = |key: &str| {
            let pairs = inside.split(", ").filter_map(|pair| pair.split_once(": "));
            pairs
                .into_iter()
                .find(|(name, _)| *name == key)
                .unwrap()
                .1
                .to_owned()
        };
        let made = whole
            .lines()
            .find(|line| line.contains(&format!("secret generic {} ", of("name"))));
        let key = format!("--from-literal={}=", of("key"));
        assert!(made.is_some_and(|made| made.contains(&key)), "{line}");
    }
}
