//! Writes by other clients while a read is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fanfold::store::key::Keys;

use crate::ground::Redis;
use crate::world::World;

/// Time between two writes.
const PAUSE: Duration = Duration::from_millis(10);

/// A thread that writes users' records, each with its present content: caches must not tell the difference.
pub(crate) struct Writes {
    is_on: Arc<AtomicBool>,
}

impl Writes {
    pub(crate) fn begin(redis: &Redis, world: &World) -> Self {
        let is_on = Arc::new(AtomicBool::new(false));
        let mut connection = redis.client().get_connection().unwrap();
        let (keys, users, switch) = (Keys::new("ff:", 0), world.users.clone(), Arc::clone(&is_on));
        thread::spawn(move || {
            for user in users.iter().cycle() {
                thread::sleep(PAUSE);
                if switch.load(Ordering::Relaxed) {
                    let key = keys.user(*user);
                    let name: String =
                        redis::cmd("HGET").arg(&key).arg("display_name").query(&mut connection).unwrap();
                    let write = redis::cmd("HSET").arg(&key).arg("display_name").arg(name).to_owned();
                    write.exec(&mut connection).unwrap();
                }
            }
        });
        Self { is_on }
    }

    /// Turns the writes on or off.
    pub(crate) fn turn(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }
}
