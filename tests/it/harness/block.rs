//! Many users who block a viewer.

use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::store::batch::Batch;
use fanfold::store::compact;

use crate::harness::world::World;

/// Adds users with ids from 100,000 on to those who block the viewer, without their blocks.
pub(crate) async fn add_blockers(world: &World, viewer: u64, count: u64) {
    let store = world.app.store();
    let set = store.keys().blockers(UserId::new(viewer).unwrap());
    let mut batch = Batch::new("test");
    let add = |number| {
        let member = UserId::new(100_000 + number).unwrap();
        batch.push(compact::add(&set, member, Timestamp::from_millis(1)))
    };
    let tickets = (0..count).map(add).collect();
    batch.send(store).await.unwrap().take_all(tickets).unwrap();
}
