//! Visits: every user counts once a day, at any hour, and the numbers stay forever.

use std::time::Duration;

use fanfold::app::read::Load as _;
use fanfold::app::visit::history::VisitorCount;
use fanfold::model::clock::Day;
use fanfold::model::id::UserId;
use fanfold::store::batch::Batch;
use fanfold::store::visit;
use serde_json::{Value, json};

use crate::harness::case::share;
use crate::harness::sql::{Database, Kind, on_every_kind};
use crate::harness::world::{DAY, ManualClock, Person, World, app, codes};

/// The day on which every test begins.
const TODAY: i64 = ManualClock::BEGINNING / 86_400_000;

/// Returns the number of visitors of each day, newest first.
async fn visits(world: &World, arguments: &str) -> Vec<(String, i64)> {
    let query = format!("{{ visits{arguments} {{ day uniqueVisitors }} }}");
    let data = world.data(None, &query, Value::Null).await;
    let visit = |visit: &Value| {
        (visit["day"].as_str().unwrap().to_owned(), visit["uniqueVisitors"].as_i64().unwrap())
    };
    data["visits"].as_array().unwrap().iter().map(visit).collect()
}

fn days<const N: usize>(days: [(&str, i64); N]) -> Vec<(String, i64)> {
    days.map(|(day, count)| (day.to_owned(), count)).to_vec()
}

async fn record_visit(world: &World, person: &Person) {
    world.data(Some(&person.token), "{ viewer { user { id } } }", Value::Null).await;
}

fn shards(world: &World) -> Vec<String> {
    world.redis.raw(&["KEYS", "ff:{v*}:visit"])
}

#[tokio::test]
async fn every_user_who_sends_a_request_counts_once_a_day() {
    let world = World::new().await;
    let people = world.people(3).await;
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 0)]), "no request had a token");
    for _ in 0..3 {
        record_visit(&world, &people[0]).await;
    }
    record_visit(&world, &people[1]).await;
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 2)]));
    // Another process counts the same users.
    let other = app(&world.redis, &world.clock, &[]).await;
    other.authenticate(&people[0].token).await.unwrap();
    other.authenticate(&people[2].token).await.unwrap();
    other.authenticate("AAAA").await.unwrap_err();
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 3)]));
}

#[tokio::test]
async fn a_user_is_counted_once_whatever_token_they_use() {
    let world = World::new().await;
    let person = world.register("ada").await;
    record_visit(&world, &person).await;
    let login = "mutation { login(input: { username: \"ada\", password: \"correct horse\" }) { token } }";
    let token = world.data(None, login, Value::Null).await["login"]["token"].as_str().unwrap().to_owned();
    record_visit(&world, &Person { token, ..person }).await;
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 1)]));
}

#[tokio::test]
async fn the_first_request_of_a_day_costs_a_round_trip_and_the_others_none() {
    let world = World::new().await;
    let people = world.people(20).await;
    // Redis caches the script, on each master of a cluster.
    for person in &people[1..] {
        record_visit(&world, person).await;
    }
    let other = app(&world.redis, &world.clock, &[]).await;
    let costs = async |person: &Person| {
        let mut costs = Vec::new();
        for _ in 0..3 {
            let before = other.store().round_trips();
            other.authenticate(&person.token).await.unwrap();
            costs.push(other.store().round_trips() - before);
        }
        costs
    };
    // The layout of the day is new to the process, too.
    assert_eq!(costs(&people[0]).await, [3, 1, 1]);
    assert_eq!(costs(&people[1]).await, [2, 1, 1]);
}

#[tokio::test]
async fn a_day_begins_at_midnight_and_its_number_stays_forever() {
    let world = World::new().await;
    let people = world.people(3).await;
    for person in &people {
        record_visit(&world, person).await;
    }
    // To the last millisecond of the day, and over it.
    world.clock.advance(DAY.saturating_sub(Duration::from_millis(1)));
    record_visit(&world, &people[0]).await;
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 3)]));
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(visits(&world, "").await, days([("2026-01-02", 0), ("2026-01-01", 3)]));
    record_visit(&world, &people[0]).await;
    assert_eq!(visits(&world, "").await, days([("2026-01-02", 1), ("2026-01-01", 3)]));

    // Some minutes after midnight the day is closed, and not before.
    world.clock.advance(Duration::from_millis(599_999));
    assert_eq!(world.app.close_days().await.unwrap(), 0);
    let is_kept = |key: &String| world.redis.raw::<i64>(&["TTL", key]) == -1;
    assert!(shards(&world).iter().all(is_kept), "days that are not archived do not expire");
    world.clock.advance(Duration::from_millis(1));
    assert_eq!(world.app.close_days().await.unwrap(), 1);
    let past = shards(&world).into_iter().filter(|key| key.contains(&format!("{{v{TODAY}.")));
    let past: Vec<String> = past.collect();
    assert!(!past.is_empty() && past.iter().all(|key| world.redis.raw::<i64>(&["TTL", key]) > 86_400));
    assert_eq!(visits(&world, "").await, days([("2026-01-02", 1), ("2026-01-01", 3)]));
    assert_eq!(world.app.close_days().await.unwrap(), 0, "it is done once");

    // The shards expire.
    world.redis.raw::<i64>(&past.iter().map(String::as_str).fold(vec!["DEL"], |mut words, key| {
        words.push(key);
        words
    }));
    assert_eq!(visits(&world, "").await, days([("2026-01-02", 1), ("2026-01-01", 3)]));
    world.clock.advance(DAY * 400);
    world.app.close_days().await.unwrap();
    let old = visits(&world, "(first: 2, before: \"2026-01-03\")").await;
    assert_eq!(old, days([("2026-01-02", 1), ("2026-01-01", 3)]));
}

#[tokio::test]
async fn days_are_listed_from_the_first_one_that_was_counted() {
    let world = World::new().await;
    let people = world.people(2).await;
    let all = ["(first: 100)", "(first: 100, before: null)", "(first: 100, before: \"2030-01-01\")"];
    record_visit(&world, &people[0]).await;
    world.clock.advance(DAY * 3);
    world.app.close_days().await.unwrap();
    record_visit(&world, &people[0]).await;
    record_visit(&world, &people[1]).await;
    let listed = days([("2026-01-04", 2), ("2026-01-03", 0), ("2026-01-02", 0), ("2026-01-01", 1)]);
    for arguments in all {
        assert_eq!(visits(&world, arguments).await, listed, "{arguments}");
    }
    assert_eq!(visits(&world, "(first: 1)").await, listed[..1]);
    assert_eq!(visits(&world, "(first: 3)").await, listed[..3]);
    assert_eq!(visits(&world, "(first: 0)").await, []);
    for (before, rest) in [("2026-01-04", 1), ("2026-01-03", 2), ("2026-01-02", 3), ("2026-01-01", 4)] {
        let arguments = format!("(before: \"{before}\")");
        assert_eq!(visits(&world, &arguments).await, listed[rest..], "{before}");
        let one = visits(&world, &format!("(first: 1, before: \"{before}\")")).await;
        assert_eq!(one, listed[rest..].iter().take(1).cloned().collect::<Vec<_>>(), "{before}");
    }
    assert_eq!(visits(&world, "(before: \"0001-01-01\")").await, []);
    // Seven are listed by default.
    world.clock.advance(DAY * 20);
    world.app.close_days().await.unwrap();
    for arguments in ["", "(first: null)", "(before: \"2026-01-20\")"] {
        assert_eq!(visits(&world, arguments).await.len(), 7, "{arguments}");
    }
    assert_eq!(visits(&world, "(first: 2147483647)").await.len(), 24);
}

#[tokio::test]
async fn invalid_days_and_numbers_are_rejected() {
    let world = World::new().await;
    for arguments in [
        "first: -1",
        "before: \"yesterday\"",
        "before: \"2026-02-30\"",
        "before: \"-000100-01-01\"",
        "before: 5",
    ] {
        let response = world.ask(None, &format!("{{ visits({arguments}) {{ day }} }}"), Value::Null).await;
        assert_eq!(codes(&response), ["BAD_USER_INPUT"], "{arguments}: {response}");
    }
    let query = "query ($day: Date, $first: Int) { visits(before: $day, first: $first) { uniqueVisitors } }";
    for variables in [json!({}), json!({ "day": "2026-01-02", "first": null })] {
        let data = world.data(None, query, variables).await;
        assert_eq!(data["visits"], json!([{ "uniqueVisitors": 0 }]));
    }
}

#[tokio::test]
async fn another_expectation_does_not_disturb_a_day_that_has_begun() {
    let world = World::with(&["--visit-expected-visitors", "1000"]).await;
    let people = world.people(8).await;
    for person in &people {
        record_visit(&world, person).await;
    }
    // A second process, and one after a restart, expect something else.
    for expected in ["10000000", "1"] {
        let other = app(&world.redis, &world.clock, &["--visit-expected-visitors", expected]).await;
        for person in &people[..5] {
            other.authenticate(&person.token).await.unwrap();
        }
        assert_eq!(visits(&world, "(first: 1)").await[0].1, 8);
    }
    let layout = |day: i64| world.redis.raw::<String>(&["HGET", "ff:{g}:visit:days", &day.to_string()]);
    assert_eq!(layout(TODAY), "4");
    world.clock.advance(DAY);
    let other = app(&world.redis, &world.clock, &["--visit-expected-visitors", "10000"]).await;
    other.authenticate(&people[0].token).await.unwrap();
    assert_eq!(layout(TODAY + 1), "40");
}

#[tokio::test]
async fn when_redis_has_lost_the_layout_of_a_day_no_one_is_counted_twice_and_nothing_is_left() {
    for (first, second) in [("1000", "100000"), ("100000", "1000")] {
        let world = World::with(&["--visit-expected-visitors", first]).await;
        let people = world.people(10).await;
        for person in &people {
            record_visit(&world, person).await;
        }
        world.redis.raw::<i64>(&["DEL", "ff:{g}:visit:days"]);
        // Another process is the first to record a visit after that.
        let other = app(&world.redis, &world.clock, &["--visit-expected-visitors", second]).await;
        other.authenticate(&people[0].token).await.unwrap();
        let late = world.register("late").await;
        record_visit(&world, &late).await;
        for person in &people {
            record_visit(&world, person).await;
        }
        assert_eq!(visits(&world, "(first: 1)").await, days([("2026-01-01", 11)]));
        world.clock.advance(DAY + Duration::from_mins(10));
        assert_eq!(world.app.close_days().await.unwrap(), 1);
        let stays = |key: &&String| world.redis.raw::<i64>(&["TTL", key]) == -1;
        assert_eq!(shards(&world).iter().filter(stays).count(), 0, "{first} {second}");
        assert_eq!(visits(&world, "(first: 1, before: \"2026-01-02\")").await, days([("2026-01-01", 11)]));
    }
}

#[tokio::test]
async fn a_visit_that_cannot_be_recorded_is_recorded_with_a_later_request() {
    let world = World::new().await;
    let people = world.people(2).await;
    world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "1"]);
    for person in &people {
        record_visit(&world, person).await;
    }
    world.redis.raw::<String>(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 0)]));
    record_visit(&world, &people[0]).await;
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 1)]));
}

#[tokio::test]
async fn a_day_whose_shards_expired_before_its_layout_was_removed_keeps_its_number() {
    let world = World::new().await;
    let people = world.people(3).await;
    for person in &people {
        record_visit(&world, person).await;
    }
    let layout: String = world.redis.raw(&["HGET", "ff:{g}:visit:days", &TODAY.to_string()]);
    world.clock.advance(DAY + Duration::from_mins(10));
    world.app.close_days().await.unwrap();
    // The process that closed it was killed before the last step, and no other ran for two days.
    world.redis.raw::<i64>(&["HSET", "ff:{g}:visit:days", &TODAY.to_string(), &layout]);
    for key in shards(&world) {
        world.redis.raw::<i64>(&["DEL", &key]);
    }
    world.clock.advance(DAY * 2);
    let listed = days([("2026-01-04", 0), ("2026-01-03", 0), ("2026-01-02", 0), ("2026-01-01", 3)]);
    assert_eq!(visits(&world, "").await, listed);
    assert_eq!(world.app.close_days().await.unwrap(), 1);
    assert_eq!(visits(&world, "").await, listed);
}

#[tokio::test]
async fn a_day_that_a_fast_clock_has_closed_is_reported_correctly() {
    let world = World::new().await;
    let people = world.people(5).await;
    for person in &people[..3] {
        record_visit(&world, person).await;
    }
    let fast = ManualClock::new();
    fast.advance(DAY + Duration::from_mins(11));
    let other = app(&world.redis, &fast, &[]).await;
    assert_eq!(other.close_days().await.unwrap(), 1);
    assert_eq!(visits(&world, "(first: 1)").await, days([("2026-01-01", 3)]));
    // Visits now count on the day that has begun elsewhere, and each user once.
    for _ in 0..2 {
        record_visit(&world, &people[3]).await;
        record_visit(&world, &people[4]).await;
    }
    assert_eq!(visits(&world, "(first: 1)").await, days([("2026-01-01", 3)]));
    world.clock.advance(DAY);
    assert_eq!(visits(&world, "").await, days([("2026-01-02", 2), ("2026-01-01", 3)]));
}

#[tokio::test]
async fn garbage_among_the_days_disturbs_nothing_else() {
    let world = World::new().await;
    let person = world.register("ada").await;
    record_visit(&world, &person).await;
    let garbage =
        [("abc", "x"), ("20000", "-5"), ("20001", "4294967295"), ("20002", "1.5"), ("", ""), ("20003", "0")];
    for (field, value) in garbage {
        world.redis.raw::<i64>(&["HSET", "ff:{g}:visit:days", field, value]);
    }
    assert_eq!(visits(&world, "").await, days([("2026-01-01", 1)]));
    world.clock.advance(DAY + Duration::from_mins(10));
    assert_eq!(world.app.close_days().await.unwrap(), 1);
    assert_eq!(visits(&world, "").await, days([("2026-01-02", 0), ("2026-01-01", 1)]));
    // Also where the layout of today is impossible.
    world.redis.raw::<i64>(&["HSET", "ff:{g}:visit:days", &(TODAY + 1).to_string(), "4294967295"]);
    record_visit(&world, &person).await;
}

#[tokio::test]
async fn visits_under_many_aliases_are_counted_once() {
    let world = World::new().await;
    let person = world.register("ada").await;
    record_visit(&world, &person).await;
    world.app.open_archive().await.unwrap();
    let aliases: Vec<String> =
        (0..30).map(|number| format!("v{number}: visits(first: {number}) {{ day }}")).collect();
    let (before, asked) = (world.app.store().round_trips(), world.app.archive_asked());
    world.data(None, &format!("{{ {} }}", aliases.join(" ")), Value::Null).await;
    assert_eq!(world.app.store().round_trips() - before, 2);
    assert_eq!(world.app.archive_asked(), asked, "Redis has all days since the first one");
}

#[tokio::test]
async fn while_the_archive_is_unavailable_days_stay_in_redis() {
    let database = Database::new(Kind::Sqlite).await;
    let world = World::with(&["--archive-url", &database.url]).await;
    let people = world.people(2).await;
    record_visit(&world, &people[0]).await;
    world.app.open_archive().await.unwrap();
    database.execute("ALTER TABLE visits RENAME TO away").await;
    world.clock.advance(Duration::from_mins(10));
    for _ in 0..3 {
        world.clock.advance(DAY);
        record_visit(&world, &people[1]).await;
        world.app.close_days().await.unwrap_err();
    }
    assert_eq!(world.app.days_to_close().await.unwrap(), 3);
    let is_kept = |key: &String| world.redis.raw::<i64>(&["TTL", key]) == -1;
    assert!(shards(&world).iter().all(is_kept));
    // Redis has all days so far.
    let listed = days([("2026-01-04", 1), ("2026-01-03", 1), ("2026-01-02", 1), ("2026-01-01", 1)]);
    assert_eq!(visits(&world, "").await, listed);
    database.execute("ALTER TABLE away RENAME TO visits").await;
    assert_eq!(world.app.close_days().await.unwrap(), 3);
    assert_eq!(world.app.days_to_close().await.unwrap(), 0);
    assert_eq!(visits(&world, "").await, listed);

    // Days that only the archive has cannot be returned without it; today can.
    database.execute("ALTER TABLE visits RENAME TO away").await;
    let response = world.ask(None, "{ visits { day } countries { code } }", Value::Null).await;
    assert_eq!(codes(&response), ["INTERNAL_SERVER_ERROR"]);
    assert!(response["data"]["visits"].is_null() && response["data"]["countries"].is_array());
    assert_eq!(visits(&world, "(first: 1)").await, listed[..1]);
}

#[tokio::test]
async fn a_visit_recorded_after_its_day_was_closed_counts_on_the_next() {
    let world = World::new().await;
    let people = world.people(4).await;
    record_visit(&world, &people[0]).await;
    let (clock, late) = (ManualClock::new(), ManualClock::new());
    // The clock of one server is a quarter of an hour behind.
    clock.advance(DAY + Duration::from_mins(11));
    late.advance(DAY.saturating_sub(Duration::from_mins(4)));
    let (one, other) = (app(&world.redis, &clock, &[]).await, app(&world.redis, &late, &[]).await);
    one.authenticate(&people[1].token).await.unwrap();
    assert_eq!(one.close_days().await.unwrap(), 1);
    for person in &people[..3] {
        other.authenticate(&person.token).await.unwrap();
    }
    one.close_days().await.unwrap();
    world.clock.advance(DAY + Duration::from_mins(11));
    // The first was counted on the first day, the second and third on the second.
    assert_eq!(visits(&world, "").await, days([("2026-01-02", 2), ("2026-01-01", 1)]));
}

on_every_kind! {
    the_number_of_a_day_never_becomes_less;
}

async fn the_number_of_a_day_never_becomes_less(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let day = Day::from_number;
    for (number, visitors) in [(20_454, 5), (-3, 1), (20_456, u64::from(u32::MAX) + 1), (20_455, 0)] {
        archive.write_visits(day(number), visitors).await.unwrap();
    }
    for (visitors, expected) in [(5, 5), (3, 5), (0, 5), (8, 8)] {
        archive.write_visits(day(20_454), visitors).await.unwrap();
        assert_eq!(archive.visits(day(20_454), 1).await.unwrap(), [(day(20_454), expected)]);
    }
    let all = [(20_456, u64::from(u32::MAX) + 1), (20_455, 0), (20_454, 8), (-3, 1)];
    let all = all.map(|(number, visitors)| (day(number), visitors));
    assert_eq!(archive.visits(day(i64::MAX), 100).await.unwrap(), all);
    assert_eq!(archive.visits(day(20_455), 2).await.unwrap(), all[1..3]);
    assert_eq!(archive.visits(day(-4), 2).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_visitors_are_counted_exactly_in_ten_bytes_each() {
    let crowd = share(1_000_000);
    let world = World::own(&["--visit-expected-visitors", &crowd.to_string()]).await;
    let store = world.app.store();
    let today = Day::from_number(TODAY);
    let layout = visit::fix_layout(store.keys(), today, crowd).send("test", store).await.unwrap();
    let ids: Vec<u64> = (1..=crowd).collect();
    for ids in ids.chunks(20_000) {
        let mut batch = Batch::new("test");
        // All users visit, and some visit again.
        for id in ids.iter().chain(ids.iter().step_by(10)) {
            drop(batch.push(visit::record(store.keys(), layout, UserId::new(*id).unwrap())));
        }
        batch.send(store).await.unwrap();
    }
    assert_eq!(world.app.load(VisitorCount(layout)).await.unwrap(), crowd);
    world.app.open_archive().await.unwrap();
    let before = world.app.store().round_trips();
    assert_eq!(visits(&world, "").await, days([("2026-01-01", i64::try_from(crowd).unwrap())]));
    assert_eq!(world.app.store().round_trips() - before, 2);

    let count = "local bytes, most = 0, 0 \
        for shard = 0, ARGV[1] - 1 do \
            local key = 'ff:{v' .. ARGV[2] .. '.' .. ARGV[1] .. '.' .. shard .. '}:visit' \
            if redis.call('OBJECT', 'ENCODING', key) ~= 'intset' then return {-1, shard} end \
            bytes = bytes + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) \
            most = math.max(most, redis.call('SCARD', key)) \
        end \
        return {bytes, most}";
    let arguments = [layout.shards.to_string(), TODAY.to_string()];
    let (bytes, most): (i64, u64) = world.redis.raw(&["EVAL", count, "0", &arguments[0], &arguments[1]]);
    assert!(bytes > 0, "shard {most} is no intset");
    assert!(bytes as u64 <= 10 * crowd, "{bytes} bytes");

    // Closing counts the same, and marks do not count.
    world.clock.advance(DAY * 2);
    assert_eq!(world.app.close_days().await.unwrap(), 1);
    let past = visits(&world, "(first: 1, before: \"2026-01-02\")").await;
    assert_eq!(past, days([("2026-01-01", i64::try_from(crowd).unwrap())]));
}
