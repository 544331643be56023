//! Entities: the mentions, hashtags and links in the content of a post, and the segments that they divide it into.
//!
//! The parser follows the rules of twitter-text, with usernames of this server and with the current top-level domains.
//! `tests/it/api/entity.rs` runs the conformance suite of twitter-text, and lists the differences. The parser is linear
//! in the length of the content, and does not backtrack.
//!
//! Not here: the users that the names belong to (`app`).

mod characters;
mod hashtag;
mod host;
mod link;
mod mention;

use std::ops::Range;

pub use self::hashtag::Tag;

use crate::model::entity::characters::Characters;
use crate::model::user::Username;

/// Maximum number of mentions in a post. Further names are plain text.
pub const MOST_MENTIONS: usize = 10;

/// Maximum number of hashtags in a post. Further ones are plain text.
pub const MOST_TAGS: usize = 10;

/// Maximum number of links in a post. Further URLs are plain text.
pub const MOST_LINKS: usize = 10;

/// A mention, hashtag or link in the content of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Position in the content, in bytes. Begins with the `@`, the `#` or the URL.
    pub range: Range<usize>,
    /// Name, tag or URL.
    pub target: Target,
}

/// The name, tag or URL that an entity refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Username of a mention. There may be no such user.
    Mention(Username),
    /// Tag of a hashtag.
    Hashtag(Tag),
    /// URL of a link, with its protocol.
    Link(String),
}

/// A part of a post's content: an entity, or the text between two entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Text of the part. The texts of all segments, joined, are the content.
    pub text: &'a str,
    /// Offset of the first character, in Unicode code points.
    pub start: usize,
    /// Target of an entity; `None` for plain text.
    pub target: Option<Target>,
}

/// Returns the entities of a content in order. They do not overlap: if two candidates overlap, the first one counts.
#[must_use]
pub fn entities(content: &str) -> Vec<Entity> {
    parse(&Characters::of(content))
}

fn parse(characters: &Characters<'_>) -> Vec<Entity> {
    let mut found: Vec<(Range<usize>, Target)> = Vec::new();
    found.extend(mention::mentions(characters).map(|(at, name)| (at, Target::Mention(name))));
    found.extend(hashtag::hashtags(characters).map(|(at, tag)| (at, Target::Hashtag(tag))));
    found.extend(link::links(characters).into_iter().map(|(at, url)| (at, Target::Link(url))));
    found.sort_by_key(|(at, _)| at.start);
    let mut end = 0;
    found.retain(|(at, _)| {
        let is_first = at.start >= end;
        end = end.max(if is_first { at.end } else { end });
        is_first
    });
    let entity = |(at, target)| Entity { range: characters.bytes(&at), target };
    found.into_iter().map(entity).collect()
}

/// Divides a content into segments: at most [`MOST_MENTIONS`] mentions, [`MOST_TAGS`] hashtags, [`MOST_LINKS`] links,
/// and the texts between them. Occurrences count, also of the same name: each becomes an object.
#[must_use]
pub fn segments(content: &str) -> Vec<Segment<'_>> {
    let mut segments = Segments { content, at: 0, start: 0, list: Vec::new() };
    for Entity { range, target } in counted(content) {
        segments.push(range.start, None);
        segments.push(range.end, Some(target));
    }
    segments.push(content.len(), None);
    segments.list
}

/// Returns the distinct usernames that a content mentions, in order.
#[must_use]
pub fn mentions(content: &str) -> Vec<Username> {
    distinct(content, |target| if let Target::Mention(name) = target { Some(name) } else { None })
}

/// Returns the distinct tags of a content, in order.
#[must_use]
pub fn tags(content: &str) -> Vec<Tag> {
    distinct(content, |target| if let Target::Hashtag(tag) = target { Some(tag) } else { None })
}

fn distinct<T: PartialEq>(content: &str, of: fn(Target) -> Option<T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in counted(content).filter_map(|entity| of(entity.target)) {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// Returns the entities of a content, up to the maximum of each kind.
fn counted(content: &str) -> impl Iterator<Item = Entity> {
    let (mut mentions, mut tags, mut links) = (0, 0, 0);
    entities(content).into_iter().filter(move |entity| {
        let (count, most) = match entity.target {
            Target::Mention(_) => (&mut mentions, MOST_MENTIONS),
            Target::Hashtag(_) => (&mut tags, MOST_TAGS),
            Target::Link(_) => (&mut links, MOST_LINKS),
        };
        *count += 1;
        *count <= most
    })
}

/// The segments up to a position.
struct Segments<'a> {
    content: &'a str,
    /// Position in bytes.
    at: usize,
    /// Position in code points.
    start: usize,
    list: Vec<Segment<'a>>,
}

impl Segments<'_> {
    /// Adds the segment that ends before a byte, unless it is empty.
    fn push(&mut self, end: usize, target: Option<Target>) {
        if end > self.at {
            let text = &self.content[self.at..end];
            self.list.push(Segment { text, start: self.start, target });
            self.at = end;
            self.start += text.chars().count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(content: &str) -> Vec<(&str, usize, Option<String>)> {
        let target = |target| match target {
            Target::Mention(name) => format!("@{}", name.as_str()),
            Target::Hashtag(tag) => format!("#{}", tag.as_str()),
            Target::Link(url) => url,
        };
        let part = |segment: Segment<'static>| (segment.text, segment.start, segment.target.map(target));
        // The content outlives the test.
        segments(content.to_owned().leak()).into_iter().map(part).collect()
    }

    #[test]
    fn a_link_continues_over_letters_but_not_into_text_without_spaces() {
        let link = |content: &'static str| {
            let link = parts(content).into_iter().find_map(|(text, _, target)| target.map(|_| text));
            link.unwrap_or_default().to_owned()
        };
        for url in [
            "https://example.org/?q=ü&r=1",
            "https://example.org/é/ü?q=Ω",
            "https://example.org/поиск?q=дом",
            "https://example.org/?q=مرحبا#ñ",
        ] {
            assert_eq!(link(url.to_owned().leak()), url);
            for (before, after) in [("(", ")"), ("", "."), ("", "…"), ("“", "”"), ("", "。次"), ("", "的")]
            {
                assert_eq!(link(format!("{before}{url}{after}").leak()), url, "{before}{url}{after}");
            }
        }
        assert_eq!(link("https://example.org/?q=1日本"), "https://example.org/?q=1");
    }

    #[test]
    fn segments_join_to_the_content_and_count_code_points() {
        let expected = [
            ("🦀 ", 0, None),
            ("＠Ada_1", 2, Some("@ada_1".to_owned())),
            (" e\u{301}: ", 8, None),
            ("#Café", 13, Some("#café".to_owned())),
            (" ", 18, None),
            ("Example.org/a_(b)", 19, Some("https://Example.org/a_(b)".to_owned())),
            (".", 36, None),
        ];
        assert_eq!(parts("🦀 ＠Ada_1 e\u{301}: #Café Example.org/a_(b)."), expected);
        assert_eq!(parts(""), []);
        assert_eq!(parts("a $CASH b"), [("a $CASH b", 0, None)]);
    }

    #[test]
    fn mentions_have_names_of_two_to_thirty_characters() {
        let longest = "n".repeat(Username::LONGEST);
        assert_eq!(mentions(&format!("@a @ab @{longest} @{longest}n @ab.c ada@ab.c")).len(), 2);
        let names = mentions("@Ben/cat @BEN, (@cat) @user@example.org RT@dan");
        assert_eq!(names.iter().map(Username::as_str).collect::<Vec<_>>(), ["ben", "cat", "dan"]);
    }

    #[test]
    fn tags_are_equal_in_every_case_width_and_composition() {
        let tags = tags("#Café ＃ＣＡＦÉ #cafe\u{301} #CAFE\u{301} #J\u{30C}a #ǰA #ΟΔΟΣ #οδος #ⅷ");
        assert_eq!(tags.iter().map(Tag::as_str).collect::<Vec<_>>(), ["café", "ǰa", "οδος"]);
    }

    #[test]
    fn an_eleventh_entity_of_a_kind_is_plain_text() {
        let each = |n: usize| format!("@n{n} #t{n} l{n}.com ");
        let content: String = (10..20).map(each).collect();
        let entities = parts(&content).len();
        for further in ["@n20", "@n10", "#t20", "#T10", "a.com", "l10.com"] {
            let longer = format!("{content}{further}");
            let all = parts(&longer);
            assert_eq!(all.len(), entities, "{further}: {all:?}");
            assert_eq!(all.last().unwrap().0, format!(" {further}"));
        }
        assert_eq!((mentions(&content).len(), tags(&content).len()), (MOST_MENTIONS, MOST_TAGS));
    }

    #[test]
    fn urls_end_where_the_sentence_continues() {
        for (content, url) in [
            ("(see https://a.org/b).", "https://a.org/b"),
            ("HTTP://A.ORG:80?q=(1)#x!", "HTTP://A.ORG:80?q=(1)#x"),
            ("\"a.org:80/b?c\"", "https://a.org:80/b?c"),
            ("a.org/((b)c)(d", "https://a.org/((b)c)"),
            ("a.org:80 ", "https://a.org"),
            ("my_site.a.org", "https://my_site.a.org"),
            ("http://ñandú.みんな。", "http://ñandú.みんな"),
            ("東京a.org", "https://a.org"),
            ("\u{2066}a.org\u{2069}", "https://a.org"),
        ] {
            let links = parts(content).into_iter().filter_map(|(.., target)| target);
            assert_eq!(links.collect::<Vec<_>>(), [url], "{content}");
        }
        let encoded = format!("http://{}.org http://{}.org", "é".repeat(60), "e".repeat(64));
        for content in
            ["a.unknown", "http://a", "ada@a.org", "a_b.org", "http://xn--é.org", "../a.org", &encoded]
        {
            assert_eq!(entities(content), [], "{content}");
        }
    }

    /// The longest content takes work in proportion to its length, whatever it is.
    #[test]
    fn work_is_linear_in_the_length() {
        let reads = |content: &str| {
            let characters = Characters::of(content);
            parse(&characters);
            characters.reads.get()
        };
        let parts = [
            "@",
            "#",
            "(",
            ".",
            "-",
            "/",
            ":",
            "?",
            "&",
            "a",
            "a.",
            "a@",
            "a#",
            "@a",
            "#1",
            "#a",
            "http://",
            "http:/",
            "a.com",
            "a.com ",
            "a.com_.",
            "a.com-.",
            "a.com/(",
            "a.com/((",
            "a.com?",
            "a.com/.",
            "-a.com",
            "_a.com/",
            "http://a.com/(",
            "http://a.com日.",
            "日.",
            "日.みんな",
            "みんな.",
            "日.com",
            "@a日",
            "xn--",
            "xn--é.com",
            "RT@",
            "#\u{FE0F}",
            "é.é-",
        ];
        let pairs = parts.iter().flat_map(|one| parts.iter().map(move |other| format!("{one}{other}")));
        for part in parts.iter().map(|part| (*part).to_owned()).chain(pairs) {
            let content: String = part.chars().cycle().take(2_000).collect();
            let reads = reads(&content);
            assert!(reads <= 40 * 2_000, "{part}: {reads}");
        }
    }
}
