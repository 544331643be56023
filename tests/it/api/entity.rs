//! The parser of mentions, hashtags and links, against the conformance suite of twitter-text and with random contents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use fanfold::model::entity::{MOST_MENTIONS, MOST_TAGS, Target, entities, mentions, segments, tags};
use fanfold::model::user::Username;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::case::model_config;
use crate::harness::program::stdout_of;

const WITHOUT_PROTOCOL: &str = "twitter-text 2 dropped the rule: a country's domain needs no path either";
const SHORTENER: &str = "Twitter's shortener has no rules of its own here";

/// The cases of the suite whose results differ, and the reasons.
const DIFFERENCES: [(&str, &str); 7] = [
    ("Extract a hyphenated TLD (usually a typo)", "twitter-text 2 does not extract it any more"),
    ("Extract URLs without protocol not on (com|org|edu|gov|net) domains", WITHOUT_PROTOCOL),
    ("DO NOT extract short URLs without protocol on ccTLD domains without path", WITHOUT_PROTOCOL),
    ("Extract URL before newline", WITHOUT_PROTOCOL),
    ("Extract a t.co URL with a trailing apostrophe", SHORTENER),
    ("Extract a t.co URL with a trailing hyphen", SHORTENER),
    ("Extract t.co URLs skipping trailing characters and adjusting indices correctly", SHORTENER),
];

/// The parts of the suite about entities that posts have: not replies, lists and cashtags.
const PARTS: [(&str, &str); 7] = [
    ("mentions", "screen_name"),
    ("mentions_with_indices", "screen_name"),
    ("urls", "url"),
    ("urls_with_indices", "url"),
    ("hashtags", "hashtag"),
    ("hashtags_from_astral", "hashtag"),
    ("hashtags_with_indices", "hashtag"),
];

/// A case of the suite.
#[derive(serde::Deserialize)]
struct Case {
    description: String,
    text: String,
    expected: Value,
}

/// Returns the directory of a package that the tests depend on.
fn package(name: &str) -> PathBuf {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version=1", "--locked", "--offline"]);
    let metadata = stdout_of(command.current_dir(env!("CARGO_MANIFEST_DIR")));
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == name).unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// Returns the entities that a case asks for, in the form of the suite: the text without its sign, and its range in code
/// points if `with_indices`.
fn extracted(text: &str, key: &str, with_indices: bool) -> Value {
    let entities = entities(text).into_iter().filter_map(|entity| {
        let whole = &text[entity.range.clone()];
        let without_sign = &whole[whole.chars().next()?.len_utf8()..];
        let found = match (entity.target, key) {
            (Target::Mention(_), "screen_name") | (Target::Hashtag(_), "hashtag") => without_sign,
            (Target::Link(_), "url") => whole,
            _ => return None,
        };
        let start = text[..entity.range.start].chars().count();
        let indices = json!([start, start + whole.chars().count()]);
        Some(if with_indices { json!({ key: found, "indices": indices }) } else { json!(found) })
    });
    entities.collect()
}

#[test]
fn the_conformance_suite_of_twitter_text_passes_apart_from_listed_differences() {
    let suite = std::fs::read_to_string(package("egg-mode-text").join("src/extract.yml")).unwrap();
    let suite: BTreeMap<String, BTreeMap<String, Value>> = serde_saphyr::from_str(&suite).unwrap();
    let (mut count, mut different) = (0, BTreeMap::new());
    for (part, key) in PARTS {
        let cases: Vec<Case> = serde_json::from_value(suite["tests"][part].clone()).unwrap();
        count += cases.len();
        for Case { description, text, expected } in cases {
            let found = extracted(&text, key, part.ends_with("with_indices"));
            if found != expected {
                different.insert(description, format!("{text:?}: {found}, not {expected}"));
            }
        }
    }
    assert!(count > 170, "{count} cases");
    let listed: BTreeSet<_> = DIFFERENCES.iter().map(|(description, _)| (*description).to_owned()).collect();
    assert_eq!(different.keys().cloned().collect::<BTreeSet<_>>(), listed, "{different:#?}");
}

/// Text of several scripts, and what entities consist of.
const FRAGMENTS: [&str; 44] = [
    "@",
    "＠",
    "#",
    "＃",
    "@ada",
    "@Ben_1",
    "#tag",
    "#Ünï",
    "RT",
    "http://",
    "HTTPS://",
    "a.org",
    "é.みんな",
    "www.",
    ".co.uk",
    ":80",
    "/",
    "/path",
    "(",
    ")",
    "?q=1",
    "&",
    "$",
    "-",
    "_",
    ".",
    ",",
    " ",
    "\n",
    "9",
    "é",
    "e\u{301}",
    "ñ",
    "日本",
    "ｱﾞ",
    "שלום",
    "مرحبا",
    "\u{200D}",
    "\u{200F}",
    "\u{2066}",
    "\u{FE0F}",
    "\u{20E3}",
    "👩‍👩‍👧",
    "🏿",
];

fn contents() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => prop::sample::select(&FRAGMENTS[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[a-z0-9_.-]{1,40}",
    ];
    prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(model_config(10_000))]

    #[test]
    fn segments_divide_any_content(content in contents()) {
        let segments = segments(&content);
        prop_assert_eq!(segments.iter().map(|segment| segment.text).collect::<String>(), &*content);
        let (mut start, mut names, mut found) = (0, BTreeSet::new(), BTreeSet::new());
        for segment in &segments {
            prop_assert!(!segment.text.is_empty());
            prop_assert_eq!(segment.start, start);
            start += segment.text.chars().count();
            match &segment.target {
                Some(Target::Mention(name)) => {
                    prop_assert_eq!(&Username::parse(segment.text.trim_start_matches(['@', '＠'])).unwrap(), name);
                    names.insert(name.clone());
                }
                Some(Target::Hashtag(tag)) => {
                    prop_assert!(segment.text.starts_with(['#', '＃']));
                    found.insert(tag.clone());
                }
                Some(Target::Link(url)) => prop_assert!(url.ends_with(segment.text)),
                None => {}
            }
        }
        let (mentions, tags) = (mentions(&content), tags(&content));
        prop_assert!(mentions.len() <= MOST_MENTIONS && tags.len() <= MOST_TAGS);
        prop_assert_eq!(names, mentions.into_iter().collect());
        prop_assert_eq!(found, tags.into_iter().collect());
        for pair in entities(&content).windows(2) {
            prop_assert!(pair[0].range.end <= pair[1].range.start);
        }
        for pair in segments.windows(2) {
            prop_assert!(pair.iter().any(|segment| segment.target.is_some()), "plain text is one segment");
        }
    }
}
