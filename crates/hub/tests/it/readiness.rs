//! `/readyz` tells the truth: about the store, about the team.

use butler_hub::FrozenStore;
use butler_protocol::Role;

use crate::world::World;

async fn ready(world: &World) -> (u16, String) {
    let asked = world.http.get(world.base.join("readyz").unwrap()).send();
    let answer = asked.await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_hub_is_ready_when_it_writes_and_somebody_of_its_team_is_there() {
    let mut world = World::start().await;
    let alone = "store: ok, writes\nslack: ok, not used\nagents: 0 of 6 connected\n";
    assert_eq!(ready(&world).await, (503, alone.to_owned()));
    let socket = world.socket(Role::Pm).await;
    let (status, said) = ready(&world).await;
    assert_eq!(status, 200, "{said}");
    assert!(said.contains("agents: ok, 1 of 6 connected"), "{said}");

    // Alive, but nothing can be written: that is no hub to send work to.
    let frozen = FrozenStore::freeze(&world.dir.path().into())
        .unwrap()
        .unwrap();
    let (status, said) = ready(&world).await;
    assert_eq!(status, 503, "{said}");
    assert!(said.starts_with("store: "), "{said}");
    assert!(!said.starts_with("store: ok"), "{said}");
    drop(frozen);
    assert_eq!(ready(&world).await.0, 200);
    drop(socket);
    world.down().await;
}

#[tokio::test]
async fn a_balancer_lets_the_first_agent_through_to_a_hub_that_nobody_is_connected_to() {
    let mut world = World::start().await;
    let asked = async |path: &str| {
        let answer = world.http.get(world.base.join(path).unwrap()).send().await;
        let answer = answer.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(asked("readyz").await.0, 503);
    let writes = (200, "store: ok, writes\n".to_owned());
    assert_eq!(asked("readyz/store").await, writes);
    let frozen = FrozenStore::freeze(&world.dir.path().into())
        .unwrap()
        .unwrap();
    let (status, said) = asked("readyz/store").await;
    assert_eq!(status, 503, "{said}");
    drop(frozen);
    assert_eq!(asked("readyz/store").await, writes);
    world.down().await;
}
