//! Lists and counts of users' posts as a viewer sees them.
//!
//! Not here: the rule who may see a post (`app::visibility`).

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::{try_join, try_join_all};

use crate::app::archive::{Listed, StoredPost};
use crate::app::error::Error;
use crate::app::post::read::{
    EarlierVersions, HasLimited, HasReposted, LimitedAmong, PostCount, PostPage, PostRecords,
};
use crate::app::read::{Load, Many, Shared};
use crate::app::visibility::{PostAccess, UserSelection, Visible, VisiblePost};
use crate::model::clock::{Period, Timestamp};
use crate::model::details::Reply;
use crate::model::edit::EarlierVersion;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Page, Window};
use crate::model::post::Post;
use crate::model::reaction::Reactions;

/// Maximum number of posts read at once to replace those left out of a page.
const MOST_POSTS: usize = 500;

/// An entry of an author's list of posts as a viewer sees it.
#[derive(Clone, Debug)]
pub enum ShownPost {
    /// A post of the author, and the viewer's selected reactions to it.
    Own(Arc<Post>, Reactions),
    /// The original of a repost by the author, and the time of the repost.
    Original(VisiblePost, Timestamp),
}

impl<L: Load> Visible<'_, L> {
    /// Returns these posts as they are stored, in the same order; `None` for posts that do not exist. Makes one round
    /// trip.
    pub async fn post_records(&self, posts: Arc<[Listed]>) -> Result<Arc<[Option<StoredPost>]>, Error> {
        self.load.load(PostRecords { posts: Shared(posts), needs_archive: true }).await
    }

    /// Returns a page of a user's posts that were created in a period, including posts that the viewer may not see.
    /// Makes one round trip, plus one query if the page continues in the archive.
    pub async fn unfiltered_post_page(
        &self,
        author: UserId,
        window: Window<PostId>,
        period: Period,
    ) -> Result<Arc<Page<Listed>>, Error> {
        self.load.load(PostPage { author, window, period, only_public: false }).await
    }

    /// Returns the nearest ancestors of a post, the nearest first: up to `most`, and up to the first that does not
    /// exist or that the viewer may not see. Makes one round trip for each eight and another, plus one query for each
    /// eight with archived posts.
    pub async fn ancestors(
        &self,
        post: &Post,
        most: usize,
        author: UserSelection,
    ) -> Result<Vec<VisiblePost>, Error> {
        let mut ancestors = Vec::new();
        let mut found = self.records_above(Some(post), most, author).await?;
        while !found.0.is_empty() {
            let complete = ancestors.len() + found.0.len();
            let highest = found.0.last().and_then(Option::as_ref).map(|found| &**found.unchecked());
            // In the same round trip, so that an ancestor that is hidden takes no more than one that does not exist.
            let further = self.records_above(highest, most - complete, author);
            let visible = self.of_requested((&found.0, &found.1), author);
            let (visible, further) = try_join(visible, further).await?;
            ancestors.extend(visible.into_iter().map_while(|post| post));
            found = if ancestors.len() == complete { further } else { (Arc::new([]), Arc::new([])) };
        }
        Ok(ancestors)
    }

    /// Returns the records of the ancestors that a post names, up to `most`, and the viewer's selected reactions to
    /// them. Makes one round trip, or none without any.
    async fn records_above(
        &self,
        post: Option<&Post>,
        most: usize,
        author: UserSelection,
    ) -> Result<(Arc<[Option<StoredPost>]>, Arc<[Reactions]>), Error> {
        let reply = post.and_then(|post| post.details.references.reply.as_ref());
        let nearest = reply.map_or(&[][..], Reply::nearest);
        let posts: Arc<[Listed]> = nearest.iter().take(most).copied().map(Listed::Id).collect();
        if posts.is_empty() {
            return Ok((Arc::new([]), Arc::new([])));
        }
        self.reacted_records(posts, true, author.reactions).await
    }

    /// Returns true if the viewer has reposted a post. Makes one round trip, or none for an anonymous viewer.
    pub async fn has_reposted(&self, post: PostId) -> Result<bool, Error> {
        match self.viewer.user() {
            Some(viewer) => self.load.load(HasReposted { viewer, post }).await,
            None => Ok(false),
        }
    }

    /// Returns the earlier versions of a post that are kept, newest first. The caller has found the post to be visible.
    /// Makes no round trip for a post that was never edited; otherwise one, plus one query if the post is archived.
    pub async fn earlier_versions(&self, post: &Post) -> Result<Arc<[EarlierVersion]>, Error> {
        match post.details.edition {
            0 => Ok(Arc::new([])),
            edition => self.load.load(EarlierVersions { post: post.id, before: edition }).await,
        }
    }

    /// Returns the earlier versions of these posts, which the caller may see, in the same order. Makes no round trip if
    /// no post was ever edited; otherwise one, plus one query if an edited post is archived.
    pub async fn all_earlier_versions(
        &self,
        posts: &[&Arc<Post>],
    ) -> Result<Vec<Arc<[EarlierVersion]>>, Error> {
        let read = |post: &&Arc<Post>| EarlierVersions { post: post.id, before: post.details.edition };
        let reads: Vec<EarlierVersions> =
            posts.iter().map(read).filter(|versions| versions.before > 0).collect();
        let found = if reads.is_empty() { Arc::new([]) } else { self.load.load(Many(reads)).await? };
        let mut found = found.iter();
        let mut versions = |edition: u32| if edition > 0 { found.next().cloned() } else { None };
        Ok(posts.iter().map(|post| versions(post.details.edition).unwrap_or_default()).collect())
    }

    /// Returns pages of several users' posts that were created in a period, in the order of the requests, without the
    /// posts that the viewer may not see. Makes one round trip, plus one query if a page continues in the archive; and
    /// further ones for authors of whom the viewer may only see some posts.
    ///
    /// `accesses` is awaited before the pages.
    pub async fn post_pages(
        &self,
        pages: &[(UserId, Window<PostId>)],
        period: Period,
        accesses: impl Future<Output = Result<Vec<PostAccess>, Error>>,
    ) -> Result<(Vec<PostAccess>, Vec<Arc<Page<Listed>>>), Error> {
        let read = |&(author, window): &(UserId, Window<PostId>)| PostPage {
            author,
            window,
            period,
            only_public: false,
        };
        // First, so that nothing is read of posts that the viewer may not see. Nearly always, it takes no round trip.
        let accesses = accesses.await?;
        let is_seen = |(_, access): &(&(UserId, Window<PostId>), &PostAccess)| **access != PostAccess::None;
        let seen: Vec<_> = pages.iter().zip(&accesses).filter(is_seen).map(|(page, _)| page).collect();
        let limited = Many(seen.iter().map(|(author, _)| HasLimited(*author)).collect());
        let found = Many(seen.into_iter().map(read).collect());
        let (found, limited) = self.load.load_both(found, limited).await?;
        let mut found = found.iter().zip(limited.iter());
        let mut next = |access: &PostAccess| if *access == PostAccess::None { None } else { found.next() };
        let found: Vec<_> = accesses.iter().map(&mut next).collect();
        let page = async |index: usize| {
            let (author, window) = pages[index];
            match (accesses[index], found[index]) {
                (PostAccess::None, _) | (_, None) => {
                    Ok(Arc::new(Page { entries: Arc::new([]), has_previous: false, has_next: false }))
                }
                (PostAccess::Public, Some((_, true))) => self.public_page(author, window, period).await,
                (PostAccess::Public | PostAccess::All, Some((page, _))) => Ok(Arc::clone(page)),
            }
        };
        let pages = try_join_all((0..pages.len()).map(page)).await?;
        Ok((accesses, pages))
    }

    /// Returns these posts of an author's list, of which the viewer has this access and to which they have these
    /// reactions, in the same order, as the list shows them; `None` for posts that do not exist, and if the viewer may
    /// not see the post or its original. Makes no round trip without reposts; otherwise two.
    pub async fn shown_posts(
        &self,
        (listed, reactions): (&[Option<StoredPost>], &[Reactions]),
        access: PostAccess,
        original: UserSelection,
    ) -> Result<Vec<Option<ShownPost>>, Error> {
        let included = listed.iter().map(|found| found.as_ref().map(StoredPost::unchecked));
        let included: Vec<_> = included.map(|post| post.filter(|post| access.includes(post))).collect();
        let originals = included.iter().flatten().filter_map(|post| post.details.references.original);
        let originals: Arc<[Listed]> = originals.map(Listed::Id).collect();
        let mut originals = self.posts(originals, original).await?.into_iter();
        let mut shown = |post: &Arc<Post>, reactions: &Reactions| match post.details.references.original {
            Some(_) => {
                let original = originals.next().flatten()?;
                Some(ShownPost::Original(original, post.created_at))
            }
            None => Some(ShownPost::Own(Arc::clone(post), *reactions)),
        };
        let included = included.into_iter().zip(reactions);
        Ok(included.map(|(post, reactions)| post.and_then(|post| shown(post, reactions))).collect())
    }

    /// Returns a page of those of an author's posts that are not for followers only. Reads the posts themselves, so
    /// that the page and its flags contain only these. Makes three round trips, and more if many hot posts are for
    /// followers only; the archive leaves these out itself.
    async fn public_page(
        &self,
        author: UserId,
        window: Window<PostId>,
        period: Period,
    ) -> Result<Arc<Page<Listed>>, Error> {
        let ahead = Window { size: window.size + 1, ..window };
        let behind = async {
            match window.behind() {
                Some(behind) => Ok(!self.public_posts(author, behind, period).await?.is_empty()),
                None => Ok(false),
            }
        };
        let (mut posts, has_behind) = try_join(self.public_posts(author, ahead, period), behind).await?;
        let has_more = posts.len() > window.size;
        posts.truncate(window.size);
        let (has_previous, has_next) = match window.direction {
            Direction::Forward => (has_behind, has_more),
            Direction::Backward => {
                posts.reverse();
                (has_more, has_behind)
            }
        };
        // Posts that have been read are not read again.
        let entries = posts.into_iter().map(Listed::Read).collect();
        Ok(Arc::new(Page { entries, has_previous, has_next }))
    }

    /// Returns the public posts of a window, in the window's direction: as many as its size, unless there are fewer.
    async fn public_posts(
        &self,
        author: UserId,
        window: Window<PostId>,
        period: Period,
    ) -> Result<Vec<StoredPost>, Error> {
        let mut found: Vec<StoredPost> = Vec::new();
        let mut next = window;
        loop {
            let page = PostPage { author, window: next, period, only_public: true };
            let page = self.load.load(page).await?;
            let posts = self.post_records(self.without_limited(author, &page.entries).await?).await?;
            let public =
                posts.iter().flatten().filter(|found| PostAccess::Public.includes(found.unchecked()));
            let public = public.cloned();
            let (outermost, has_more) = match window.direction {
                Direction::Forward => {
                    found.extend(public);
                    (page.entries.last(), page.has_next)
                }
                Direction::Backward => {
                    found.extend(public.rev());
                    (page.entries.first(), page.has_previous)
                }
            };
            let is_full = found.len() >= window.size;
            let Some(last) = outermost.filter(|_| has_more && !is_full) else {
                found.truncate(window.size);
                return Ok(found);
            };
            next = Window { size: (2 * next.size).min(MOST_POSTS), from: Some(last.id()), ..window };
        }
    }

    /// Returns these posts of an author without those hot ones that only followers can see. Makes one round trip; none
    /// if no post is hot.
    async fn without_limited(&self, author: UserId, posts: &[Listed]) -> Result<Arc<[Listed]>, Error> {
        let is_hot = |post: &&Listed| matches!(post, Listed::Id(_));
        let hot: Arc<[PostId]> = posts.iter().filter(is_hot).map(Listed::id).collect();
        if hot.is_empty() {
            return Ok(posts.into());
        }
        let limited = self.load.load(LimitedAmong { author, posts: Shared(Arc::clone(&hot)) }).await?;
        let limited = hot.iter().zip(limited.iter()).filter(|(_, is_limited)| **is_limited);
        let limited: HashSet<PostId> = limited.map(|(post, _)| *post).collect();
        Ok(posts.iter().filter(|post| !limited.contains(&post.id())).cloned().collect())
    }

    /// Returns the numbers of those of these users' posts that were created in a period and that the viewer may see.
    /// Makes one round trip, plus one query if the period is limited and reaches into the archive.
    pub async fn post_counts(
        &self,
        authors: &[(UserId, PostAccess)],
        period: Period,
    ) -> Result<Vec<u64>, Error> {
        let read = |&(author, access): &(UserId, PostAccess)| PostCount {
            author,
            period,
            only_public: access == PostAccess::Public,
        };
        let is_counted = |(_, access): &&(UserId, PostAccess)| *access != PostAccess::None;
        let reads: Vec<_> = authors.iter().filter(is_counted).map(read).collect();
        if reads.is_empty() {
            return Ok(vec![0; authors.len()]);
        }
        let counts = self.load.load(Many(reads)).await?;
        let mut counts = counts.iter().copied();
        let count = |author: &(UserId, PostAccess)| {
            if is_counted(&author) { counts.next().unwrap_or_default() } else { 0 }
        };
        Ok(authors.iter().map(count).collect())
    }
}
