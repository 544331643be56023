//! Reads of posts: records, pages and counts.

use std::sync::Arc;

use crate::app::archive::{Found, Joint, Listed, StoredPost};
use crate::app::error::Error;
use crate::app::read::{Pending, Read, Requests, Responses, Shared};
use crate::archive::range::CountRange;
use crate::archive::referrer::ReferrerPage;
use crate::model::attachment::ReferrerKind;
use crate::model::clock::Period;
use crate::model::edit::EarlierVersion;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Page, Window};
use crate::model::referrer::EntryPage;
use crate::store::post::{self, Record};
use crate::store::post_list::{self, CountWithin, Counted, PROBE};
use crate::store::unreadable::readable;
use crate::store::{self, edit, referrer};

/// Contents of posts; `None` for posts that do not exist and for unreadable records. Posts already read with their list
/// are not read again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PostRecords {
    /// The posts.
    pub posts: Shared<Listed>,
    /// True to fail if the archive cannot be read and may have some of the posts; false to leave these out.
    pub needs_archive: bool,
}

impl Read for PostRecords {
    type Value = Arc<[Option<StoredPost>]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let needs_archive = self.needs_archive;
        let hot = self.posts.0.iter().filter_map(|listed| match listed {
            Listed::Id(id) => Some(*id),
            Listed::Read(_) => None,
        });
        let (listed, records) =
            (self.posts.clone(), requests.push(post::read_all(requests.keys(), hot.collect())));
        Pending::cold(move |responses| {
            let mut records = responses.replies.take(records)?.into_iter();
            let mut hot = |listed: &Listed| match listed {
                Listed::Id(id) => {
                    let missing = || store::error::Error::corrupt("no reply for a post");
                    let (_, record) = records.next().ok_or_else(missing)?;
                    Hot::read(*id, record, responses)
                }
                Listed::Read(stored) => Ok(Hot::Post(Some(stored.clone()))),
            };
            let posts: Vec<Hot> = listed.0.iter().map(&mut hot).collect::<Result<_, Error>>()?;
            Ok(move |found: &Found| {
                let complete = |post: Hot| match post.complete(found) {
                    Err(error) if !needs_archive && error.is_about_archive() => Ok(None),
                    completed => completed,
                };
                posts.into_iter().map(complete).collect()
            })
        })
    }
}

/// A post after Redis has replied.
enum Hot {
    /// The post, or `None` if it does not exist.
    Post(Option<StoredPost>),
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
            Some(Record::Live(post)) => Self::Post(Some(StoredPost::hot(Arc::new(post)))),
            None | Some(Record::Tombstone { .. } | Record::Revoked { .. }) => Self::Post(None),
            Some(Record::Missing) => {
                responses.wanted.ids.push(id);
                Self::Missing(id)
            }
        })
    }

    fn complete(self, found: &Found) -> Result<Option<StoredPost>, Error> {
        match (self, &found.posts) {
            (Self::Post(post), _) => Ok(post),
            (Self::Missing(id), Ok(posts)) => Ok(posts.get(&id).map(Arc::clone).map(StoredPost::archived)),
            (Self::Missing(_), Err(error)) => Err(error.clone()),
        }
    }
}

/// Looks for posts in the archive, and ignores what it finds. A request for a post that the viewer may not see thus
/// takes as long as one for a post that does not exist, and fails if the archive is unavailable. Makes no round trip.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArchiveLookup(pub Shared<PostId>);

impl Read for ArchiveLookup {
    type Value = ();

    fn request(&self, _requests: &mut Requests<'_>) -> Pending<()> {
        let ids = self.0.clone();
        Pending::cold(move |responses| {
            responses.wanted.ids.extend(ids.0.iter().copied());
            Ok(|found: &Found| found.posts.as_ref().map(drop).map_err(Error::clone))
        })
    }
}

/// A page of a user's posts that were created in a period, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PostPage {
    /// Id of the author.
    pub author: UserId,
    /// Requested page.
    pub window: Window<PostId>,
    /// Period in which the posts were created.
    pub period: Period,
    /// True to leave out archived posts that only followers can see; the page's flags and hot entries ignore this.
    pub only_public: bool,
}

impl Read for PostPage {
    type Value = Arc<Page<Listed>>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { author, window, period, only_public } = *self;
        let page = requests.push(match period {
            Period::ALL => post_list::page(requests.keys(), author, &window).map(|page| Ok(Some(page))),
            period => post_list::page_within(requests.keys(), author, &window, period),
        });
        Pending::cold(move |responses| {
            let page = responses.replies.take(page)?;
            let page = page.ok_or_else(|| responses.lack_times(author))?;
            let ranges = &mut responses.wanted.ranges;
            let joint = Joint::new(author, window, period, only_public, page, ranges);
            Ok(move |found: &Found| Ok(Arc::new(joint.join(&found.ranges)?)))
        })
    }
}

/// For each of these hot posts of an author, true if only followers can see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct LimitedAmong {
    /// Id of the author.
    pub(in crate::app) author: UserId,
    /// Posts to look up.
    pub(in crate::app) posts: Shared<PostId>,
}

impl Read for LimitedAmong {
    type Value = Arc<[bool]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let probe =
            |posts: &[PostId]| requests.push(post_list::are_limited(requests.keys(), self.author, posts));
        let limited: Vec<_> = self.posts.0.chunks(PROBE).map(probe).collect();
        Pending::hot(move |responses| Ok(responses.replies.take_all(limited)?.concat().into()))
    }
}

/// True if a user has posts that only followers can see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HasLimited(pub UserId);

impl Read for HasLimited {
    type Value = bool;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let has_limited = requests.push(post_list::has_limited(requests.keys(), self.0));
        Pending::hot(move |responses| Ok(responses.replies.take(has_limited)?))
    }
}

/// The number of a user's posts that were created in a period.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PostCount {
    /// Id of the author.
    pub author: UserId,
    /// Period in which the posts were created.
    pub period: Period,
    /// True to leave out the posts that only followers can see.
    pub only_public: bool,
}

impl Read for PostCount {
    type Value = u64;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { author, period, only_public } = *self;
        if period == Period::ALL {
            let count = requests.push(post_list::count(requests.keys(), author, only_public));
            return Pending::hot(move |responses| Ok(responses.replies.take(count)?));
        }
        let counted = Counted { period, only_public };
        let count = requests.push(post_list::count_within(requests.keys(), author, counted));
        Pending::cold(move |responses| {
            let count = responses.replies.take(count)?;
            let CountWithin { hot, greatest, has_limited, excluded } =
                count.ok_or_else(|| responses.lack_times(author))?;
            // The visibility is not in the index that the archive counts with.
            let only_public = only_public && has_limited;
            let counts = &mut responses.wanted.counts;
            let cold = (greatest > 0).then(|| {
                counts.push(CountRange { author, upto: greatest, period, only_public, excluded });
                counts.len() - 1
            });
            Ok(move |found: &Found| match (cold, &found.counts) {
                (None, _) => Ok(hot),
                (Some(index), Ok(counts)) => Ok(hot + counts[index]),
                (Some(_), Err(error)) => Err(error.clone()),
            })
        })
    }
}

/// A page of the entries of posts that refer to a post, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct Referrers {
    /// The post that has the lists.
    pub(in crate::app) target: PostId,
    /// The kind of referrers.
    pub(in crate::app) kind: ReferrerKind,
    /// The page of listed entries.
    pub(in crate::app) window: Window<PostId>,
    /// Maximum number of limited entries next to the page's position.
    pub(in crate::app) limited: usize,
}

impl Read for Referrers {
    type Value = Arc<EntryPage>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { target, kind, window, limited } = *self;
        let page = requests.push(referrer::page(requests.keys(), target, kind, &window, limited));
        Pending::cold(move |responses| {
            let page = responses.replies.take(page)?.ok_or_else(|| {
                responses.wanted.referrers.push(ReferrerPage { target, kind, window, limited });
                responses.wanted.referrers.len() - 1
            });
            Ok(move |found: &Found| match (page, &found.referrers) {
                (Ok(page), _) => Ok(Arc::new(page)),
                (Err(index), Ok(pages)) => Ok(Arc::new(pages[index].clone())),
                (Err(_), Err(error)) => Err(error.clone()),
            })
        })
    }
}

/// True if a user has reposted a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HasReposted {
    /// The user.
    pub viewer: UserId,
    /// The post.
    pub post: PostId,
}

impl Read for HasReposted {
    type Value = bool;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let reposts = requests.push(referrer::reposts_by(requests.keys(), self.viewer, &[self.post]));
        Pending::hot(move |responses| {
            Ok(responses.replies.take(reposts)?.into_iter().flatten().next().is_some())
        })
    }
}

/// The earlier versions of a post that are kept, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EarlierVersions {
    /// The post.
    pub post: PostId,
    /// The edition that the reader has of the post. Later ones are left out.
    pub before: u32,
}

impl Read for EarlierVersions {
    type Value = Arc<[EarlierVersion]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { post, before } = *self;
        let hot = requests.push(edit::versions(requests.keys(), post));
        Pending::cold(move |responses| {
            let hot = responses.replies.take(hot)?;
            if hot.is_none() {
                responses.wanted.versions.push(post);
            }
            let earlier = move |versions: &[EarlierVersion]| {
                versions.iter().filter(|version| version.edition < before).cloned().collect()
            };
            Ok(move |found: &Found| match (hot, &found.versions) {
                (Some(hot), _) => Ok(earlier(&hot)),
                (None, Ok(versions)) => Ok(earlier(versions.get(&post).map_or(&[], Vec::as_slice))),
                (None, Err(error)) => Err(error.clone()),
            })
        })
    }
}
