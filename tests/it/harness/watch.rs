//! Watches of home timelines in a world.

use fanfold::app::App;
use fanfold::app::timeline::entry::Replies;
use fanfold::app::timeline::live::TimelineWatch;
use fanfold::app::timeline::seen::Seen;
use fanfold::app::timeline::{TimelinePage, TimelineQuery};
use fanfold::app::viewer::Viewer;
use fanfold::model::page::{Direction, Window};
use fanfold::model::reaction::ReactionSelection;
use fanfold::model::user::UserFields;

use crate::harness::world::{Person, World};

/// Returns the first page of the viewer's timeline.
pub(crate) async fn first_page(app: &App, viewer: &Viewer) -> TimelinePage {
    let window = Window { direction: Direction::Forward, size: 10, from: None };
    let query = TimelineQuery {
        window,
        author: UserFields::NONE,
        reactions: ReactionSelection::NONE,
        replies: Replies::default(),
        looks_back: false,
    };
    app.timeline(viewer, query).await.unwrap()
}

/// Returns the position of a client that has read the viewer's timeline.
pub(crate) async fn position(world: &World, person: &Person) -> Seen {
    let viewer = world.app.authenticate(&person.token).await.unwrap();
    first_page(&world.app, &viewer).await.seen().expect("the page begins at the top")
}

/// Watches the viewer's timeline after this position. The first look finds all changes until this call.
pub(crate) async fn watch_after(world: &World, person: &Person, position: &Seen) -> TimelineWatch {
    let viewer = world.app.authenticate(&person.token).await.unwrap();
    let after = Some(position.clone());
    world.app.watch_timeline(&viewer, after, UserFields::NONE, Replies::default()).await.unwrap()
}

/// Watches the viewer's timeline from now on.
pub(crate) async fn watch(world: &World, person: &Person) -> TimelineWatch {
    watch_after(world, person, &position(world, person).await).await
}
