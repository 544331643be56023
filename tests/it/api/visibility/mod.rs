//! What each viewer sees, against a naive model: random worlds of follows, requests, blocks, mutes, private accounts
//! and posts, hot and archived.

mod model;
mod posts;
mod users;
mod window;
mod world;

use crate::api::visibility::world::Play;
use crate::harness::case::{self, cases};
use crate::harness::sql::{Database, Kind};

/// Plays a random world. Returns the number of viewers and objects that were compared.
async fn play(kind: Kind, strategy: &str, seed: u64, rounds: u32) -> usize {
    let database = Database::new(kind).await;
    let mut play = Play::new(&database, strategy, case::seed(seed)).await;
    for _ in 0..rounds {
        play.round(32).await;
    }
    let cold = play.model.posts.iter().filter(|post| {
        let key = format!("ff:{{p{}}}:post", post.number);
        !post.is_deleted && play.world.redis.raw::<u64>(&["HEXISTS", &key, "author"]) == 0
    });
    assert!(cold.count() > 0, "some posts are archived");
    play.pairs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_viewer_sees_what_a_naive_model_says() {
    let rounds = cases(3);
    let plays = (0..).zip(["hybrid", "push", "pull"]);
    let plays: Vec<_> =
        plays.map(|(seed, strategy)| tokio::spawn(play(Kind::Sqlite, strategy, seed, rounds))).collect();
    let mut pairs = 0;
    for play in plays {
        pairs += play.await.unwrap();
    }
    assert!(pairs >= 1_700 * rounds as usize, "{pairs} pairs");
}

mod archived {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn mariadb() {
        Box::pin(play(Kind::Mariadb, "hybrid", 3, 1)).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        Box::pin(play(Kind::Postgres, "pull", 4, 1)).await;
    }
}
