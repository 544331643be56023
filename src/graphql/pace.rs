//! Subscription pacing: decides when a subscription's next event is read.
//!
//! An event takes a place on its connection before any data is loaded for it. It is charged once it is known that the
//! viewer may see it, so that an event that the viewer may not see leaves no trace in the bucket. If the bucket has too
//! few tokens, the event gives up its place, and is read again after it has waited. An event that waits for tokens or
//! for a slow client therefore occupies only the memory of an id, and what is sent is what the viewer may see by then.
//! At most one read per wait is not paid before it is made, and the fields of the event's objects are loaded after
//! payment.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::App;
use crate::app::charge::Charge;
use crate::app::viewer::Viewer;
use crate::graphql::error::GraphqlResponse;
use crate::graphql::turn::{Turn, Turns};
use crate::model::address::Address;

/// Number of objects per place on a connection. A larger operation takes several places.
const OBJECTS: u64 = 125;

/// A connection's capacity, in places, for operations in execution and responses waiting to be sent.
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

/// The response to an event, with the permits that the event holds.
pub struct Paced {
    /// The response to the event.
    pub answer: GraphqlResponse,
    /// The event's place on the connection, held until the response is sent.
    pub place: Option<Permit>,
    /// The event's turn, held until the response is serialized.
    pub turn: Turn,
}

/// The pacing state of one subscription.
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

    /// Waits until the next event may be read, and takes a place and a turn for it.
    pub(super) async fn enter(&self) {
        let Space { room, turns, address, cost } = &self.space;
        if let Some(room) = room.as_ref().filter(|_| self.event().place.is_none()) {
            let place = room.enter(*cost).await;
            self.event().place = Some(place);
        }
        let turn = turns.enter(*cost, *address).await;
        self.event().turn = turn;
    }

    /// Charges the event that was read, and that the viewer may see, unless it is already charged. Returns true if it
    /// may be sent. Otherwise, releases the place and the turn, waits until the bucket has enough tokens, takes them,
    /// and returns false: the event must be read again, since it may have changed meanwhile.
    pub(super) async fn charge(&self) -> bool {
        if self.event().is_charged || self.app.charge_event(&self.viewer, self.charge).await {
            return true;
        }
        self.step_back();
        self.app.wait_to_charge_event(&self.viewer, self.charge).await;
        self.event().is_charged = true;
        false
    }

    /// Releases the place and the turn because there was no event to send. If the event has waited for tokens, the next
    /// event counts as already charged.
    pub(super) fn step_back(&self) {
        let mut event = self.event();
        (event.place, event.turn) = (None, Turn::default());
    }

    /// Returns the place and the turn of the event that was read. The next event is charged separately.
    pub(super) fn pass_on(&self) -> (Option<Permit>, Turn) {
        let Event { place, turn, .. } = std::mem::take(&mut *self.event());
        (place, turn)
    }

    fn event(&self) -> MutexGuard<'_, Event> {
        self.event.lock()
    }
}
