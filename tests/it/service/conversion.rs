//! Lists of referrers that earlier versions have written are converted, whatever interrupts that.

use fanfold::app::App;
use fanfold::app::check::Conversion;
use fanfold::app::check::Finding;
use fanfold::app::post::PublishRequest;
use fanfold::gate::Moment;
use fanfold::model::id::PostId;
use std::time::Duration;

use crate::harness::check::check;
use crate::harness::conversation::{Conversation, publish};
use crate::harness::graph::Graph;
use crate::harness::server::Server;
use crate::harness::sql::{Kind, on_every_kind};
use crate::harness::turnstile::Actor;
use crate::harness::wait::eventually;
use crate::harness::world::{World, app};

/// A store as an earlier version has left it, of more users than are converted at a time.
struct Earlier {
    conversation: Conversation,
    /// A hot post of the last user.
    late: u64,
    /// What is to be stored about the lists.
    well: Vec<String>,
}

impl Earlier {
    async fn new(kind: Kind) -> Self {
        let conversation = Conversation::new(kind).await;
        let Conversation { world, viewers, archived, .. } = &conversation;
        Graph { users: 600, follows: Vec::new() }.load(&world.app, None).await;
        let person = world.register("late").await;
        let author = world.app.authenticate(&person.token).await.unwrap();
        let late = publish(world, &author, PublishRequest::default()).await;
        for target in [late, *archived] {
            let request = PublishRequest { in_reply_to: PostId::new(target), ..PublishRequest::default() };
            publish(world, &viewers[2], request).await;
        }
        let mut earlier = Self { conversation, late, well: Vec::new() };
        earlier.well = earlier.stored().await;
        earlier.write().await;
        earlier
    }

    /// Writes everything as an earlier version did. It counts all public posts.
    async fn write(&self) {
        self.conversation.write_earlier_lists(self.conversation.hot, "1 4 1");
        self.conversation.write_earlier_lists(self.late, "0 1 0");
        self.conversation.write_earlier_archive("1 5 1").await;
    }

    /// Returns everything that is stored about the lists.
    async fn stored(&self) -> Vec<String> {
        let mut stored = self.conversation.stored().await;
        stored.extend(self.conversation.stored_in_redis(self.late));
        stored
    }

    fn progress(&self) -> Option<String> {
        progress(&self.conversation.world)
    }

    /// Returns another server's application over the same data.
    async fn server(&self) -> App {
        let world = &self.conversation.world;
        app(&world.redis, &world.clock, &self.conversation.options()).await
    }

    /// Asserts that everything is converted.
    async fn assert_converted(&self) {
        assert_eq!(self.progress().as_deref(), Some("done"));
        assert_eq!(check(&self.conversation.world.app, false).await.faults(), 0);
        assert_eq!(self.stored().await, self.well);
    }
}

fn progress(world: &World) -> Option<String> {
    world.redis.raw(&["HGET", "ff:{g}:layout", "entry_kinds"])
}

async fn convert_all(app: &App) {
    while app.convert_entries().await.unwrap() != Conversion::Done {}
}

async fn lists_of_an_earlier_version_are_converted(kind: Kind) {
    let earlier = Earlier::new(kind).await;
    let world = &earlier.conversation.world;
    let found = check(&world.app, false).await;
    assert_eq!((found[Finding::WrongReferrals], found[Finding::MiscountedReferrals]), (4 + 5 + 1, 2));
    let server = earlier.server().await;
    let mut seen = Vec::new();
    while server.convert_entries().await.unwrap() != Conversion::Done {
        seen.push(earlier.progress().unwrap());
    }
    assert_eq!(seen[..3], ["users:0", "users:500", "posts:0"]);
    let others = seen[3..].iter().map(|progress| progress.split(':').next().unwrap());
    assert_eq!(others.collect::<Vec<_>>(), ["posts", "lists", "lists", "done"]);
    let features: String = world.redis.raw(&["HGET", "ff:{g}:layout", "features"]);
    assert!(features.split(' ').any(|feature| feature == "entry_kinds"), "{features}");
    earlier.assert_converted().await;
}

on_every_kind! {
    lists_of_an_earlier_version_are_converted;
}

#[tokio::test]
async fn an_interrupted_conversion_goes_on_where_it_was() {
    let earlier = Earlier::new(Kind::Sqlite).await;
    let world = &earlier.conversation.world;
    let order = |progress: Option<String>| {
        let progress = progress.unwrap_or_default();
        let (part, last) = progress.split_once(':').unwrap_or((&progress, "0"));
        let parts = ["", "users", "posts", "lists", "done"];
        (parts.iter().position(|other| *other == part).unwrap(), last.parse::<u64>().unwrap())
    };
    let mut reached = order(earlier.progress());
    for batches in 1.. {
        let work = async |app: App| convert_all(&app).await;
        let mut actor = Actor::begin(&world.app, work).await;
        actor.send_batches(batches).await;
        let is_done = actor.waits.is_none();
        actor.interrupt().await;
        let now = order(earlier.progress());
        assert!(now >= reached, "{now:?} after {reached:?}");
        reached = now;
        if is_done {
            break;
        }
    }
    // What was interrupted while it was written has an intent.
    world.clock.advance(Duration::from_secs(70));
    world.app.repair().await.unwrap();
    earlier.assert_converted().await;
}

#[tokio::test]
async fn a_server_that_is_overtaken_does_not_take_the_conversion_back() {
    let earlier = Earlier::new(Kind::Sqlite).await;
    let world = &earlier.conversation.world;
    assert_eq!(world.app.convert_entries().await.unwrap(), Conversion::Advanced);
    let portion = async |app: App| {
        assert_eq!(app.convert_entries().await.unwrap(), Conversion::Overtaken);
    };
    let mut slow = Actor::begin(&world.app, portion).await;
    slow.step_to(Moment::Before, "convert: advance").await;
    assert!(slow.waits.is_some(), "it has converted a portion");
    convert_all(&earlier.server().await).await;
    slow.finish().await;
    earlier.assert_converted().await;
}

#[tokio::test]
async fn without_the_archive_the_conversion_waits() {
    let earlier = Earlier::new(Kind::Sqlite).await;
    let world = &earlier.conversation.world;
    let away = ["--archive-url", "mysql://fanfold@localhost/fanfold?socket=/nowhere/socket"];
    let without = app(&world.redis, &world.clock, &away).await;
    assert_eq!(without.convert_entries().await.unwrap(), Conversion::Advanced);
    for _ in 0..2 {
        assert!(without.convert_entries().await.unwrap_err().is_archive_away());
        assert_eq!(earlier.progress().as_deref(), Some("users:0"));
    }
    convert_all(&earlier.server().await).await;
    earlier.assert_converted().await;
}

#[tokio::test]
async fn a_new_store_has_nothing_to_convert() {
    let world = World::new().await;
    assert_eq!(world.app.convert_entries().await.unwrap(), Conversion::Advanced);
    assert_eq!(progress(&world).as_deref(), Some("done"));
    assert_eq!(world.app.convert_entries().await.unwrap(), Conversion::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_convert_when_they_start() {
    let earlier = Earlier::new(Kind::Sqlite).await;
    let conversation = &earlier.conversation;
    let servers = [(); 2].map(|()| Server::over(&conversation.world.redis, &conversation.options()));
    assert!(eventually(|| earlier.progress().as_deref() == Some("done")));
    earlier.assert_converted().await;
    for server in servers {
        assert_eq!(server.stop(), Some(0));
    }
}
