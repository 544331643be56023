//! Reads of posts: records, pages and counts.

use std::sync::Arc;

use crate::app::archive::{Found, Joint, Listed};
use crate::app::error::Error;
use crate::app::read::{Pending, Read, Requests, Responses, Shared};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Window};
use crate::model::post::Post;
use crate::store;
use crate::store::post::{self, Record};
use crate::store::unreadable::readable;

/// Contents of posts; `None` for posts that do not exist and for unreadable records. Posts already read with their list
/// are not read again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PostRecords(pub Shared<Listed>);

impl Read for PostRecords {
    type Value = Arc<[Option<Arc<Post>>]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let hot = self.0.0.iter().filter_map(|listed| match listed {
            Listed::Hot(id) => Some(*id),
            Listed::Archived(_) => None,
        });
        let (listed, records) =
            (self.0.clone(), requests.push(post::read_all(requests.keys(), hot.collect())));
        Pending::cold(move |responses| {
            let mut records = responses.replies.take(records)?.into_iter();
            let mut hot = |listed: &Listed| match listed {
                Listed::Hot(id) => {
                    let missing = || store::error::Error::corrupt("no reply for a post");
                    let (_, record) = records.next().ok_or_else(missing)?;
                    Hot::read(*id, record, responses)
                }
                Listed::Archived(post) => Ok(Hot::Post(Some(Arc::clone(post)))),
            };
            let posts: Vec<Hot> = listed.0.iter().map(&mut hot).collect::<Result<_, Error>>()?;
            Ok(move |found: &Found| posts.into_iter().map(|post| post.complete(found)).collect())
        })
    }
}

/// A post after Redis has replied.
enum Hot {
    /// The post, or `None` if it does not exist.
    Post(Option<Arc<Post>>),
    /// A post that is missing from Redis and may be archived.
    Missing(PostId),
}

impl Hot {
    /// Decodes a post's record. Requests a missing post from the archive.
    fn read(
        id: PostId,
        record: Result<Record, store::error::Error>,
        responses: &mut Responses,
    ) -> Result<Self, Error> {
        Ok(match readable(record, "post", id.get())? {
            Some(Record::Live(post)) => Self::Post(Some(Arc::new(post))),
            None | Some(Record::Tombstone { .. } | Record::Revoked { .. }) => Self::Post(None),
            Some(Record::Missing) => {
                responses.wanted.ids.push(id);
                Self::Missing(id)
            }
        })
    }

    fn complete(self, found: &Found) -> Result<Option<Arc<Post>>, Error> {
        match (self, &found.posts) {
            (Self::Post(post), _) => Ok(post),
            (Self::Missing(id), Ok(posts)) => Ok(posts.get(&id).map(Arc::clone)),
            (Self::Missing(_), Err(error)) => Err(error.clone()),
        }
    }
}

/// A page of a user's posts, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PostPage {
    /// Id of the author.
    pub author: UserId,
    /// Requested page.
    pub window: Window<PostId>,
}

impl Read for PostPage {
    type Value = Arc<Page<Listed>>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { author, window } = *self;
        let page = requests.push(post::page(requests.keys(), author, &window));
        Pending::cold(move |responses| {
            let page = responses.replies.take(page)?;
            let joint = Joint::new(author, window, page, &mut responses.wanted.ranges);
            Ok(move |found: &Found| Ok(Arc::new(joint.join(&found.ranges)?)))
        })
    }
}

/// The number of a user's posts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PostCount(pub UserId);

impl Read for PostCount {
    type Value = u64;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let count = requests.push(post::count(requests.keys(), self.0));
        Pending::hot(move |responses| Ok(responses.replies.take(count)?))
    }
}
