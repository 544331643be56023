//! Connections to Redis that break at any byte: each read is right or fails.

use std::net::{Shutdown, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::error::{Broken, Error};
use fanfold::app::relation::read::UserList;
use fanfold::app::viewer::Viewer;
use fanfold::app::visibility::{Access, UserSelection, Visible};
use fanfold::model::id::UserId;
use fanfold::model::page::{Direction, Window};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::relation::ListKind;
use fanfold::model::rng::Rng;
use fanfold::model::user::UserFields;
use futures::future::join_all;

use crate::harness::case;
use crate::harness::world::{Redis, World, app_at};

/// A cable to a Redis. While it is bad, it delivers bytes in small pieces with pauses, and breaks now and then.
struct Cable {
    port: u16,
    is_bad: Arc<AtomicBool>,
}

impl Cable {
    fn to(redis: &Redis, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_bad, rng) = (Arc::<AtomicBool>::default(), Arc::new(Rng::from_seed(case::seed(seed))));
        let (bad, path) = (Arc::clone(&is_bad), redis.socket());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&path) else { return };
                let ends = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let break_both = move || {
                    let _ = (ends.0.shutdown(Shutdown::Both), ends.1.shutdown(Shutdown::Both));
                };
                let break_both = Arc::new(break_both);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                forward((from, to), (&bad, &rng), Arc::clone(&break_both));
                forward((server, client), (&bad, &rng), break_both);
            }
        });
        Self { port, is_bad }
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

fn forward(
    (mut from, mut to): (impl std::io::Read + Send + 'static, impl std::io::Write + Send + 'static),
    (is_bad, rng): (&Arc<AtomicBool>, &Arc<Rng>),
    break_both: Arc<impl Fn() + Send + Sync + 'static>,
) {
    let (is_bad, rng) = (Arc::clone(is_bad), Arc::clone(rng));
    thread::spawn(move || {
        let mut bytes = [0; 4_096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let mut rest = &bytes[..count];
            while !rest.is_empty() {
                let is_bad = is_bad.load(Ordering::Relaxed);
                let most = if is_bad { 1 + usize::try_from(rng.nonce() % 300).unwrap() } else { rest.len() };
                let (piece, later) = rest.split_at(most.min(rest.len()));
                rest = later;
                if to.write_all(piece).is_err() || (is_bad && rng.nonce().is_multiple_of(60)) {
                    return break_both();
                }
                if is_bad && rng.nonce().is_multiple_of(10) {
                    thread::sleep(Duration::from_micros(300));
                }
            }
        }
        break_both();
    });
}

/// Reads some users with their relations to the viewer, and a list.
async fn read(app: &App, viewer: &Viewer, users: &[UserId]) -> Result<String, Error> {
    let visible = Visible { app, load: app, viewer };
    let fields = UserFields::DISPLAY_NAME | UserFields::BIO;
    let users = visible
        .users(
            users.into(),
            UserSelection { fields, relation: true, requester: true, reactions: ReactionSelection::NONE },
            Access::Direct,
        )
        .await?;
    let list = UserList { kind: ListKind::Followers, owner: viewer.user().unwrap() };
    let window = Window { direction: Direction::Forward, size: 5, from: None };
    Ok(format!("{users:?} {:?}", visible.user_page(list, window).await?.page.entries))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_a_cable_that_breaks_at_any_byte_each_read_is_right_or_fails() {
    const PEOPLE: u64 = 12;
    let world = World::own(&[]).await;
    let people = world.people(usize::try_from(PEOPLE).unwrap()).await;
    for (index, follower) in people.iter().enumerate() {
        for (other, followee) in people.iter().enumerate() {
            if index != other && index * other % 3 == 1 {
                world.follow(follower, followee).await;
            }
        }
    }
    let cable = Cable::to(&world.redis, 16);
    let distant = app_at(&cable.url(), world.redis.directory(), &world.clock, &[]).await;
    cable.is_bad.store(true, Ordering::Relaxed);
    let mut viewers = Vec::new();
    for person in &people {
        viewers.push(world.app.authenticate(&person.token).await.unwrap());
    }
    let id = |number: u64| UserId::new(1 + number % PEOPLE).unwrap();
    let reader = async |seed: u64| {
        let (rng, mut right) = (Rng::from_seed(case::seed(seed)), 0);
        for _ in 0..100 {
            let viewer = &viewers[usize::try_from(rng.nonce() % PEOPLE).unwrap()];
            let others: Vec<UserId> = (0..=rng.nonce() % PEOPLE).map(|_| id(rng.nonce())).collect();
            match read(&distant, viewer, &others).await {
                Ok(found) => {
                    assert_eq!(found, read(&world.app, viewer, &others).await.unwrap());
                    right += 1;
                }
                Err(Error::Broken(Broken::Unreachable(_))) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        right
    };
    let right: Vec<u32> = join_all((0..8).map(reader)).await;
    assert!(right.iter().sum::<u32>() > 400, "retries succeed: {right:?}");
    cable.is_bad.store(false, Ordering::Relaxed);
    let right = join_all((10..18).map(reader)).await;
    assert!(right.iter().all(|right| *right >= 99), "broken connections are replaced: {right:?}");
}
