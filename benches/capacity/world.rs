//! Data of a part of a great number of users, as the product writes them.

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::post::NewPost;
use fanfold::app::user::NewAccount;
use fanfold::model::clock::Day;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Content, Platform, Visibility};
use fanfold::model::region::Table;
use fanfold::model::relation::Side;
use fanfold::model::secret::{Password, PasswordHash};
use fanfold::model::session::Label;
use fanfold::model::user::{Bio, Username};
use fanfold::store::batch::Batch;
use fanfold::store::command::Command;
use fanfold::store::{audience, memory, post, region, timeline, visit};
use redis::{Connection, InfoDict, cmd};
use tokio::time::sleep;

use crate::ground::Redis;
use crate::report::degree::{EXPONENT, FOLLOWERS, FOLLOWING, Lengths};
use crate::report::item::{
    ACCOUNT, FOLLOWERS_ENTRY, FOLLOWING_ENTRY, POST, REGION, TIMELINE_ENTRY, VIEWED_DAY, VISIT,
};
use crate::report::plan::{DAYS_OF_VIEWS, FOLLOWS, POSTS, TIMELINE, VIEWS};

/// The amount of data.
pub(crate) struct Sizes {
    /// Users with an account and posts: about a thousand, so that the username index has its usual density.
    pub(crate) users: u64,
    /// Users with a timeline.
    pub(crate) readers: u64,
    /// Visitors on a day.
    pub(crate) visitors: u64,
    pub(crate) lists: Lists,
    pub(crate) region_shards: u64,
    /// Keys that are written to a cluster.
    pub(crate) keys: u64,
    /// Pause between two readings of the memory. Buffers of connections are freed after two seconds.
    pub(crate) pause: Duration,
}

/// The numbers of lists of follows, on each side.
#[derive(Clone, Copy)]
pub(crate) struct Lists {
    /// Number of different lengths. Each represents an equal share of all follows.
    pub(crate) lengths: u32,
    /// Least number of entries of the lists of each length.
    pub(crate) entries: u64,
}

/// Commands sent in one batch, and posts published in one.
const BATCH_SIZE: usize = 1_000;
/// Members added by one command: so few that they fit into the buffer of a connection.
const MEMBERS: usize = 200;
/// Time of the first follow, in milliseconds.
const FIRST_FOLLOW: u64 = 1_700_000_000_000;
/// Average time between two follows, in milliseconds.
const FOLLOW_INTERVAL: u64 = 7_654_321;

pub(crate) const FIRST_PAGE: Window<PostId> = Window { direction: Direction::Forward, size: 1, from: None };

/// The bytes of an item of each kind, by the name of the kind.
pub(crate) type Bytes = Vec<(&'static str, f64)>;

/// A part of the users, whose ids are the last ones of all.
pub(crate) struct World<'a> {
    app: App,
    connection: Connection,
    sizes: &'a Sizes,
    /// Number of all users.
    population: u64,
}

impl<'a> World<'a> {
    pub(crate) async fn new(redis: &Redis, population: u64, sizes: &'a Sizes) -> Self {
        let mut connection = redis.client().get_connection().unwrap();
        // Redis 7 allocates a histogram when it executes a command for the first time. Older versions do not know this
        // option.
        let _ = cmd("CONFIG").arg("SET").arg("latency-tracking").arg("no").exec(&mut connection);
        let last_post = (population - sizes.users) * POSTS;
        for (kind, last) in [("user", population - sizes.users), ("post", last_post)] {
            cmd("SET").arg(format!("ff:{{g}}:next:{kind}")).arg(last).exec(&mut connection).unwrap();
        }
        let app = redis.app(&["--redis-expected-users", &sizes.users.to_string()]).await;
        Self { app, connection, sizes, population }
    }

    /// Writes all data, and returns the bytes of an item of each kind.
    pub(crate) async fn measure(mut self) -> Bytes {
        let following = self.bytes_per_follow(Side::Following, &FOLLOWING);
        let followers = self.bytes_per_follow(Side::Followers, &FOLLOWERS);
        let mut before = self.used().await;
        let mut added = async |world: &mut Self| {
            let used = world.used().await;
            used - std::mem::replace(&mut before, used)
        };
        let users = self.users();
        let Sizes { users: count, readers, visitors, region_shards, .. } = *self.sizes;
        self.register().await;
        let accounts = added(&mut self).await;
        self.publish(&users).await;
        let posts = added(&mut self).await;
        self.fill_timelines(&users).await;
        let timelines = added(&mut self).await;
        self.view_profiles(&users).await;
        let views = added(&mut self).await;
        self.visit().await;
        let visits = added(&mut self).await;
        self.set_regions().await;
        let regions = added(&mut self).await;
        vec![
            (FOLLOWING_ENTRY, following),
            (FOLLOWERS_ENTRY, followers),
            (POST, posts / float(count * POSTS)),
            (TIMELINE_ENTRY, timelines / float(readers * TIMELINE)),
            (ACCOUNT, accounts / float(count)),
            (VIEWED_DAY, views / float(count * DAYS_OF_VIEWS)),
            (VISIT, visits / float(visitors)),
            (REGION, regions / float(region_shards * region::USERS_PER_SHARD)),
        ]
    }

    /// Returns the bytes that Redis uses, once its tables have their final size and it has freed the buffers of
    /// connections.
    async fn used(&mut self) -> f64 {
        let mut last = f64::NAN;
        loop {
            sleep(self.sizes.pause).await;
            let used = used(&mut self.connection);
            if (used - last).abs() < 1_000.0 {
                return used;
            }
            last = used;
        }
    }

    /// Registers users with a bio, a password and a session.
    async fn register(&self) {
        let password = self.app.hash_password(Password::choose("correct horse").unwrap()).await.unwrap();
        let account = |number| self.account(number, password.clone());
        self.app.import_users((0..self.sizes.users).map(account).collect()).await.unwrap();
    }

    fn account(&self, number: u64, password: PasswordHash) -> NewAccount {
        let username = Username::parse(&format!("user_{:05}", number % 100_000)).unwrap();
        NewAccount {
            display_name: (&username).into(),
            username,
            bio: Bio::parse(&text(number, 80)).unwrap(),
            region: None,
            created_at: self.app.now(),
            password: Some(password),
            subject: None,
            sign_in: Some(Label::parse("Firefox on Linux").unwrap()),
        }
    }

    fn users(&self) -> Vec<UserId> {
        (self.population - self.sizes.users + 1..=self.population).filter_map(UserId::new).collect()
    }

    /// Publishes each user's posts, and completes their delivery.
    async fn publish(&mut self, users: &[UserId]) {
        for round in 0..POSTS {
            for users in users.chunks(BATCH_SIZE) {
                let new: Vec<NewPost> = users.iter().map(|author| self.post(*author, round)).collect();
                let posts = self.app.import_posts(&new).await.unwrap();
                let keys = self.app.store().keys();
                self.send(posts.iter().map(|post| post::mark_delivered(keys, *post, FOLLOWS))).await;
            }
        }
        self.drop_jobs();
    }

    fn post(&self, author: UserId, round: u64) -> NewPost {
        NewPost {
            references: References::default(),
            author,
            content: Content::parse(&text(author.get() * POSTS + round, 100)).unwrap(),
            platform: Some(Platform::parse("web").unwrap()),
            visibility: Visibility::Public,
            created_at: self.app.now(),
        }
    }

    /// Deletes the delivery jobs, which exist only until the posts are delivered.
    fn drop_jobs(&mut self) {
        let keys = self.app.store().keys();
        for partition in 0..keys.fanout_partitions() {
            let names = [
                keys.fanout(partition).name().to_owned(),
                keys.fanout_open(partition).name().to_owned(),
                keys.fanout_ready(partition).name().to_owned(),
                keys.fanout_held(partition).name().to_owned(),
                keys.fanout_turns(partition).name().to_owned(),
            ];
            cmd("DEL").arg(&names).exec(&mut self.connection).unwrap();
        }
    }

    /// Delivers posts to the timelines of the first users.
    async fn fill_timelines(&self, users: &[UserId]) {
        let keys = self.app.store().keys();
        let last = self.population * POSTS;
        for (reader, nonce) in users.iter().zip(1..=self.sizes.readers) {
            let nobody = timeline::Sources::Named(&[]);
            let open = timeline::open(keys, *reader, nonce, 86_400, 1, nobody, &FIRST_PAGE);
            open.send("bench", self.app.store()).await.unwrap();
            let post = |number| PostId::new(last - (TIMELINE - number) * 499).unwrap();
            self.send((0..TIMELINE).map(|number| timeline::deliver(keys, *reader, post(number), 1_000)))
                .await;
        }
    }

    /// Records views of each profile, on each day for which they are kept.
    async fn view_profiles(&self, users: &[UserId]) {
        let (keys, today) = (self.app.store().keys(), self.app.today());
        let day = |ago: u64| today.plus(-i64::try_from(ago).unwrap());
        for (user, number) in users.iter().zip(0..) {
            let views = (0..DAYS_OF_VIEWS * VIEWS).map(|view| {
                let viewer = scattered(number * DAYS_OF_VIEWS * VIEWS + view, self.population);
                (day(view / VIEWS), viewer)
            });
            let views: Vec<_> = views.collect();
            let noted = |&(day, viewer): &_| audience::note(keys, viewer, day, *user);
            self.send(views.iter().map(noted)).await;
            let viewed = |&(day, viewer): &_| audience::record(keys, *user, day, viewer);
            self.send(views.iter().map(viewed)).await;
        }
    }

    async fn visit(&self) {
        let (keys, today) = (self.app.store().keys(), Day::of(self.app.now()));
        let fix = visit::fix_layout(keys, today, self.sizes.visitors);
        let layout = fix.send("bench", self.app.store()).await.unwrap();
        let user = |number| scattered(number, self.population);
        self.send((0..self.sizes.visitors).map(|number| visit::record(keys, layout, user(number)))).await;
    }

    /// Sets the regions of all users of some shards.
    async fn set_regions(&self) {
        let keys = self.app.store().keys();
        let region = Table::current().find(Table::current().countries()[0].code, None).unwrap();
        let first = memory::region_shards(self.population) / 2;
        let users = (first..first + self.sizes.region_shards).flat_map(memory::users_of_regions);
        self.send(users.map(|user| region::write(keys, user, Some(region)))).await;
    }

    /// Returns the bytes per entry of lists of one side, averaged over all entries.
    fn bytes_per_follow(&mut self, side: Side, lengths: &Lengths) -> f64 {
        let count = self.sizes.lists.lengths;
        let length = |number: u32| length_at(lengths, (f64::from(number) + 0.5) / f64::from(count));
        let bytes: f64 = (0..count).map(|number| self.bytes_per_entry(side, length(number))).sum();
        bytes / f64::from(count)
    }

    /// Returns the bytes per entry of lists of one length. Writes and deletes so many lists that the buffers of
    /// connections do not matter.
    fn bytes_per_entry(&mut self, side: Side, length: u64) -> f64 {
        let copies = self.sizes.lists.entries.div_ceil(length);
        let keys = self.app.store().keys();
        let name = |copy| keys.list(UserId::new(self.population - copy).unwrap(), side).name().to_owned();
        let names: Vec<String> = (0..copies).map(name).collect();
        let before = used(&mut self.connection);
        for (name, copy) in names.iter().zip(0..) {
            write_list(&mut self.connection, name, &members(copy, length, self.population));
        }
        let bytes = used(&mut self.connection) - before;
        cmd("DEL").arg(&names).exec(&mut self.connection).unwrap();
        bytes / float(copies * length)
    }

    async fn send<T>(&self, commands: impl Iterator<Item = Command<T>>) {
        send(&self.app, commands).await;
    }
}

/// Sends commands in batches.
pub(crate) async fn send<T>(app: &App, commands: impl Iterator<Item = Command<T>>) {
    let mut commands = commands.peekable();
    while commands.peek().is_some() {
        let mut batch = Batch::new("bench");
        for command in commands.by_ref().take(BATCH_SIZE) {
            drop(batch.push(command));
        }
        batch.send(app.store()).await.unwrap();
    }
}

/// Writes a list of follows.
pub(crate) fn write_list(connection: &mut Connection, name: &str, members: &[(u64, UserId)]) {
    for members in members.chunks(MEMBERS) {
        let pairs: Vec<u64> = members.iter().flat_map(|(at, user)| [*at, user.get()]).collect();
        cmd("ZADD").arg(name).arg(pairs).exec(connection).unwrap();
    }
}

/// Returns the members of a list of follows, in the order of their times.
pub(crate) fn members(list: u64, length: u64, population: u64) -> Vec<(u64, UserId)> {
    /// Has no divisor in common with a power of ten.
    const STEP: u64 = 7_919;
    let first = scattered(list, population).get();
    let member = |number| UserId::new((first + number * STEP) % population + 1).unwrap();
    (0..length).map(|number| (FIRST_FOLLOW + (list + number) * FOLLOW_INTERVAL, member(number))).collect()
}

/// Returns one of the users, different ones for most numbers.
fn scattered(number: u64, population: u64) -> UserId {
    UserId::new((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % population + 1).unwrap()
}

/// Returns a text of this length, in bytes.
fn text(number: u64, length: usize) -> String {
    let mut text = format!("{number} ");
    while text.len() < length {
        text.push_str("with the lights out somebody had mended the wobbly table ");
    }
    text.truncate(length - 1);
    text.push('.');
    text
}

/// Returns the bytes that Redis uses.
pub(crate) fn used(connection: &mut Connection) -> f64 {
    let info: InfoDict = cmd("INFO").arg("memory").query(connection).unwrap();
    info.get("used_memory").unwrap()
}

/// Returns the length of the list that has the entry at a quantile of all lists' entries, from the shortest list to the
/// longest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lengths are small and positive")]
fn length_at(lengths: &Lengths, quantile: f64) -> u64 {
    let [first, last] = lengths.ends(2.0);
    (first + quantile * (last - first)).powf(1.0 / (2.0 - EXPONENT)).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "numbers of items are small")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}
