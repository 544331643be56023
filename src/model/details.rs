//! What a post has beyond its text: how often it was changed, how often others refer to it, and what it refers to.
//!
//! Not here: the text and its rules (`post`).

use std::fmt;
use std::str::FromStr;

use crate::model::attachment::{AttachmentCounts, ReferrerKind};
use crate::model::clock::Timestamp;
use crate::model::entity;
use crate::model::id::{PostId, UserId};
use crate::model::referrer::Referral;

/// Number of nearest ancestors in a reply's path. The root of the conversation follows them.
pub const NEAREST_ANCESTORS: usize = 8;

/// The details of a post. A plain post that no one refers to has the default details.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Number of changes: edits, and changes of the counts.
    pub version: u64,
    /// Number of edits.
    pub edition: u32,
    /// Time of the last edit; `None` without edits.
    pub edited_at: Option<Timestamp>,
    /// How many attachments the post has.
    pub counts: AttachmentCounts,
    /// What the post refers to.
    pub references: References,
}

/// What a post refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// The conversation that the post continues; `None` if it is not a reply.
    pub reply: Option<Reply>,
    /// The quoted post.
    pub quoted: Option<PostId>,
    /// The reposted post. A repost has no text of its own.
    pub original: Option<PostId>,
    /// The tags of the text, as [`Tag`](crate::model::entity::Tag) identifies them. Users whom the text mentions are
    /// not stored, so that nothing remains of an account that is erased.
    pub tags: Vec<Box<str>>,
}

/// A reply's place in its conversation. It does not name the authors of the ancestors, so that nothing remains of an
/// account that is erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The nearest ancestors, up to [`NEAREST_ANCESTORS`], the parent first. If there are more, the root follows.
    path: Vec<PostId>,
}

impl Reply {
    /// Creates the place of a reply to `parent`, whose own place is `above`.
    #[must_use]
    pub fn to(parent: PostId, above: Option<&Self>) -> Self {
        let above = above.map_or(&[][..], |above| &above.path);
        let mut path = vec![parent];
        path.extend(above.iter().take(NEAREST_ANCESTORS - 1));
        if above.len() >= NEAREST_ANCESTORS {
            path.extend(above.last());
        }
        Self { path }
    }

    /// Returns the parent.
    #[must_use]
    pub fn parent(&self) -> PostId {
        self.path[0]
    }

    /// Returns the nearest ancestors, the parent first. If there are as many as [`NEAREST_ANCESTORS`], the last of them
    /// may be a reply as well.
    #[must_use]
    pub fn nearest(&self) -> &[PostId] {
        &self.path[..self.path.len().min(NEAREST_ANCESTORS)]
    }

    /// Returns the root of the conversation.
    #[must_use]
    pub fn root(&self) -> PostId {
        self.path[self.path.len() - 1]
    }
}

impl References {
    /// Returns the references in a text: its tags.
    #[must_use]
    pub fn of_text(content: &str) -> Self {
        let tags = entity::tags(content);
        Self { tags: tags.iter().map(|tag| tag.as_str().into()).collect(), ..Self::default() }
    }

    /// Returns true if the post refers to nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what this post, of this author, says of its entries in the lists of others.
    pub fn referrals(&self, referrer: PostId, author: UserId) -> impl Iterator<Item = Referral> + use<> {
        let Self { reply, quoted, original, tags: _ } = self;
        let parent = reply.as_ref().map(|reply| (ReferrerKind::Reply, reply.parent()));
        let quoted = quoted.map(|quoted| (ReferrerKind::Quote, quoted));
        let original = original.map(|original| (ReferrerKind::Repost, original));
        let referral = move |(kind, target)| Referral { kind, target, referrer, author };
        parent.into_iter().chain(quoted).chain(original).map(referral)
    }

    /// Returns true if the post refers to other posts.
    #[must_use]
    pub fn refers_to_posts(&self) -> bool {
        let Self { reply, quoted, original, tags: _ } = self;
        reply.is_some() || quoted.is_some() || original.is_some()
    }

    /// Returns the references to posts, without those that belong to the text.
    #[must_use]
    pub fn to_posts(&self) -> Self {
        Self { tags: Vec::new(), ..self.clone() }
    }
}

/// Formats references for storage, each after a space.
impl fmt::Display for References {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reply, quoted, original, tags } = self;
        if let Some(Reply { path }) = reply {
            write!(formatter, " reply=")?;
            write_list(formatter, path)?;
        }
        for (name, reference) in [("quote", quoted), ("repost", original)] {
            if let Some(post) = reference {
                write!(formatter, " {name}={post}")?;
            }
        }
        if !tags.is_empty() {
            write!(formatter, " tags=")?;
            write_list(formatter, tags)?;
        }
        Ok(())
    }
}

/// Formats details for storage: the numbers, of which scripts change some, and the references.
impl fmt::Display for Details {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, edition, edited_at, counts, references } = self;
        let edited_at = edited_at.map_or(0, Timestamp::as_millis);
        write!(formatter, "{version} {edition} {edited_at}")?;
        for count in counts.stored() {
            write!(formatter, " {count}")?;
        }
        write!(formatter, "{references}")
    }
}

fn write_list(
    formatter: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = impl fmt::Display>,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        write!(formatter, "{}{item}", if index == 0 { "" } else { "," })?;
    }
    Ok(())
}

/// The text is not that of details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseDetailsError;

impl FromStr for Details {
    type Err = ParseDetailsError;

    /// Parses stored details. References that this version does not know are ignored.
    fn from_str(text: &str) -> Result<Self, ParseDetailsError> {
        parse(text).ok_or(ParseDetailsError)
    }
}

fn parse(text: &str) -> Option<Details> {
    let mut words = text.split(' ');
    let version = words.next()?.parse().ok()?;
    let edition = words.next()?.parse().ok()?;
    let edited_at: i64 = words.next()?.parse().ok()?;
    let edited_at = (edited_at != 0).then(|| Timestamp::from_millis(edited_at));
    let mut counts = AttachmentCounts::default();
    // A post that was counted by an earlier version lacks the last counts; one of a later version has more.
    let mut places = counts.in_order_mut().iter_mut();
    let mut references = References::default();
    for word in words {
        match word.split_once('=') {
            None => {
                let count = word.parse().ok()?;
                if let Some(place) = places.next() {
                    *place = count;
                }
            }
            Some(("reply", path)) => {
                let path = parse_list(path, |post| post.parse().ok())?;
                references.reply = Some(Reply { path });
            }
            Some(("quote", post)) => references.quoted = Some(post.parse().ok()?),
            Some(("repost", post)) => references.original = Some(post.parse().ok()?),
            Some(("tags", tags)) => references.tags = tags.split(',').map(Into::into).collect(),
            Some(_) => {}
        }
    }
    Some(Details { version, edition, edited_at, counts, references })
}

fn parse_list<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(',').map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(id: u64) -> PostId {
        PostId::new(id).unwrap()
    }

    #[test]
    fn the_format_of_details_is_part_of_the_stored_data() {
        let mut counts = AttachmentCounts::default();
        for (kind, count) in [(ReferrerKind::Repost, 3), (ReferrerKind::Reply, 4), (ReferrerKind::Quote, 5)] {
            *counts.of_mut(kind) = count;
        }
        let details = Details {
            version: 12,
            edition: 2,
            edited_at: Some(Timestamp::from_millis(1_767_225_600_000)),
            counts,
            references: References {
                reply: Some(Reply::to(post(9), Some(&Reply::to(post(8), None)))),
                quoted: Some(post(6)),
                original: Some(post(5)),
                tags: vec!["rust".into(), "日本".into()],
            },
        };
        let text = "12 2 1767225600000 3 4 5 reply=9,8 quote=6 repost=5 tags=rust,日本";
        let referrals = details.references.referrals(post(1), UserId::new(7).unwrap());
        assert!(referrals.map(|referral| referral.kind).eq(ReferrerKind::ALL), "one of each kind");
        assert_eq!((details.to_string(), text.parse()), (text.to_owned(), Ok(details)));
        assert_eq!(Details::default().to_string(), "0 0 0 0 0 0");
        assert_eq!("0 0 0 0 0 0".parse(), Ok(Details::default()));
        let later = "0 0 0 0 0 0 0 0 5 poll=9";
        assert_eq!(later.parse(), Ok(Details::default()), "of a later version");
        assert_eq!(
            "0 0 0 0".parse(),
            Ok(Details::default()),
            "of an earlier version, which had fewer counts"
        );
        for text in ["", "0", "0 0 x", "0 0 0 0 0 x", "0 0 0 0 0 0 reply=0", "0 0 0 0 0 0 quote=0"] {
            assert_eq!(text.parse::<Details>(), Err(ParseDetailsError), "{text:?}");
        }
    }

    #[test]
    fn the_tags_of_a_text_can_be_read_back() {
        let references = References::of_text("#Café, #CAFÉ and #\u{FDFA}");
        assert_eq!(references.tags.join(" "), "café صلىاللهعليهوسلم");
        let details = Details { references, ..Details::default() };
        assert_eq!(details.to_string().parse(), Ok(details));
        assert_eq!(References::of_text("Plain, @ada."), References::default());
    }

    #[test]
    fn a_reply_knows_its_nearest_ancestors_and_the_root() {
        let mut reply = Reply::to(post(1), None);
        for parent in 2..=20 {
            reply = Reply::to(post(parent), Some(&reply));
            let nearest: Vec<PostId> = (1..=parent).rev().take(NEAREST_ANCESTORS).map(post).collect();
            assert_eq!((reply.nearest(), reply.root()), (&nearest[..], post(1)), "a reply to {parent}");
            assert_eq!(reply.parent(), post(parent));
        }
    }
}
