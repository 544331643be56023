//! The keys of the hot store: what one can forget about a key, or about a field of a record, is found here by its name.

use serde_json::Value;

use crate::harness::world::{World, deliver_all};

const SOURCE: &str = include_str!("../../../src/store/key.rs");

/// The keys that `fanfold check` compares with others, each with what it finds.
const CHECKED: [(&str, &str); 25] = [
    ("names", "wrong names"),
    ("subjects", "wrong subjects"),
    ("user", "wrong names"),
    ("intents", "unfinished operations"),
    ("following", "torn and dangling edges"),
    ("followers", "torn and dangling edges"),
    ("requesting", "torn and dangling edges"),
    ("requests", "torn and dangling edges, requests to public accounts"),
    ("withheld", "accounts partly inactive"),
    ("inactive", "accounts partly inactive"),
    ("muting", "mutes without a tie"),
    ("ties", "mutes without a tie"),
    ("blocking", "torn blocks, follows across a block"),
    ("blockers", "torn blocks, follows across a block"),
    ("blocker_count", "torn blocks, follows across a block"),
    ("blocker_shard", "torn blocks, follows across a block"),
    ("cold", "archived post counts"),
    ("posts", "archived post counts"),
    ("post_times", "wrong creation times"),
    ("limited", "wrong sets of follower-only posts"),
    ("gone", "archived post counts"),
    ("referrers", "wrong and miscounted replies and quotes"),
    ("fanout_failed", "abandoned deliveries"),
    ("unmovable", "posts that the archive rejected"),
    ("publishing", "unfinished posts"),
];

/// The keys that need no check, each with the reason.
const UNCHECKED: [(&str, &[&str]); 7] = [
    (
        "has no second place that could differ",
        &[
            "secret",
            "sessions",
            "post",
            "edits",
            "regions",
            "stars",
            "numbered_stars",
            "invites",
            "invite",
            "invite_users",
            "moderation_log",
            "reports",
            "report_records",
            "report_ids",
            "report_counts",
        ],
    ),
    (
        "a setting, a counter or a probe",
        &["layout", "next_user", "next_post", "issuer", "probe", "fanout_served", "moved", "next_report"],
    ),
    ("changes in the same step as the list of posts", &["reposted"]),
    ("derived, and rebuilt when it is missing", &["recent", "timeline"]),
    (
        "expires",
        &[
            "void",
            "written",
            "recovery",
            "recoveries",
            "export",
            "fence",
            "removed",
            "attempt",
            "audience",
            "viewed",
            "expiring",
            "closed_visits",
            "known_addresses",
        ],
    ),
    (
        "a bucket, which expires",
        &[
            "logins_from",
            "registrations_from",
            "cost_of",
            "events_of",
            "changes_of",
            "publishes_of",
            "privacy_of",
            "cost_from",
            "logins_to",
            "known_logins_to",
            "guesses",
            "sign_ins_of",
            "sign_ins_from",
            "reports_of",
        ],
    ),
    (
        "work in progress, which another process takes over",
        &[
            "account_jobs",
            "fanout",
            "sweep",
            "fanout_open",
            "fanout_ready",
            "fanout_held",
            "fanout_turns",
            "fanout_progress",
            "pending",
            "moving",
            "movers",
            "visit_days",
            "visits",
            "invite_unfinished",
        ],
    ),
];

/// Returns the methods that build keys.
fn methods() -> Vec<&'static str> {
    let lines =
        SOURCE.lines().map(str::trim).filter(|line| line.contains("-> Key<") && !line.contains("Channel"));
    let name = |line: &'static str| Some(line.strip_prefix("pub fn ")?.split(['(', '<']).next().unwrap());
    // `names_with` and `subjects_with` are shards of names and subjects, and `list` one of the other keys.
    lines.filter_map(name).filter(|name| !["names_with", "subjects_with", "list"].contains(name)).collect()
}

#[test]
fn every_key_is_checked_or_needs_no_check() {
    let unchecked = UNCHECKED.iter().flat_map(|(_, keys)| keys.iter().copied());
    let known: Vec<&str> = CHECKED.iter().map(|(key, _)| *key).chain(unchecked).collect();
    let methods = methods();
    let forgotten: Vec<_> = methods.iter().filter(|method| !known.contains(method)).collect();
    assert!(forgotten.is_empty(), "check them in `app::check`, or state why not: {forgotten:?}");
    let gone: Vec<_> = known.iter().filter(|key| !methods.contains(key)).collect();
    assert!(gone.is_empty(), "no such keys any more: {gone:?}");
}

/// The keys of a user's slot that the erasure does not delete with the others, each with the reason.
const NOT_ERASED: [(&str, &str); 10] = [
    ("user", "the last step deletes it"),
    ("secret", "goes with the record"),
    ("sessions", "goes with the record"),
    ("recovery", "goes with the record"),
    ("void", "keeps the record from coming back, and expires"),
    ("fence", "expires within a minute"),
    ("changes_of", "a bucket for each other user, which expires within an hour"),
    ("find", "exists within a transaction only"),
    ("attempt", "is deleted by its name in `expiring`"),
    ("guesses", "is deleted by its name in `expiring`"),
];

const ERASURE: &str = include_str!("../../../src/store/erasure.rs");

#[test]
fn every_key_of_a_user_is_erased() {
    let mut name = "";
    let mut of_users = Vec::new();
    for line in SOURCE.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub fn ") {
            name = if line.contains("Channel") { "" } else { rest.split(['(', '<']).next().unwrap() };
        }
        if !name.is_empty() && line.contains("self.key(Tag::User(") && name != "expiring_named" {
            of_users.push(name);
        }
    }
    assert!(of_users.len() > 25, "{of_users:?}");
    let is_erased = |name: &str| ERASURE.contains(&format!("keys.{name}("));
    let is_exempt = |name: &str| NOT_ERASED.iter().any(|(other, _)| *other == name);
    let forgotten: Vec<_> = of_users.iter().filter(|name| is_erased(name) == is_exempt(name)).collect();
    assert!(forgotten.is_empty(), "delete them in `store::erasure`, or state why not: {forgotten:?}");
}

/// The source that documents the fields to which a row with [`OF_USER`] refers.
const USER: &str = include_str!("../../../src/store/user.rs");
const OF_USER: &str = "::store::user`]";

/// Returns the row of the key table for a record.
fn row(key: &str) -> &'static str {
    let is_row = |line: &&str| line.starts_with("//! |") && line.contains(&format!("`{key}`"));
    SOURCE.lines().find(is_row).unwrap_or_else(|| panic!("{key} has no row in the key table"))
}

#[tokio::test]
async fn every_field_of_a_record_is_in_the_key_table() {
    let world = World::with(&["--post-hot-limit", "1"]).await;
    let people = world.people(2).await;
    let publish = "mutation { publish(input: { content: \"x\", platform: \"web\" }) { post { id } } }";
    for _ in 0..2 {
        world.data(Some(&people[0].token), publish, Value::Null).await;
    }
    deliver_all(&world.app).await;
    let mut missing = Vec::new();
    for (key, documented) in [
        ("ff:{u1}:user", "ff:{u7}:user"),
        ("ff:{u1}:secret", "ff:{u7}:secret"),
        ("ff:{p1}:post", "ff:{p9}:post"),
        ("ff:{g}:layout", "ff:{g}:layout"),
    ] {
        let fields = world.redis.raw::<Vec<String>>(&["HKEYS", key]);
        assert!(!fields.is_empty(), "{key}");
        let row = row(documented);
        let is_in_row = |field: &str| row.contains(&format!("`{field}`"));
        let is_of_user = |field: &str| row.contains(OF_USER) && USER.contains(&format!(" = \"{field}\";"));
        let fields = fields.into_iter().filter(|field| !is_in_row(field) && !is_of_user(field));
        missing.extend(fields.map(|field| format!("{documented}: {field}")));
    }
    assert!(missing.is_empty(), "not in the table of `store::key`: {missing:?}");
}
