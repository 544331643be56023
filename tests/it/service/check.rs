//! `fanfold check`: finds inconsistencies, and repairs them.

use std::collections::BTreeSet;

use fanfold::app::App;
use fanfold::app::check::Finding;
use fanfold::app::post::PublishRequest;
use fanfold::gate::Moment;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::relation::MuteScope;

use crate::harness::check::{check, check_archive};
use crate::harness::conversation::{Conversation, publish};
use crate::harness::document::{OPERATING, table};
use crate::harness::graph::Graph;
use crate::harness::sql::{Kind, on_every_kind};
use crate::harness::turnstile::Actor;
use crate::harness::world::World;

#[test]
fn the_page_for_operators_has_a_row_for_each_fault() {
    let rows = table(OPERATING, "| Line |");
    let described: BTreeSet<String> = rows.into_iter().map(|row| row[0].clone()).collect();
    let faults = Finding::ALL.iter().filter(|finding| finding.is_fault());
    assert_eq!(described, faults.map(|finding| format!("`{}`", finding.text())).collect());
}

/// 2,500 users, of whom u0 has more followers than are read at once.
async fn world() -> World {
    let world = World::with(&["--redis-expected-users", "3000"]).await;
    let graph = Graph::generated(2_500, 5_000, 4);
    let follows =
        (1..2_500).map(|follower| (follower, 0)).chain(graph.follows.into_iter().filter(|edge| edge.1 != 0));
    Graph { users: 2_500, follows: follows.collect() }.load(&world.app, None).await;
    world
}

#[tokio::test]
async fn inconsistencies_are_found_and_repaired() {
    let world = world().await;
    let well = check(&world.app, false).await;
    assert_eq!((well[Finding::Users], well.faults(), well[Finding::Unfinished]), (2_500, 0, 0));

    let raw = |words: &[&str]| world.redis.raw::<redis::Value>(words);
    // A missing mirror, one with another time, and one without a truth.
    raw(&["ZREM", "ff:{u1}:followers", "2"]);
    raw(&["ZADD", "ff:{u1}:followers", "7", "2400"]);
    raw(&["ZREM", "ff:{u3}:following", "1"]);
    // A follow of a user who does not exist, and one by such a user.
    raw(&["ZADD", "ff:{u5}:following", "5", "77777"]);
    raw(&["ZADD", "ff:{u5}:followers", "5", "88888"]);
    // A user whose name is missing from the index, and a name of no user.
    let shard = |name: &str| {
        let name = fanfold::model::user::Username::parse(name).unwrap();
        world.app.store().keys().names_with(&name).name().to_owned()
    };
    raw(&["HDEL", &shard("u6"), "u6"]);
    raw(&["HSET", &shard("nobody"), "nobody", "99999"]);
    // A name reserved for no user, and a user who follows themselves.
    raw(&["HSET", &shard("ghost"), "ghost", "?99998"]);
    raw(&["ZADD", "ff:{u9}:following", "5", "9"]);
    raw(&["ZADD", "ff:{u9}:followers", "5", "9"]);

    let found = check(&world.app, false).await;
    assert_eq!(
        (found[Finding::TornEdges], found[Finding::DanglingEdges], found[Finding::WrongNames]),
        (3, 4, 3)
    );
    let repaired = check(&world.app, true).await;
    assert!(repaired.faults() >= 9, "the mirror of a dropped edge is dropped, too");
    let after = check(&world.app, false).await;
    assert_eq!((after[Finding::Users], after.faults()), (2_500, 0));
    assert_eq!(after[Finding::Edges], well[Finding::Edges] - 1, "the truth decides");
    let follows = |key: &str, member: &str| world.redis.raw::<Option<i64>>(&["ZSCORE", key, member]);
    assert_eq!(follows("ff:{u1}:followers", "2"), follows("ff:{u2}:following", "1"));
    assert_eq!(follows("ff:{u1}:followers", "3"), None);
    assert_eq!(world.redis.raw::<String>(&["HGET", &shard("u6"), "u6"]), "7");
}

#[tokio::test]
async fn faults_of_blocks_and_requests_are_found_once_and_repaired() {
    let world = world().await;
    let raw = |words: &[&str]| world.redis.raw::<redis::Value>(words);
    // A block that lacks its mirror, and a mirror that lacks its block. The users are not checked together.
    raw(&["ZADD", "ff:{u20}:blocking", "5", "2400"]);
    raw(&["ZADD", "ff:{u2401}:blockers", "5", "21"]);
    // A block of a follower.
    raw(&["ZADD", "ff:{u22}:blocking", "5", "2402"]);
    raw(&["ZADD", "ff:{u2402}:blockers", "5", "22"]);
    raw(&["ZADD", "ff:{u2402}:following", "5", "22"]);
    raw(&["ZADD", "ff:{u22}:followers", "5", "2402"]);
    // Requests to follow a user whose account is public: more than are accepted together.
    for user in 1_000..2_200 {
        let user = user.to_string();
        raw(&["ZREM", "ff:{u2403}:followers", &user]);
        raw(&["ZREM", &format!("ff:{{u{user}}}:following"), "2403"]);
        raw(&["ZADD", &format!("ff:{{u{user}}}:requesting"), "5", "2403"]);
        raw(&["ZADD", "ff:{u2403}:requests", "5", &user]);
    }

    let found = check(&world.app, false).await;
    let faults = (found[Finding::TornBlocks], found[Finding::CrossedBlocks], found[Finding::StrayRequests]);
    assert_eq!((faults, found.faults()), ((2, 1, 1_000), 1_003));
    check(&world.app, true).await;
    assert_eq!(check(&world.app, false).await.faults(), 0);
    let time = |key: &str, member: &str| world.redis.raw::<Option<i64>>(&["ZSCORE", key, member]);
    assert_eq!(time("ff:{u2400}:blockers", "20"), Some(5), "the truth decides");
    assert_eq!(time("ff:{u2401}:blockers", "21"), None);
    assert_eq!(time("ff:{u2402}:following", "22"), None);
    assert_eq!(time("ff:{u22}:followers", "2402"), None);
    assert_eq!(world.redis.raw::<u64>(&["ZCARD", "ff:{u2403}:requests"]), 0);
    assert!(time("ff:{u2199}:following", "2403").is_some(), "the requests are accepted");
}

#[tokio::test]
async fn mutes_that_an_erasure_would_miss_are_found_and_repaired() {
    let world = World::with(&["--redis-expected-users", "100"]).await;
    let people = world.people(3).await;
    let muter = world.app.authenticate(&people[0].token).await.unwrap();
    for muted in [2, 3] {
        world.app.mute(&muter, UserId::new(muted).unwrap(), MuteScope::All, None).await.unwrap();
    }
    assert_eq!(check(&world.app, false).await.faults(), 0);

    // A tie is lost on one side, another on the other; and a mute is left of an account that was erased.
    world.redis.raw::<i64>(&["SREM", "ff:{u1}:ties:0", "2"]);
    world.redis.raw::<i64>(&["DEL", "ff:{u3}:ties:0"]);
    world.redis.raw::<i64>(&["HSET", "ff:{u1}:muting", "90", "5::all"]);
    let found = check(&world.app, false).await;
    assert_eq!((found[Finding::UntiedMutes], found.faults()), (3, 3));
    check(&world.app, true).await;
    assert_eq!(check(&world.app, false).await.faults(), 0);
    let ties =
        |user: u64| -> BTreeSet<u64> { world.redis.raw(&["SMEMBERS", &format!("ff:{{u{user}}}:ties:0")]) };
    assert_eq!(
        [ties(1), ties(2), ties(3)],
        [BTreeSet::from([2, 3]), BTreeSet::from([1]), BTreeSet::from([1])]
    );
    let mut muted: Vec<u64> = world.redis.raw(&["HKEYS", "ff:{u1}:muting"]);
    muted.sort_unstable();
    assert_eq!(muted, [2, 3]);
}

async fn faults_of_replies_and_quotes_are_found_and_repaired(kind: Kind) {
    let conversation = Conversation::new(kind).await;
    let Conversation { world, database, plain, archived, hot, replies, .. } = &conversation;
    let well = conversation.stored().await;
    assert_eq!(check(&world.app, false).await.faults(), 0);

    let raw = |words: &[&str]| world.redis.raw::<redis::Value>(words);
    let (list, record) = (format!("ff:{{p{hot}}}:replies"), format!("ff:{{p{hot}}}:post"));
    let (limited, withheld) = (format!("{list}:limited"), format!("{list}:withheld"));
    let text = |place: usize, reply: usize| replies[place][reply].to_string();
    // A reply that is missing, with its count; and posts that do not exist, or do not refer to this one.
    raw(&["LREM", &list, "1", &text(1, 0)]);
    raw(&["HSET", &record, "details", "9 0 0 0 1 1"]);
    raw(&["RPUSH", &list, &text(0, 3)]);
    // One in a wrong list, one in a second list, one with another author, and one of a post that has never changed.
    raw(&["LREM", &limited, "1", &format!("{}:3", text(1, 4))]);
    raw(&["LPUSH", &list, &text(1, 4), "77777"]);
    raw(&["LPUSH", &limited, &format!("{}:4", text(1, 5))]);
    raw(&["LSET", &limited, "-1", &format!("{}:9", text(1, 1))]);
    raw(&["RPUSH", &format!("ff:{{p{}}}:quotes:withheld", replies[1][1]), "77777"]);
    assert_eq!(world.redis.raw::<u64>(&["LLEN", &withheld]), 1);
    // The same in the archive, and a list of no post.
    let entry = |reply: usize| format!("WHERE target = {archived} AND referrer = {}", replies[0][reply]);
    database.execute(&format!("DELETE FROM referrers {}", entry(0))).await;
    database.execute(&format!("UPDATE referrers SET kind = 1, author = NULL {}", entry(4))).await;
    database.execute(&format!("UPDATE referrers SET author = 9 {}", entry(1))).await;
    for (kind, target, referrer, author) in [
        (1, *archived, 77_777, "NULL"),
        (1, *archived, replies[1][3], "NULL"),
        (4, *archived, replies[0][5], "4"),
        (8, *plain, 77_777, "NULL"),
        (1, 88_888, replies[0][2], "NULL"),
        (7, 88_888, 5, "NULL"),
    ] {
        let columns = "referrers (kind, target, referrer, author)";
        let insert = format!("INSERT INTO {columns} VALUES ({kind}, {target}, {referrer}, {author})");
        database.execute(&insert).await;
    }
    database.execute(&format!("UPDATE posts SET details = '9 0 0 0 7 1' WHERE id = {archived}")).await;
    let found = check(&world.app, false).await;
    assert_eq!((found[Finding::WrongReferrals], found[Finding::MiscountedReferrals]), (7 + 8, 2));
    assert_eq!(found.faults(), 17);
    check(&world.app, true).await;
    assert_eq!(check(&world.app, false).await.faults(), 0);
    assert_eq!(conversation.stored().await, well);
}

on_every_kind! {
    faults_of_replies_and_quotes_are_found_and_repaired;
}

#[tokio::test]
async fn a_wrong_number_of_replies_and_quotes_is_corrected_although_the_lists_are_right() {
    let conversation = Conversation::new(Kind::Sqlite).await;
    let Conversation { world, hot, .. } = &conversation;
    let well = conversation.stored().await;
    let record = format!("ff:{{p{hot}}}:post");
    for counts in ["0 7 1", "5 2 0", "0 0 0"] {
        assert_ne!(counts, Conversation::COUNTS);
        world.redis.raw::<i64>(&["HSET", &record, "details", &format!("9 0 0 {counts}")]);
        for _ in 0..2 {
            let found = check(&world.app, false).await;
            assert_eq!((found[Finding::MiscountedReferrals], found.faults()), (1, 1), "{counts}");
        }
        assert_ne!(conversation.stored().await, well, "without a repair, nothing changes");
        check(&world.app, true).await;
        assert_eq!(conversation.stored().await, well, "{counts}");
        assert_eq!(check(&world.app, false).await.faults(), 0, "{counts}");
    }
}

/// Begins to check and repair all users, and is held before it corrects a number.
async fn begin_repair(world: &World) -> Actor {
    let mut repair = Actor::begin(&world.app, async |app: App| drop(app.check_users(1, true).await)).await;
    repair.step_to(Moment::Before, "check: counts").await;
    assert!(repair.waits.is_some(), "the number is to be corrected");
    repair
}

#[tokio::test]
async fn replies_and_deletions_while_a_number_is_corrected_are_not_lost() {
    let conversation = Conversation::new(Kind::Sqlite).await;
    let Conversation { world, viewers, hot, .. } = &conversation;
    let record = format!("ff:{{p{hot}}}:post");
    let miscount = || world.redis.raw::<i64>(&["HSET", &record, "details", "9 0 0 0 7 1"]);
    let details = || world.redis.raw::<String>(&["HGET", &record, "details"]);
    miscount();
    let mut repair = begin_repair(world).await;
    let request = PublishRequest { in_reply_to: PostId::new(*hot), ..PublishRequest::default() };
    publish(world, &viewers[1], request).await;
    repair.finish().await;
    assert!(details().ends_with(" 0 3 1"), "the new reply counts: {}", details());
    assert_eq!(check(&world.app, false).await.faults(), 0);

    miscount();
    let mut repair = begin_repair(world).await;
    world.app.delete_post(&viewers[0], PostId::new(*hot).unwrap()).await.unwrap();
    let deleted = details();
    repair.finish().await;
    assert_eq!(details(), deleted, "a deleted post stays as it is");
}

#[tokio::test]
async fn entries_that_a_walk_will_move_are_no_faults_while_its_job_is_due() {
    let conversation = Conversation::new(Kind::Sqlite).await;
    let Conversation { world, hot, .. } = &conversation;
    world.app.import_private(&[id(2)]).await.unwrap();
    let listed = || world.redis.raw::<u64>(&["LLEN", &format!("ff:{{p{hot}}}:replies")]);
    assert_eq!((check(&world.app, false).await.faults(), listed()), (0, 2), "the job is due");

    // The job is lost. One that is due much later is not about posts.
    let jobs = "ff:{g}:account:jobs";
    world.redis.raw::<u64>(&["DEL", jobs]);
    let later = (world.app.now().as_millis() + 3_600_000).to_string();
    world.redis.raw::<u64>(&["ZADD", jobs, &later, "2:ff"]);
    let found = check(&world.app, false).await;
    assert_eq!((found[Finding::WrongReferrals], found.faults()), (2 * 3, 2 * 3));
    assert_eq!(listed(), 2, "without a repair, nothing changes");
    check(&world.app, true).await;
    assert_eq!((check(&world.app, false).await.faults(), listed()), (0, 0));
}

#[tokio::test]
async fn data_that_cannot_be_read_does_not_hide_the_faults_of_others() {
    let conversation = Conversation::new(Kind::Sqlite).await;
    let Conversation { world, database, archived, hot, replies, .. } = &conversation;
    conversation.write_earlier_lists(*hot, "1 4 1");
    let wrong = |post: u64| world.redis.raw::<String>(&["SET", &format!("ff:{{p{post}}}:post"), "x"]);
    wrong(replies[1][2]);
    wrong(replies[0][2]);
    let other = replies[1][3];
    world.redis.raw::<String>(&["SET", &format!("ff:{{p{other}}}:replies:limited"), "x"]);
    database.execute(&format!("UPDATE posts SET details = 'x' WHERE id = {archived}")).await;
    let faults = async |repair| {
        let users: Vec<UserId> = (1..=4).map(id).collect();
        let mut found = world.app.check_posts(&users, repair).await.unwrap();
        found += check_archive(&world.app, repair).await.unwrap();
        (found[Finding::WrongReferrals], found[Finding::MiscountedReferrals])
    };
    assert_eq!(faults(false).await, (4, 1), "a reply for followers, those of two accounts, and a repost");
    faults(true).await;
    assert_eq!(faults(false).await, (0, 0));
    let listed = world.redis.raw::<Vec<u64>>(&["LRANGE", &format!("ff:{{p{hot}}}:replies"), "0", "-1"]);
    assert_eq!(listed, [replies[1][2], replies[1][0]], "the entry of an unreadable post stays");
}

fn id(user: u64) -> UserId {
    UserId::new(user).unwrap()
}

/// Suspends a user, and is interrupted when only the record says so.
async fn begin_suspension(world: &World, user: u64) {
    let suspend = async move |app: App| {
        drop(app.suspend_user(&Moderator::Operator, id(user), ActionNote::default()).await);
    };
    let mut actor = Actor::begin(&world.app, suspend).await;
    actor.step_to(Moment::After, "account: record").await;
    assert!(actor.waits.is_some(), "the record has changed");
    actor.interrupt().await;
}

#[tokio::test]
async fn an_account_that_is_partly_inactive_is_a_fault_unless_its_job_is_pending() {
    let world = World::with(&["--redis-expected-users", "100"]).await;
    let people = world.people(3).await;
    world.follow(&people[0], &people[1]).await;
    begin_suspension(&world, 2).await;
    let jobs = "ff:{g}:account:jobs";
    let job: Vec<String> = world.redis.raw(&["ZRANGE", jobs, "0", "-1"]);
    assert_eq!(check(&world.app, false).await.faults(), 0, "the job is pending");

    // The job is lost. Those of other accounts do not make up for it.
    begin_suspension(&world, 3).await;
    world.redis.raw::<i64>(&["ZREM", jobs, &job[0]]);
    let found = check(&world.app, false).await;
    assert!(found[Finding::WrongActivities] > 0, "{found:?}");
    assert_eq!(found.faults(), found[Finding::WrongActivities]);
    let follows = || world.redis.raw::<u64>(&["ZCARD", "ff:{u1}:following"]);
    assert_eq!(follows(), 1, "without a repair, nothing changes");
    check(&world.app, true).await;
    assert_eq!(follows(), 0, "the follow is withheld");
    assert!(world.redis.raw::<Option<f64>>(&["ZSCORE", "ff:{g}:inactive", "2"]).is_some());
    assert_eq!(check(&world.app, false).await.faults(), 0);
}
