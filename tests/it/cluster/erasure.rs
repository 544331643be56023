//! The erasure of an account while slots of a Redis Cluster move.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::viewer::Viewer;
use fanfold::model::id::UserId;
use fanfold::model::relation::MuteScope;

use crate::harness::cluster::Cluster;
use crate::harness::world::{ManualClock, PASSWORD, app_at};

/// Number of users, of whom the first is erased.
const USERS: u64 = 6;

fn id(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// Registers users, each of whom follows, mutes and views the first, as the first does each of them.
async fn users(app: &App) -> Vec<Viewer> {
    let mut users = Vec::new();
    for number in 1..=USERS {
        let opened = app.register(&format!("user{number}"), PASSWORD, None, None, None, None).await.unwrap();
        users.push(opened.viewer);
    }
    for other in 2..=USERS {
        for (viewer, user) in [(&users[0], other), (&users[usize::try_from(other).unwrap() - 1], 1)] {
            app.follow(viewer, id(user)).await.unwrap();
            app.mute(viewer, id(user), MuteScope::All, None).await.unwrap();
            app.record_views(viewer, &[id(user)]).await;
        }
    }
    users
}

/// Returns what is left of the first user: keys of the slot that do not expire, and entries in the slots of others.
fn left(cluster: &Cluster) -> Vec<String> {
    let mut left = Vec::new();
    for node in &cluster.nodes {
        for key in node.redis.raw::<Vec<String>>(&["KEYS", "*"]) {
            let read = match key.split_once("}:").map_or("", |(_, noun)| noun) {
                "muting" => "HKEYS",
                noun if noun.starts_with("ties") || noun.starts_with("viewed") => "SMEMBERS",
                noun if noun.starts_with("audience") || noun == "visit" => "SMEMBERS",
                _ => "",
            };
            let expires = [":void", ":fence:", ":changes:"].iter().any(|noun| key.contains(noun));
            let is_named = || !read.is_empty() && node.redis.raw::<Vec<u64>>(&[read, &key]).contains(&1);
            if !expires && (key.contains("{u1}") || is_named()) {
                left.push(key);
            }
        }
    }
    left
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_an_account_that_was_erased_while_slots_moved() {
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    let clock = ManualClock::new();
    let options = ["--account-deletion-grace", "0", "--account-registrations-per-address", "1000"];
    let app = app_at(&cluster.url(), directory.path().to_str().unwrap(), &clock, &options).await;
    let users = users(&app).await;
    assert!(left(&cluster).len() > 20, "{:?}", left(&cluster));
    app.delete_account(&users[0], Some(PASSWORD), None).await.unwrap();
    clock.advance(Duration::from_secs(61));
    // The slots of the erased user and of another are half moved, so the worker may have to leave the job to a later
    // one.
    let moving = ["ff:{u1}:user", "ff:{u2}:user"].map(|key| cluster.begin_to_move_slot(key));
    for moving in &moving {
        for key in moving.keys(5) {
            moving.move_key(&key);
        }
    }
    drop(app.work_on_accounts().await);
    for moving in moving {
        moving.end();
    }
    clock.advance(Duration::from_secs(61));
    app.work_on_accounts().await.unwrap();
    assert_eq!(left(&cluster), [""; 0]);
}
