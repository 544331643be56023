//! Writes by other clients while a read is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fanfold::store::key::{Key, Keys, Record};
use redis::{Connection, RedisResult};

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
                if !switch.load(Ordering::Relaxed) {
                    continue;
                }
                match write_again(&mut connection, &keys.user(*user)) {
                    // Redis ends before this thread does.
                    Err(error) if error.is_io_error() => return,
                    written => written.unwrap(),
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

/// Writes a user's record with its present content.
fn write_again(connection: &mut Connection, record: &Key<Record>) -> RedisResult<()> {
    let name: String = redis::cmd("HGET").arg(record).arg("display_name").query(connection)?;
    redis::cmd("HSET").arg(record).arg("display_name").arg(name).exec(connection)
}
