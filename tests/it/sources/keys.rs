//! The keys of the hot store: what one can forget about a key, or about a field of a record, is found here by its name.

use std::collections::BTreeSet;

use fanfold::app::account::export::position::Section;
use fanfold::app::check::Finding;
use fanfold::store::key::KEYS;
use fanfold::store::key::row::{Fact, Row};
use serde_json::Value;

use crate::harness::world::{World, deliver_all};

/// Returns the methods of the rows for which this is true.
fn methods(is_meant: impl Fn(&Row) -> bool) -> Vec<&'static str> {
    KEYS.iter().filter(|row| is_meant(row)).map(|row| row.method).collect()
}

/// Returns the number of a row's facts for which this is true.
fn count(row: &Row, is_meant: impl Fn(&Fact) -> bool) -> usize {
    row.facts.iter().filter(|fact| is_meant(fact)).count()
}

fn is_bound(fact: &Fact) -> bool {
    matches!(fact, Fact::Fixed | Fact::Limit(_) | Fact::Expiry(_) | Fact::Deletion(_))
}

fn is_check(fact: &Fact) -> bool {
    use Fact::{Check, Derived, Resumed, Setting, Sole, Unchecked};
    matches!(fact, Check(_) | Sole | Setting | Derived | Resumed | Unchecked(_))
}

#[test]
fn every_key_has_a_bound() {
    let unbound = methods(|row| !row.is_channel() && count(row, is_bound) != 1);
    assert!(unbound.is_empty(), "state what bounds these keys, once: {unbound:?}");
}

#[test]
fn every_key_is_checked_or_needs_no_check() {
    let is_finding = |fact: &Fact| matches!(fact, Fact::Check(_));
    let is_reason = |fact: &Fact| is_check(fact) && !is_finding(fact);
    let is_exempt = |row: &Row| row.is_channel() || count(row, |fact| matches!(fact, Fact::Expiry(_))) > 0;
    let forgotten = methods(|row| {
        let said = usize::from(count(row, is_finding) > 0) + count(row, is_reason);
        said != usize::from(!is_exempt(row))
    });
    assert!(forgotten.is_empty(), "check them in `app::check`, or state why not: {forgotten:?}");
    let finding = |fact: &Fact| if let Fact::Check(finding) = fact { Some(*finding) } else { None };
    let stated: BTreeSet<&str> = KEYS.iter().flat_map(|row| row.facts).filter_map(finding).collect();
    let of_keys = |finding: &&Finding| finding.is_fault() || **finding == Finding::Unfinished;
    let found: BTreeSet<&str> = Finding::ALL.iter().filter(of_keys).map(|finding| finding.text()).collect();
    assert_eq!(stated, found, "a check finds what the rows state");
}

const SECURITY: &str = include_str!("../../../docs/security.md");

/// Returns true if a row of a table of the page on security has this limit: its option, or its number and noun.
fn is_listed(limit: &str) -> bool {
    let mut words = limit.split(' ');
    let (first, noun) = (words.next().unwrap(), words.next().unwrap_or_default());
    SECURITY.lines().filter(|line| line.starts_with('|')).any(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let is_limit_of = || cells[1].to_lowercase().split(' ').any(|word| word == noun) && cells[3] == first;
        if first.starts_with("--") { cells[2] == format!("`{first}`") } else { is_limit_of() }
    })
}

#[test]
fn every_limit_of_a_key_is_on_the_page_on_security() {
    let is_unlisted = |fact: &Fact| if let Fact::Limit(limit) = fact { !is_listed(limit) } else { false };
    let is_derived = |fact: &Fact| *fact == Fact::Derived;
    let unlisted = methods(|row| count(row, is_unlisted) > 0 && count(row, is_derived) == 0);
    assert!(unlisted.is_empty(), "list the limits of these keys in docs/security.md: {unlisted:?}");
}

const ERASURE: &str = include_str!("../../../src/store/erasure.rs");
const KEY: &str = include_str!("../../../src/store/key/mod.rs");

/// Returns true if an erasure names this method, itself or through the method that names those of all reactions.
fn is_named_in_erasure(method: &str) -> bool {
    let (_, reacted) = KEY.split_once("fn reacted(").expect("a method names the reactions");
    let (reacted, _) = reacted.split_once("\n    }\n").unwrap();
    let is_reaction = ERASURE.contains("keys.reacted(") && reacted.contains(&format!("self.{method}("));
    is_reaction || ERASURE.contains(&format!("keys.{method}("))
}

/// Keys with fixed names are deleted unless their row says why not.
#[test]
fn every_key_of_a_user_is_erased() {
    let is_named = |row: &Row| is_named_in_erasure(row.method);
    let has_shards = |row: &Row| !row.arguments.is_empty() || row.is_compact_set();
    let needs_name = |row: &Row| row.is_of_user() && has_shards(row) && !row.is_kept();
    let wrong = methods(|row| is_named(row) != needs_name(row));
    assert!(wrong.is_empty(), "delete them in `store::erasure`, or state in their rows why not: {wrong:?}");
    let stray = methods(|row| row.is_kept() && !row.is_of_user());
    assert!(stray.is_empty(), "the erasure of a user deletes no keys of other slots: {stray:?}");
}

#[test]
fn every_key_of_a_user_is_exported_or_says_why_not() {
    let is_exempt = |row: &Row| count(row, |fact| matches!(fact, Fact::Expiry(_) | Fact::Derived)) > 0;
    let needs_export = |row: &Row| row.is_of_user() && !row.is_channel() && !is_exempt(row);
    let is_export = |fact: &Fact| matches!(fact, Fact::Export(_) | Fact::Unexported(_));
    let wrong = methods(|row| count(row, is_export) != usize::from(needs_export(row)));
    assert!(wrong.is_empty(), "export what these keys hold, or state why not: {wrong:?}");
    let record = |fact: &Fact| if let Fact::Export(record) = fact { Some(*record) } else { None };
    let stated: BTreeSet<&str> = KEYS.iter().flat_map(|row| row.facts).filter_map(record).collect();
    let exported: BTreeSet<&str> = Section::ALL.iter().map(|section| section.records().0).collect();
    assert_eq!(stated, exported, "the sections of an export are what the rows state");
}

#[test]
fn every_key_that_may_grow_is_measured_or_says_why_not() {
    let is_exempt = |row: &Row| {
        let needs_none = |fact: &Fact| matches!(fact, Fact::Fixed | Fact::Expiry(_) | Fact::Resumed);
        row.is_channel() || count(row, needs_none) > 0
    };
    let wrong = methods(|row| {
        let (measured, reasons) =
            (row.footprints().count(), count(row, |fact| matches!(fact, Fact::Unmeasured(_))));
        (measured > 0) == (reasons > 0) && !(is_exempt(row) && reasons == 0)
    });
    assert!(wrong.is_empty(), "state the items that `fanfold memory` measures, or why none: {wrong:?}");
}

#[tokio::test]
async fn every_footprint_is_that_of_a_key() {
    let world = World::new().await;
    let usage = world.app.measure_memory().await.unwrap();
    let measured: BTreeSet<&str> = usage.footprints.iter().map(|footprint| footprint.kind).collect();
    let stated: BTreeSet<&str> = KEYS.iter().flat_map(Row::footprints).collect();
    assert_eq!(measured, stated, "`app::memory` measures what the rows state");
}

/// The source that documents the fields to which a row with [`OF_USER`] refers.
const USER: &str = include_str!("../../../src/store/user.rs");
const OF_USER: &str = "::store::user`]";

#[tokio::test]
async fn every_field_of_a_record_is_in_the_table_of_keys() {
    let world = World::with(&["--post-hot-limit", "1"]).await;
    let people = world.people(2).await;
    let publish = "mutation { publish(input: { content: \"x\", platform: \"web\" }) { post { id } } }";
    for _ in 0..2 {
        world.data(Some(&people[0].token), publish, Value::Null).await;
    }
    deliver_all(&world.app).await;
    let mut missing = Vec::new();
    for (key, method) in [
        ("ff:{u1}:user", "user"),
        ("ff:{u1}:secret", "secret"),
        ("ff:{p1}:post", "post"),
        ("ff:{g}:layout", "layout"),
    ] {
        let fields = world.redis.raw::<Vec<String>>(&["HKEYS", key]);
        assert!(!fields.is_empty(), "{key}");
        let holds = KEYS.iter().find(|row| row.method == method).expect("it is a key").holds;
        let is_in_row = |field: &str| holds.contains(&format!("`{field}`"));
        let is_of_user = |field: &str| holds.contains(OF_USER) && USER.contains(&format!(" = \"{field}\";"));
        let fields = fields.into_iter().filter(|field| !is_in_row(field) && !is_of_user(field));
        missing.extend(fields.map(|field| format!("{key}: {field}")));
    }
    assert!(missing.is_empty(), "not in the table of `store::key`: {missing:?}");
}
