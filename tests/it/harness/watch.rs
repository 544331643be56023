//! Watches of home timelines in a world.

use fanfold::app::timeline::entry::Replies;
use fanfold::app::timeline::live::TimelineWatch;
use fanfold::app::timeline::seen::Seen;
use fanfold::app::timeline::{TimelinePage, TimelineQuery};
use fanfold::model::page::{Direction, Window};
use fanfold::model::user::UserFields;

use crate::harness::world::{Person, World};

/// Returns the position of a client that has read the viewer's timeline, which must not be empty.
pub(crate) async fn position(world: &World, person: &Person) -> Seen {
    let viewer = world.app.authenticate(&person.token).await.unwrap();
    let window = Window { direction: Direction::Forward, size: 10, from: None };
    let query =
        TimelineQuery { window, author: UserFields::NONE, replies: Replies::default(), looks_back: false };
    let page: TimelinePage = world.app.timeline(&viewer, query).await.unwrap();
    page.seen_from(0)
}

/// Watches the viewer's timeline after this position. The first look finds all changes until this call.
pub(crate) async fn watch_after(world: &World, person: &Person, position: &Seen) -> TimelineWatch {
    let viewer = world.app.authenticate(&person.token).await.unwrap();
    let after = Some(position.clone());
    world.app.watch_timeline(&viewer, after, UserFields::NONE, Replies::default()).await.unwrap()
}

/// Watches the viewer's timeline, which must not be empty, from now on.
pub(crate) async fn watch(world: &World, person: &Person) -> TimelineWatch {
    watch_after(world, person, &position(world, person).await).await
}
