//! The time that Redis takes for commands, as the product sends them.

use fanfold::app::App;
use fanfold::config::RelationStrategy;
use fanfold::model::clock::Timestamp;
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::{Content, Delivery, Platform, Visibility};
use fanfold::model::relation::Side;
use fanfold::store::command::Command;
use fanfold::store::draft::{self, Draft, Note};
use fanfold::store::{post, relation, timeline};
use redis::{Connection, InfoDict, cmd};

use crate::ground::Redis;
use crate::report::item::{BY_INTERSECTION, BY_PROBE, CREATE_POST, READ_POST};
use crate::report::{Costs, MeasuredCommand};
use crate::world::{FIRST_PAGE, float, members, send, write_list};

/// Number of users in a page.
const PAGE: u64 = 50;
/// Number of all users and of all posts, which determines the lengths of ids.
const POPULATION: u64 = 100_000_000;
/// The timeline capacity.
const CAPACITY: u32 = 1_000;

/// How often commands are measured.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    /// Number of times that each command is sent in a round.
    pub(crate) calls: u64,
}

/// A server with settings of its own.
pub(crate) struct Meter {
    app: App,
    connection: Connection,
    /// Ends the server.
    _redis: Redis,
}

/// A command on lists of follows.
type OnList = (&'static str, fn(&Meter, u64, Effort) -> Vec<Command<()>>);

const ON_LISTS: [OnList; 6] = [
    (BY_INTERSECTION, |meter, length, effort| meter.relations(length, RelationStrategy::Zinterstore, effort)),
    (BY_PROBE, |meter, length, effort| meter.relations(length, RelationStrategy::Zmscore, effort)),
    ("one relation, `ZSCORE`", Meter::scores),
    ("first page of 50, `ZREVRANGE`", Meter::pages),
    ("all followed users, `ZREVRANGE`", Meter::all),
    ("follow or unfollow, `ZADD` or `ZREM`", Meter::changes),
];

impl Meter {
    pub(crate) async fn start(options: &[&str]) -> Self {
        let redis = Redis::start_with(None, options);
        let connection = redis.client().get_connection().unwrap();
        Self { app: redis.app(&[]).await, connection, _redis: redis }
    }

    /// Sends commands, and returns the microseconds that Redis took for each, without the time for receiving them and
    /// responding.
    async fn inside<T>(&mut self, commands: Vec<Command<T>>) -> f64 {
        let count = commands.len() as u64;
        cmd("CONFIG").arg("RESETSTAT").exec(&mut self.connection).unwrap();
        send(&self.app, commands.into_iter()).await;
        let stats: String = cmd("INFO").arg("commandstats").query(&mut self.connection).unwrap();
        top_level(&stats) / float(count)
    }

    /// Returns the CPU time that the server has used, in microseconds.
    fn cpu(&mut self) -> f64 {
        let info: InfoDict = cmd("INFO").arg("cpu").query(&mut self.connection).unwrap();
        let used = |name: &str| info.get::<f64>(name).unwrap();
        (used("used_cpu_user") + used("used_cpu_sys")) * 1_000_000.0
    }

    /// Writes lists of this length on both sides of the user whose id is the length.
    fn write_lists(&mut self, length: u64) {
        for side in [Side::Following, Side::Followers] {
            let name = self.app.store().keys().list(user(length), side).name().to_owned();
            write_list(&mut self.connection, &name, &members(length, length, POPULATION));
        }
    }

    fn relations(&self, length: u64, strategy: RelationStrategy, effort: Effort) -> Vec<Command<()>> {
        let keys = self.app.store().keys();
        let relations = |call| relation::relations(keys, user(length), &page(length, call), strategy, call);
        (0..effort.calls / 10).map(|call| relations(call).map(|_| Ok(()))).collect()
    }

    fn scores(&self, length: u64, effort: Effort) -> Vec<Command<()>> {
        let keys = self.app.store().keys();
        let other = |call: u64| page(length, call)[0];
        let score = |call| relation::time(keys, user(length), Side::Following, other(call));
        (0..effort.calls).map(|call| score(call).map(|_| Ok(()))).collect()
    }

    fn pages(&self, length: u64, effort: Effort) -> Vec<Command<()>> {
        let window = Window { direction: Direction::Forward, size: 50, from: None };
        let page = || relation::page(self.app.store().keys(), user(length), Side::Followers, &window);
        (0..effort.calls).map(|_| page().map(|_| Ok(()))).collect()
    }

    fn all(&self, length: u64, effort: Effort) -> Vec<Command<()>> {
        let all = || relation::all(self.app.store().keys(), user(length), Side::Following);
        (0..effort.calls / 10).map(|_| all().map(|_| Ok(()))).collect()
    }

    /// Removes a member, and adds it again as the newest.
    fn changes(&self, length: u64, effort: Effort) -> Vec<Command<()>> {
        let keys = self.app.store().keys();
        let change = |call: u64| {
            let (viewer, other) = (user(length), members(length, length, POPULATION)[place(call, length)].1);
            let at = Timestamp::from_millis(i64::try_from(1_800_000_000_000 + call).unwrap());
            let remove = relation::remove(keys, viewer, Side::Following, other).map(|_| Ok(()));
            [remove, relation::put(keys, viewer, Side::Following, other, at).map(|_| Ok(()))]
        };
        (0..effort.calls).flat_map(change).collect()
    }
}

/// The steps whose CPU time is measured, with the time for receiving commands and responding. Commands that servers
/// send one by one are measured one by one.
impl Meter {
    async fn read_watermark(&mut self, effort: Effort, _round: u64) -> f64 {
        let began = self.cpu();
        for _ in 0..effort.calls {
            let read = timeline::watermark(self.app.store().keys(), None, 0);
            read.send("bench", self.app.store()).await.unwrap();
        }
        (self.cpu() - began) / float(effort.calls)
    }

    /// Sends the commands of publishing that need the slot of `{g}`.
    async fn issue_and_settle(&mut self, effort: Effort, _round: u64) -> f64 {
        let began = self.cpu();
        for number in 1..=effort.calls {
            let store = self.app.store();
            let issue = draft::issue(store.keys(), 1, vec![draft(number).note]);
            let issued = issue.send("bench", store).await.unwrap();
            draft::settle(store.keys(), &issued).send("bench", store).await.unwrap();
        }
        (self.cpu() - began) / float(effort.calls)
    }

    /// Delivers a post to timelines that are full.
    async fn deliver(&mut self, effort: Effort, round: u64) -> f64 {
        let began = self.cpu();
        let post = PostId::new(POPULATION + 2 * u64::from(CAPACITY) + round).unwrap();
        let deliver = |owner| timeline::deliver(self.app.store().keys(), user(owner), post, CAPACITY);
        send(&self.app, (1..=effort.calls).map(deliver)).await;
        (self.cpu() - began) / float(effort.calls)
    }

    /// Looks up followers who have no timeline.
    async fn skip(&mut self, effort: Effort, _round: u64) -> f64 {
        let began = self.cpu();
        let calls = effort.calls * 10;
        let owners: Vec<UserId> = (1..=calls).map(|owner| user(POPULATION / 2 + owner)).collect();
        let keys = self.app.store().keys();
        send(&self.app, owners.chunks(1_000).map(|owners| timeline::existing(keys, owners.to_vec()))).await;
        (self.cpu() - began) / float(calls)
    }
}

/// Measures commands on lists of these lengths on servers that store lists of up to so many entries compactly.
pub(crate) async fn lists(limits: &[u32], lengths: &[u64], effort: Effort) -> Vec<MeasuredCommand> {
    let mut meters = Vec::new();
    for limit in limits {
        let mut meter = Meter::start(&["--zset-max-ziplist-entries", &limit.to_string()]).await;
        for &length in lengths {
            meter.write_lists(length);
        }
        meters.push(meter);
    }
    let mut measured = Vec::new();
    for (name, commands) in ON_LISTS {
        for &length in lengths {
            let measure = async |meter: &mut Meter, effort, _| {
                let commands = commands(meter, length, effort);
                meter.inside(commands).await
            };
            let micros = least_of_rounds(&mut meters, effort, measure).await;
            measured.push(MeasuredCommand { name: name.to_owned(), entries: Some(length), micros });
        }
    }
    measured
}

/// Measures posts on servers that store hashes with values of up to so many bytes compactly.
pub(crate) async fn records(limits: &[u32], effort: Effort) -> Vec<MeasuredCommand> {
    let mut meters = Vec::new();
    for limit in limits {
        meters.push(Meter::start(&["--hash-max-ziplist-value", &limit.to_string()]).await);
    }
    let command = |name: &str, micros| MeasuredCommand { name: name.to_owned(), entries: None, micros };
    let created = least_of_rounds(&mut meters, effort, Meter::create_posts).await;
    let found = least_of_rounds(&mut meters, effort, Meter::read_posts).await;
    vec![command(CREATE_POST, created), command(READ_POST, found)]
}

impl Meter {
    async fn create_posts(&mut self, effort: Effort, round: u64) -> f64 {
        let content = Content::parse(&"a".repeat(100)).unwrap();
        let (keys, web) = (self.app.store().keys(), Platform::parse("web").unwrap());
        let pushed = Delivery::Pushed { followers: 200 };
        let none = References::default();
        let create =
            |draft| post::create(keys, &draft, &content, Some(&web), Visibility::Public, &none, pushed);
        let commands = drafts(effort, round).map(create).collect();
        self.inside(commands).await
    }

    async fn read_posts(&mut self, effort: Effort, round: u64) -> f64 {
        let keys = self.app.store().keys();
        let commands = drafts(effort, round).map(|draft| post::read(keys, draft.id)).collect();
        self.inside(commands).await
    }
}

/// Measures the CPU time of the steps of publishing, delivering and reading, on a server of their own.
pub(crate) async fn costs(options: &[&str], effort: Effort) -> Costs {
    let mut meters = [Meter::start(options).await];
    fill_timelines(&meters[0], effort.calls).await;
    Costs {
        watermark: least_of_rounds(&mut meters, effort, Meter::read_watermark).await[0],
        publish: least_of_rounds(&mut meters, effort, Meter::issue_and_settle).await[0],
        deliver: least_of_rounds(&mut meters, effort, Meter::deliver).await[0],
        skip: least_of_rounds(&mut meters, effort, Meter::skip).await[0],
    }
}

/// Fills the timelines of the first users.
async fn fill_timelines(meter: &Meter, count: u64) {
    let keys = meter.app.store().keys();
    let nobody = timeline::Sources::Named(&[]);
    let open = |owner| timeline::open(keys, user(owner), owner, 86_400, 1, nobody, &FIRST_PAGE);
    send(&meter.app, (1..=count).map(open)).await;
    for owner in 1..=count {
        let post = |number| PostId::new(POPULATION + number).unwrap();
        let deliver = |number| timeline::deliver(keys, user(owner), post(number), CAPACITY);
        send(&meter.app, (1..=u64::from(CAPACITY)).map(deliver)).await;
    }
}

/// Measures each server in turns, and returns the least value of each. Other load on the machine only adds to it.
async fn least_of_rounds(
    meters: &mut [Meter],
    effort: Effort,
    mut measure: impl AsyncFnMut(&mut Meter, Effort, u64) -> f64,
) -> Vec<f64> {
    let mut least = vec![f64::INFINITY; meters.len()];
    for (_, round) in (0..effort.rounds).zip(0..) {
        for (meter, least) in meters.iter_mut().zip(&mut least) {
            *least = least.min(measure(meter, effort, round).await);
        }
    }
    least
}

/// Returns the microseconds of the commands that were sent, without those that a script or a transaction runs, because
/// its own time includes them.
fn top_level(commandstats: &str) -> f64 {
    /// Commands that run others. `eval` runs scripts that Redis did not know yet.
    const OUTER: [&str; 3] = ["exec", "evalsha", "eval"];
    let stats: Vec<(&str, f64)> = commandstats.lines().filter_map(stat).collect();
    let has_outer = stats.iter().any(|(name, _)| OUTER.contains(name));
    let counts = |name: &str| !has_outer || OUTER.contains(&name);
    stats.iter().filter(|(name, _)| counts(name)).map(|(_, micros)| micros).sum()
}

/// Returns the name and the microseconds of a command that the product sends.
fn stat(line: &str) -> Option<(&str, f64)> {
    let (name, stat) = line.strip_prefix("cmdstat_")?.split_once(':')?;
    let micros = stat.split(',').find_map(|part| part.strip_prefix("usec="))?;
    (!name.starts_with("config")).then_some((name, micros.parse().ok()?))
}

/// Returns a page of users, half of whom are in the lists of this length.
fn page(length: u64, call: u64) -> Vec<UserId> {
    let members = members(length, length, POPULATION);
    let user = |number: u64| match number % 2 {
        0 => members[place(call * PAGE + number, length)].1,
        _ => user(POPULATION / 3 + number),
    };
    (0..PAGE).map(user).collect()
}

/// Returns an index into a list, a different one for each of the calls.
fn place(call: u64, length: u64) -> usize {
    usize::try_from(call * 37 % length).unwrap()
}

fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

/// Returns a post that is being published.
fn draft(number: u64) -> Draft {
    let now = Timestamp::from_millis(1_800_000_000_000);
    let note = Note { author: user(POPULATION - number), created_at: now, began: now, nonce: number };
    Draft { id: PostId::new(POPULATION + number).unwrap(), note }
}

/// Returns the posts of a round.
fn drafts(effort: Effort, round: u64) -> impl Iterator<Item = Draft> {
    (1..=effort.calls).map(move |number| draft(round * effort.calls + number))
}
