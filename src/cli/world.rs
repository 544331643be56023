//! Bringing a world of users and follows into the store, however it was come by.

use std::fmt;
use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::app::import::{ImportFollow, ImportedFollows};
use crate::app::user::Newcomer;
use crate::cli::progress;
use crate::model::clock::Timestamp;

/// How many users or follows go into the store together.
const CHUNK: usize = 5_000;

/// Users, and who of them follows whom since when.
pub(super) struct World {
    pub(super) users: Vec<Newcomer>,
    /// Indices of `users`: who follows, and who is followed.
    pub(super) follows: Vec<(u32, u32)>,
    /// When the follow of this index was made.
    pub(super) time: Box<dyn Fn(usize) -> Timestamp + Send + Sync>,
}

/// What was done.
pub(super) struct Loaded {
    users: usize,
    created: usize,
    follows: usize,
    imported: ImportedFollows,
    took: Duration,
}

impl World {
    /// Brings the world in. What is there already stays as it is.
    pub(super) async fn load(self, app: &App) -> Result<Loaded, Error> {
        let began = app.now();
        let (users, follows) = (self.users.len(), self.follows.len());
        let mut ids = Vec::with_capacity(users);
        let mut created = 0;
        let bar = progress::bar("users", users as u64);
        for chunk in self.users.chunks(CHUNK) {
            let imported = app.import_users(chunk.to_vec()).await?;
            ids.extend(imported.ids);
            created += imported.created;
            bar.inc(chunk.len() as u64);
        }
        bar.finish_and_clear();

        let mut imported = ImportedFollows::default();
        let bar = progress::bar("follows", follows as u64);
        for (number, chunk) in self.follows.chunks(CHUNK).enumerate() {
            let follow = |(index, &(follower, followee)): (usize, &(u32, u32))| ImportFollow {
                follower: ids[follower as usize],
                followee: ids[followee as usize],
                at: (self.time)(number * CHUNK + index),
            };
            imported += app.import_follows(chunk.iter().enumerate().map(follow).collect()).await?;
            bar.inc(chunk.len() as u64);
        }
        bar.finish_and_clear();
        Ok(Loaded { users, created, follows, imported, took: app.now().since(began) })
    }
}

impl fmt::Display for Loaded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { users, created, follows, imported, took } = self;
        let ImportedFollows { added, already, refused } = imported;
        writeln!(formatter, "users:   {users}, of which {created} are new")?;
        write!(formatter, "follows: {follows}, of which {added} are new, {already} were there")?;
        if *refused > 0 {
            write!(formatter, ", {refused} were refused by the follow limit")?;
        }
        write!(formatter, "\ntook {:.1} s", took.as_secs_f64())
    }
}
