//! The content of a post, divided into text, mentions, hashtags and links.

use std::sync::Arc;

use async_graphql::{Context, Interface, Object, SimpleObject};
use futures::FutureExt as _;

use crate::app::error::Error;
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Public, cache_control};
use crate::graphql::selection::Selected;
use crate::graphql::types::scalar::number;
use crate::graphql::types::selection::user_selection;
use crate::graphql::types::user::User;
use crate::model::entity::{self, Tag, Target};
use crate::model::user::Username;

/// A part of a post's content: a mention, a hashtag, a link, or the text between these.
#[derive(Interface)]
#[graphql(directive = cache_control::apply(Public))]
#[graphql(field(
    name = "text",
    ty = "String",
    desc = "The text of the segment. The texts of all segments, joined, are the post's content."
))]
#[graphql(field(
    name = "start",
    ty = "i32",
    desc = "The offset of the segment's first character in the content, in Unicode code points."
))]
pub(in crate::graphql) enum Segment {
    Text(TextSegment),
    Mention(MentionSegment),
    Hashtag(HashtagSegment),
    Link(LinkSegment),
}

impl Segment {
    pub(in crate::graphql) fn new(
        scope: &Arc<Scope>,
        entity::Segment { text, start, target }: entity::Segment<'_>,
    ) -> Self {
        let part = Part { scope: Arc::clone(scope), text: text.to_owned(), start: number(start as u64) };
        match target {
            None => Self::Text(TextSegment { part }),
            Some(Target::Mention(username)) => Self::Mention(MentionSegment { part, username }),
            Some(Target::Hashtag(tag)) => Self::Hashtag(HashtagSegment { part, tag }),
            Some(Target::Link(url)) => Self::Link(LinkSegment { part, url }),
        }
    }
}

/// What all segments have.
struct Part {
    scope: Arc<Scope>,
    text: String,
    start: i32,
}

/// Defines the object of a kind of segment: its description, the type and the fields of this kind only.
macro_rules! segment {
    ($(#[$attribute:meta])* $name:ident { $($field:tt)* }) => {
        $(#[$attribute])*
        #[Object(directive = cache_control::apply(Public))]
        impl $name {
            /// The text of the segment. The texts of all segments, joined, are the post's content.
            async fn text(&self) -> Result<&str, Error> {
                self.part.scope.text(&self.part.text)
            }

            /// The offset of the segment's first character in the content, in Unicode code points.
            async fn start(&self) -> i32 {
                self.part.start
            }

            $($field)*
        }
    };
}

/// Text without entities.
pub(in crate::graphql) struct TextSegment {
    part: Part,
}

segment! {
    /// Plain text. It may contain line breaks.
    TextSegment {}
}

/// A mention.
pub(in crate::graphql) struct MentionSegment {
    part: Part,
    username: Username,
}

segment! {
    /// A mention: an @ and a username, in the case in which the author wrote it. A post has at most ten mentions;
    /// further ones are plain text.
    MentionSegment {
        /// The mentioned user; null if there is no user of this name, or if they are hidden from the viewer.
        async fn user(&self, context: &Context<'_>) -> Option<Result<User, Error>> {
            let scope = &self.part.scope;
            let user = scope.visible().user_by_name(self.username.clone()).boxed().await.transpose()?;
            let selection = user_selection(&[Selected::of(context)]);
            Some(user.map(|id| User::asked(scope, id, selection)))
        }
    }
}

/// A hashtag.
pub(in crate::graphql) struct HashtagSegment {
    part: Part,
    tag: Tag,
}

segment! {
    /// A hashtag: a # and the tag, as the author wrote it. A post has at most ten hashtags; further ones are
    /// plain text.
    HashtagSegment {
        /// The tag.
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn hashtag(&self) -> Result<Hashtag, Error> {
            let name = self.part.scope.text(self.tag.as_str())?.to_owned();
            Ok(Hashtag { name })
        }
    }
}

/// A tag, by which posts are grouped.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Public))]
pub(in crate::graphql) struct Hashtag {
    /// The name that identifies the tag: without the #, in lower case and in Unicode normalization form NFKC. It is the
    /// same for all spellings of the tag.
    name: String,
}

/// A link.
pub(in crate::graphql) struct LinkSegment {
    part: Part,
    url: String,
}

segment! {
    /// A link: a URL, as the author wrote it. A post has at most ten links; further ones are plain text.
    LinkSegment {
        /// The URL with its protocol, which is http or https. If the author wrote none, it is https.
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn url(&self) -> Result<&str, Error> {
            self.part.scope.text(&self.url)
        }
    }
}
