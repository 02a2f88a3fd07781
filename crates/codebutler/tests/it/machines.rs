//! Machines that joined a pair of hubs over a network: one of them loses its power, or its
//! cable, in the middle of a task, and another goes on; or a hub loses its database, and
//! everybody goes to the other. Nothing is lost, nothing happens twice, and the person at
//! the laptop sees one story.

use std::{
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    groups::{GAVE, coders_log, finish, until_line},
    machines_world::{Company, PORT},
    person::Person,
    story::REQUEST,
    team::button,
};

const PAUSE: Duration = Duration::from_millis(50);

/// Asks for something, approves the plan, and waits until the Coder has changed the first
/// files; the thread, and which machine has it.
async fn begin(company: &Company, person: &Person) -> (String, usize) {
    let root = person.open(REQUEST).await;
    person.press(&root, "Plan", "approve").await.unwrap();
    until_line(person, &root, "First the tests").await;
    let first = coders_log(&company.machines[0].root(), person, &root);
    (root, usize::from(first.is_empty()))
}

/// The hubs have one log of the Coder, each part of it by one process, in which it gave
/// its work on once, and which another machine took up in the middle. For how many
/// milliseconds nobody wrote.
fn judge(company: &Company, thread: &Value) -> i64 {
    let lines = thread["records"].as_array().unwrap().iter();
    let own = lines.filter(|line| line["role"] == json!("coder"));
    let own: Vec<&Value> = own.map(|line| &line["entry"]).collect();
    let number = |line: &Value, field: &str| line[field].as_i64().unwrap();
    let written: Vec<(i64, i64)> = own
        .iter()
        .map(|line| (number(line, "epoch"), number(line, "at_ms")))
        .collect();
    assert!(written.is_sorted_by_key(|(epoch, _)| *epoch), "{written:?}");
    let silences = written.windows(2).map(|pair| pair[1].1 - pair[0].1);
    let longest = silences.max().unwrap();
    let text = |line: &&Value| line.to_string();
    let text: Vec<String> = own.iter().map(text).collect();
    let with = |part: &str| text.iter().filter(|line| line.contains(part)).count();
    assert_eq!(with(GAVE), 1);
    assert!(with("is lost, and you go on") > 0);
    assert_eq!(company.model.left_over(), Vec::<String>::new());
    longest
}

#[test]
fn a_machine_without_power_is_followed_by_another_in_the_middle_of_a_task() {
    let Some(company) = Company::start() else {
        return;
    };
    // Machines of the team meet hubs; the database is on a network of the hubs' own.
    let meets = |place: SocketAddr| {
        let laptop = &company.laptop.host;
        laptop.inside(|| TcpStream::connect_timeout(&place, Duration::from_secs(1)).is_ok())
    };
    assert!(meets(company.hubs[0].at(PORT)) && !meets(company.database));

    let thread = company.at_laptop(async |person| {
        let (root, old) = begin(&company, person).await;
        company.machines[old].host.power_off();
        finish(person, &company.scratch, &root).await
    });
    println!("nobody wrote for {} ms", judge(&company, &thread));
}

#[test]
fn a_machine_without_its_cable_is_followed_and_refused_when_it_is_back() {
    let Some(company) = Company::start() else {
        return;
    };
    let thread = company.at_laptop(async |person| {
        let (root, old) = begin(&company, person).await;
        company.machines[old].cable.pull();
        until_line(person, &root, "is lost, and you go on").await;
        // The first one is back in the middle of the other's work.
        company.machines[old].cable.plug();
        let is_told = "another process of this role works on the thread now";
        while !company.machines[old].says("coder", is_told) {
            tokio::time::sleep(PAUSE).await;
        }
        finish(person, &company.scratch, &root).await
    });
    println!("nobody wrote for {} ms", judge(&company, &thread));
}

#[test]
fn a_hub_without_its_database_is_left_by_everybody() {
    let Some(company) = Company::start() else {
        return;
    };
    let ready = format!("https://{}/readyz", company.hubs[0].at(PORT));
    company.at_laptop(async |person| {
        let root = person.open(REQUEST).await;
        let planned = |thread: &Value| button(thread, ":approve").is_some();
        person.until(&root, "a plan", planned).await.unwrap();
        company.to_database[0].pull();
        while person.status(&ready).await != Some(503) {
            tokio::time::sleep(PAUSE).await;
        }
        // All the rest is done by the other hub.
        person.press(&root, "Plan", "approve").await.unwrap();
        finish(person, &company.scratch, &root).await;
        company.to_database[0].plug();
        while person.status(&ready).await != Some(200) {
            tokio::time::sleep(PAUSE).await;
        }
    });
}
