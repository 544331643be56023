//! Measures what the erasure of an account costs in a large store: seconds of Redis for each account, when one is due
//! and when a hundred are, and the slowest command.
//!
//! `cargo bench` measures among ten million keys; `cargo test` only checks that the bench works, with a few.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

mod ground;
#[path = "ground/people.rs"]
mod people;
#[path = "ground/usage.rs"]
mod usage;

use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::post::NewPost;
use fanfold::model::clock::{Clock as _, Day, SystemClock};
use fanfold::model::details::References;
use fanfold::model::id::UserId;
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::post::{Content, Visibility};
use fanfold::model::relation::{Mute, MuteScope};
use fanfold::store::batch::Batch;
use fanfold::store::{audience, exclusion, tie};
use redis::{Connection, FromRedisValue, cmd};

use crate::ground::{Redis, is_measured};
use crate::people::users;
use crate::usage::used;

/// The amount of data.
struct Sizes {
    /// Keys of others, at least.
    keys: u64,
    /// Accounts that are erased together.
    together: usize,
    /// Follows, followers, mutes and views on each side, and posts of an erased account.
    each: usize,
}

/// Writes the records and lists of the users from ARGV[1] to ARGV[2], and four posts of each: some twelve keys a user.
const FILL: &str = "
local call = redis.call
for user = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local own = 'ff:{u' .. user .. '}:'
  call('HSET', own .. 'user', 'username', 'user_' .. user, 'display_name', 'User ' .. user, 'created_at', 1700000000000)
  call('HSET', own .. 'secret', 'password', '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$' .. user)
  call('HSET', own .. 'sessions', 'token' .. user, 'id\\t1700000000000\\t1700000000000\\t1900000000000\\t')
  for _, list in ipairs({ 'following', 'followers' }) do
    for other = 1, 5 do call('ZADD', own .. list, 1700000000000 + other, user + other) end
  end
  call('RPUSH', own .. 'posts', user * 4 + 3, user * 4 + 2, user * 4 + 1, user * 4)
  call('ZADD', own .. 'recent', 1, user * 4, 2, user * 4 + 1)
  if user % 3 == 0 then call('HSET', own .. 'muting', user + 1, '1700000000000::all') end
  if user % 2 == 0 then call('SADD', own .. 'audience:' .. ARGV[3] .. ':0', user + 1, user + 2, user + 3) end
  for post = user * 4, user * 4 + 3 do
    call('HSET', 'ff:{p' .. post .. '}:post', 'author', user, 'content', 'a short post', 'created_at', 1700000000000)
  end
end";
/// Duration from which Redis logs a command, in microseconds.
const LOGGED: u64 = 100;
/// Users whom one call of the script writes.
const FILLED: u64 = 1_000;
/// The first of them, far above the users who are erased.
const FIRST: u64 = 1_000_000_000;

#[tokio::main]
async fn main() {
    let sizes = if is_measured() {
        Sizes { keys: 10_000_000, together: 100, each: 20 }
    } else {
        Sizes { keys: 1_000, together: 3, each: 2 }
    };
    let redis = Redis::start(None);
    let app = redis.app(&["--post-hot-limit", "1000"]).await;
    let mut bench = Bench { connection: redis.client().get_connection().unwrap(), app };
    bench.ask::<()>(&["CONFIG", "SET", "slowlog-log-slower-than", &LOGGED.to_string()]);
    let people = users(&bench.app, sizes.together + 1 + sizes.each).await;
    let (leavers, others) = people.split_at(sizes.together + 1);
    for &leaver in leavers {
        bench.live(leaver, others).await;
    }
    bench.fill(sizes.keys);
    let keys: u64 = bench.ask(&["DBSIZE"]);
    println!("{keys} keys; accounts with {} follows, followers, mutes, views and posts each", sizes.each);
    println!("accounts due   seconds of Redis each   seconds each   slowest command, in microseconds");
    bench.measure(&leavers[..1]).await;
    bench.measure(&leavers[1..]).await;
}

struct Bench {
    app: App,
    connection: Connection,
}

impl Bench {
    fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = cmd(words[0]);
        command.arg(&words[1..]).query(&mut self.connection).unwrap()
    }

    /// Writes keys until there are at least this many.
    fn fill(&mut self, keys: u64) {
        let today = Day::of(SystemClock.now()).number().to_string();
        let mut first = FIRST;
        while self.ask::<u64>(&["DBSIZE"]) < keys {
            let [from, to] = [first, first + FILLED - 1].map(|user| user.to_string());
            self.ask::<()>(&["EVAL", FILL, "0", &from, &to, &today]);
            first += FILLED;
        }
    }

    /// Gives a user follows, followers, mutes and views on both sides, and posts.
    async fn live(&self, leaver: UserId, others: &[UserId]) {
        let at = SystemClock.now();
        let edges = others.iter().flat_map(|&other| {
            [(leaver, other), (other, leaver)].map(|(follower, followee)| ImportFollow {
                follower,
                followee,
                at,
            })
        });
        self.app.import_follows(edges.collect()).await.unwrap();
        let store = self.app.store();
        let keys = store.keys();
        let both = || others.iter().flat_map(|&other| [(leaver, other), (other, leaver)]);
        let mut batch = Batch::new("bench: live");
        let noted = both().flat_map(|(one, other)| {
            let day = Day::of(at);
            let view = audience::record(keys, other, day, one);
            [tie::add(keys, one, other), audience::note(keys, one, day, other), view]
        });
        let noted = noted.map(|command| batch.push(command)).collect();
        let mute = Mute { since: at, until: None, scope: MuteScope::All };
        let muted = both().map(|(one, other)| exclusion::mute(keys, one, other, mute, u32::MAX));
        let muted = muted.map(|command| batch.push(command)).collect();
        let mut replies = batch.send(store).await.unwrap();
        replies.take_all(noted).unwrap();
        replies.take_all(muted).unwrap();
        let post = |_: &UserId| NewPost {
            references: References::default(),
            author: leaver,
            content: Content::parse("a short post").unwrap(),
            platform: None,
            visibility: Visibility::Public,
            created_at: at,
        };
        self.app.import_posts(&others.iter().map(post).collect::<Vec<_>>()).await.unwrap();
    }

    /// Erases accounts, and prints what this costs.
    async fn measure(&mut self, leavers: &[UserId]) {
        for &leaver in leavers {
            let delete =
                self.app.delete_user(&Moderator::Operator, leaver, ActionNote::default(), Duration::ZERO);
            delete.await.unwrap();
            // As if a minute had passed since.
            self.ask::<()>(&["HSET", &format!("ff:{{u{leaver}}}:user"), "deletion", "1"]);
        }
        for job in self.ask::<Vec<String>>(&["ZRANGE", "ff:{g}:account:jobs", "0", "-1"]) {
            self.ask::<()>(&["ZADD", "ff:{g}:account:jobs", "1", &job]);
        }
        self.ask::<()>(&["SLOWLOG", "RESET"]);
        let (began, before) = (Instant::now(), used(&mut self.connection));
        let mut slowest = (LOGGED, String::from("no slow command"));
        while self.ask::<u64>(&["ZCARD", "ff:{g}:account:jobs"]) > 0 {
            self.app.work_on_accounts().await.unwrap();
            slowest = slowest.max(self.slowest());
            for worker in &mut self.app.workers() {
                worker.drain(Duration::ZERO).await.unwrap();
            }
            self.app.mover().drain(Duration::ZERO).await.unwrap();
        }
        let (used, elapsed) = (used(&mut self.connection) - before, began.elapsed().as_secs_f64());
        #[allow(clippy::cast_precision_loss, reason = "a displayed number")]
        let each = |seconds: f64| seconds / leavers.len() as f64;
        let (micros, command) = slowest;
        println!("{:>12} {:>23.4} {:>14.3} {micros:>8} {command}", leavers.len(), each(used), each(elapsed));
        for leaver in leavers {
            assert_eq!(self.ask::<u64>(&["EXISTS", &format!("ff:{{u{leaver}}}:user")]), 0, "it is erased");
        }
    }

    /// Returns the microseconds and the beginning of the slowest of the last commands.
    fn slowest(&mut self) -> (u64, String) {
        type Entry = (u64, u64, u64, Vec<String>, String, String);
        let entries: Vec<Entry> = self.ask(&["SLOWLOG", "GET", "-1"]);
        let beginning = |words: &[String]| words.iter().take(4).cloned().collect::<Vec<_>>().join(" ");
        let slow = entries.iter().map(|entry| (entry.2, beginning(&entry.3)));
        slow.max().unwrap_or_default()
    }
}
