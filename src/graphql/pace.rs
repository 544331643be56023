//! Subscription pacing: decides when a subscription's next event is read.
//!
//! An event is charged and takes a place on its connection before anything is loaded for it. An event that waits for
//! tokens or for a slow client is therefore only an id.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_graphql::parser::types::{ExecutableDocument, Selection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::App;
use crate::app::charge::Charge;
use crate::app::viewer::Viewer;
use crate::graphql::error::GraphqlResponse;
use crate::graphql::turn::{Turn, Turns};
use crate::model::address::Address;

/// Objects per place. A larger operation takes several places.
const OBJECTS: u64 = 125;

/// A connection's capacity for operations in execution and responses waiting to be sent.
#[derive(Clone)]
pub struct Room {
    places: Arc<Semaphore>,
    most: u32,
}

/// Capacity taken by an operation or an event, released on drop.
pub struct Permit {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Creates capacity for `places` small operations, or for one operation of the maximum cost.
    #[must_use]
    pub fn new(places: u32) -> Self {
        Self { places: Arc::new(Semaphore::new(places as usize)), most: places }
    }

    /// Waits for capacity to execute an operation of this predicted cost.
    pub async fn enter(&self, objects: u64) -> Permit {
        let needed = u32::try_from(objects.div_ceil(OBJECTS)).unwrap_or(u32::MAX).clamp(1, self.most);
        Permit { _permit: Arc::clone(&self.places).acquire_many_owned(needed).await.ok() }
    }
}

/// Counts the selections of a document in its executable form, in which fragments are already spread.
pub(super) fn selections(document: &ExecutableDocument) -> usize {
    let mut open: Vec<_> = document.operations.iter().map(|(_, one)| &one.node.selection_set.node).collect();
    let mut count = 0;
    while let Some(set) = open.pop() {
        count += set.items.len();
        open.extend(set.items.iter().filter_map(|selection| match &selection.node {
            Selection::Field(field) => Some(&field.node.selection_set.node),
            Selection::InlineFragment(fragment) => Some(&fragment.node.selection_set.node),
            Selection::FragmentSpread(_) => None,
        }));
    }
    count
}

/// An event with the permits it holds.
pub struct Paced {
    /// The response to the event.
    pub answer: GraphqlResponse,
    /// The event's place on the connection, held until the response is sent.
    pub place: Option<Permit>,
    /// The event's turn, held until the response is serialized.
    pub turn: Turn,
}

/// The pace of one subscription.
pub(super) struct Pace {
    app: App,
    viewer: Viewer,
    charge: Option<Charge>,
    space: Space,
    event: Mutex<Event>,
}

/// The limited resources that an event waits for.
pub(super) struct Space {
    /// The connection's capacity; `None` if the subscription has its own connection.
    pub(super) room: Option<Room>,
    /// The turns that all operations of the process share.
    pub(super) turns: Turns,
    /// The client's address, if known.
    pub(super) address: Option<Address>,
    /// The predicted cost of an event.
    pub(super) cost: u64,
}

/// The state of the event being read, or of the next event.
#[derive(Default)]
struct Event {
    is_charged: bool,
    place: Option<Permit>,
    turn: Turn,
}

impl Pace {
    pub(super) fn new(app: App, viewer: Viewer, charge: Option<Charge>, space: Space) -> Self {
        Self { app, viewer, charge, space, event: Mutex::default() }
    }

    /// Waits until the next event may be read. Further calls then return at once until the event is passed on.
    pub(super) async fn enter(&self) {
        if !self.event().is_charged {
            self.app.wait_for_allowance(&self.viewer, self.charge).await;
            self.event().is_charged = true;
        }
        let Space { room, turns, address, cost } = &self.space;
        if let Some(room) = room.as_ref().filter(|_| self.event().place.is_none()) {
            let place = room.enter(*cost).await;
            self.event().place = Some(place);
        }
        let turn = turns.enter(*cost, *address).await;
        self.event().turn = turn;
    }

    /// Releases the place and the turn while no event can be read. The event stays charged.
    pub(super) fn step_back(&self) {
        let mut event = self.event();
        (event.place, event.turn) = (None, Turn::default());
    }

    /// Passes on the event with its place and its turn. The next event is charged separately.
    pub(super) fn pass_on(&self) -> (Option<Permit>, Turn) {
        let Event { place, turn, .. } = std::mem::take(&mut *self.event());
        (place, turn)
    }

    fn event(&self) -> MutexGuard<'_, Event> {
        self.event.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
