//! Somebody is forgotten: nothing of what they said, sent or are called is left in the
//! store's file, and what the others did stays.

use std::{fs, path::PathBuf};

use butler_hub::{Tokens, verify_audit};
use butler_protocol::{
    BranchName, CommitSha, Entry, HandOver, PrNumber, PullNews, PullStatus, Record, RecordBatch,
    Role, Sha256Hex, Speaker, Standing,
};
use serde_json::json;

use crate::{
    views::{hand_over, news},
    world::World,
};

const NAME: &str = "ana maria";

/// Whether the store's files hold these bytes. Of a database those of its tables and
/// indexes; its log and its backups are not the hub's to change.
async fn holds(world: &World, words: &str) -> bool {
    let folder = match std::env::var("CODEBUTLER_TEST_DATABASE") {
        Ok(server) => tables_of(&server).await,
        Err(_) => world.dir.path().to_owned(),
    };
    any_file_holds(folder, words)
}

/// Whether a file below a folder holds these bytes.
pub(crate) fn any_file_holds(folder: PathBuf, words: &str) -> bool {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for file in fs::read_dir(folder).unwrap().flatten() {
            if file.path().is_dir() {
                folders.push(file.path());
                continue;
            }
            // Another test may have dropped a table of its own.
            let bytes = fs::read(file.path()).unwrap_or_default();
            let mut parts = bytes.windows(words.len());
            if parts.any(|part| part == words.as_bytes()) {
                return true;
            }
        }
    }
    false
}

/// Where a server keeps its tables, with everything written that it has in memory.
pub(crate) async fn tables_of(server: &str) -> PathBuf {
    let (client, connection) = tokio_postgres::connect(server, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    // As the server does by itself now and then: its figures about columns hold values too.
    client.batch_execute("ANALYZE").await.unwrap();
    client.batch_execute("CHECKPOINT").await.unwrap();
    let row = client.query_one("SHOW data_directory", &[]).await.unwrap();
    PathBuf::from(row.get::<_, String>(0)).join("base")
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_person_is_left_in_the_store_and_the_audit_still_holds() {
    let mut world = World::start().await;
    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let ana = tokens.ensure_person(NAME).unwrap();
    let said = json!({"channel": world.channel(), "text": "my cryptic plumage request"});
    let (status, answer) = world.person(&ana, "v1/messages", &said).await;
    assert_eq!(status, 200, "{answer}");
    let root = answer["ts"].as_str().unwrap().parse().unwrap();
    let thread = world.thread(&root);
    let form = reqwest::multipart::Form::new()
        .text("channel", world.channel().to_string())
        .text("thread_ts", root.to_string())
        .text("text", "and a file")
        .part(
            "file",
            reqwest::multipart::Part::bytes(b"walrus diaries".to_vec()).file_name("walrus.txt"),
        );
    let url = world.base.join("v1/messages").unwrap();
    let sent = world
        .http
        .post(url)
        .bearer_auth(ana.token.expose())
        .multipart(form);
    assert_eq!(sent.send().await.unwrap().status(), 200);
    // The others: a person who names her, and an agent that wrote down what she said.
    let pm = world.web(Role::Pm);
    let words = format!("{NAME} wants bananas and anagrams");
    pm.post(&world.post(&words, Some(&root), "k"))
        .await
        .unwrap();
    let record = Record::User {
        event: None,
        ts: Some(root.clone()),
        speaker: Speaker::Person {
            user: ana.user.clone(),
            name: NAME.to_owned(),
        },
        text: "my cryptic plumage request".to_owned(),
        images: Vec::new(),
    };
    let entry = Entry {
        seq: 1,
        epoch: 1,
        at_ms: 0,
        record,
    };
    let batch = RecordBatch {
        thread: thread.clone(),
        entries: vec![entry],
        end: None,
    };
    world.control(Role::Pm).records(&batch).await.unwrap();
    // What she said goes on its way in others' words: a hand-over, a pull request.
    let quoting = HandOver::ReadyForReview {
        summary: format!("{NAME} said:\n> my cryptic plumage request\nand it is done"),
        branch: BranchName::new("codebutler/it-abc123"),
        head: CommitSha::new("0123456789abcdef0123456789abcdef01234567"),
        pr: PrNumber(7),
        receipt: None,
        round: 1,
        task: None,
        pictures: vec![],
        look: false,
    };
    hand_over(&world, &root, Role::Coder, &quoting).await;
    let pull = PullNews {
        title: format!("What {NAME} wants"),
        body: "> my cryptic plumage request\n\nfor bananas".to_owned(),
        ..news(&world, &root, PullStatus::Open, None)
    };
    world.control(Role::Coder).pull(&pull).await.unwrap();
    world.say("and ben's wish", None).await;
    world.down().await;

    for words in [NAME, "plumage", "walrus"] {
        assert!(holds(&world, words).await, "{words}");
    }
    let before = verify_audit(&tokens.audit().unwrap()).unwrap();
    let erased = tokens.erase(NAME).unwrap();
    assert_eq!((erased.messages, erased.files, erased.records), (2, 1, 1));
    drop(tokens);
    for words in [NAME, "plumage", "cryptic", "walrus", "diaries"] {
        assert!(!holds(&world, words).await, "{words} is still there");
    }
    assert!(holds(&world, "bananas").await && holds(&world, "anagrams").await);
    assert!(holds(&world, "ben's wish").await);

    let mut tokens = Tokens::open(world.dir.path()).unwrap();
    let lines = tokens.audit().unwrap();
    verify_audit(&lines).unwrap();
    assert!(
        lines.iter().any(|line| line.hash == before),
        "the chain goes on"
    );
    assert_eq!(tokens.contradicts_audit().unwrap(), None);
    // A name that somebody else takes out is found.
    let mut forged = lines.clone();
    let victim = forged.iter_mut().find(|line| !line.entry.name.is_empty());
    victim.unwrap().entry.name.clear();
    verify_audit(&forged).unwrap_err();
    assert!(tokens.erase("nobody").is_err() && tokens.erase("you").is_err());
    // Who comes back has a name again, and nothing of before.
    tokens.invite(NAME, Standing::Guest).unwrap();
    let people = tokens.people().unwrap();
    assert!(people.iter().any(|one| one.name == NAME), "{people:?}");
    drop(tokens);

    world.up().await;
    let view = world.get(&world.ana, &format!("v1/threads/{thread}")).await;
    assert_eq!(view["messages"][0]["text"], "(erased)", "{view}");
    let told = view["messages"][2]["text"].as_str().unwrap();
    assert_eq!(told, "somebody wants bananas and anagrams");
    // Who was handed it still gets it, under the hash that the message names.
    let said = world.web(Role::Reviewer).replies(&thread).await.unwrap();
    let tag = said.iter().find_map(|message| message.tag()?.hand_over);
    let tag = tag.unwrap();
    let body = world.control(Role::Reviewer).get_body(&tag.body).await;
    let body = body.unwrap();
    assert_eq!(Sha256Hex::of(&body), tag.sha256);
    let body: HandOver = serde_json::from_slice(&body).unwrap();
    let HandOver::ReadyForReview { summary, .. } = body else {
        panic!("{body:?}");
    };
    assert_eq!(summary, "somebody said:\n> (erased)\nand it is done");
    let hits = world.get(&world.ana, "v1/search?q=plumage").await;
    assert_eq!(hits["hits"], json!([]), "{hits}");
}
