//! The naive model of who sees which posts that refer to which.

use std::collections::BTreeSet;

use crate::harness::walk::ReferrerField;

pub(super) const USERS: usize = 8;

/// A post. Others are named by their indices.
pub(super) struct NaivePost {
    pub(super) id: String,
    pub(super) author: usize,
    pub(super) is_public: bool,
    pub(super) is_deleted: bool,
    pub(super) parent: Option<usize>,
    pub(super) quoted: Option<usize>,
    pub(super) original: Option<usize>,
}

/// The naive model. Users are indices.
#[derive(Default)]
pub(super) struct Model {
    pub(super) posts: Vec<NaivePost>,
    pub(super) follows: BTreeSet<(usize, usize)>,
    pub(super) blocks: BTreeSet<(usize, usize)>,
    pub(super) private: BTreeSet<usize>,
    pub(super) suspended: BTreeSet<usize>,
    pub(super) deleted: BTreeSet<usize>,
}

impl Model {
    pub(super) fn is_active(&self, user: usize) -> bool {
        !self.suspended.contains(&user) && !self.deleted.contains(&user)
    }

    pub(super) fn active(&self) -> Vec<usize> {
        (0..USERS).filter(|user| self.is_active(*user)).collect()
    }

    pub(super) fn has_block(&self, one: usize, other: usize) -> bool {
        self.blocks.contains(&(one, other)) || self.blocks.contains(&(other, one))
    }

    /// Returns true if everyone sees the post, apart from blocks.
    pub(super) fn is_listed(&self, post: &NaivePost) -> bool {
        let author = post.author;
        let is_open = self.is_active(author) && !self.private.contains(&author);
        is_open && post.is_public && !post.is_deleted && self.has_original(post)
    }

    fn has_original(&self, post: &NaivePost) -> bool {
        post.original.is_none_or(|original| !self.posts[original].is_deleted)
    }

    pub(super) fn sees(&self, viewer: Option<usize>, post: &NaivePost) -> bool {
        let author = post.author;
        let follows = viewer.is_some_and(|viewer| self.follows.contains(&(viewer, author)));
        let is_hidden = post.is_deleted
            || !self.is_active(author)
            || !self.has_original(post)
            || viewer.is_some_and(|viewer| self.has_block(viewer, author));
        !is_hidden && (viewer == Some(author) || follows || self.is_listed(post))
    }

    /// Returns the posts of a list of a post, the oldest first.
    fn referrers(&self, target: usize, list: ReferrerField) -> impl Iterator<Item = &NaivePost> {
        let target = Some(target);
        self.posts.iter().filter(move |post| match list {
            ReferrerField::OldestReplies | ReferrerField::NewestReplies => post.parent == target,
            ReferrerField::Quotes => post.quoted == target,
            ReferrerField::RepostedBy => post.original == target,
        })
    }

    /// Returns the entries of a list of a post that a viewer sees, in list order; `None` if the viewer may not see the post.
    pub(super) fn list(
        &self,
        target: usize,
        list: ReferrerField,
        viewer: Option<usize>,
        id_of: impl Fn(usize) -> String,
    ) -> Option<Vec<String>> {
        if !self.sees(viewer, &self.posts[target]) {
            return None;
        }
        let entry = |post: &NaivePost| match list {
            ReferrerField::RepostedBy => id_of(post.author),
            _ => post.id.clone(),
        };
        let seen = self.referrers(target, list).filter(|post| self.sees(viewer, post));
        let mut entries: Vec<String> = seen.map(entry).collect();
        if list != ReferrerField::OldestReplies {
            entries.reverse();
        }
        Some(entries)
    }

    /// Returns the numbers of replies, quotes and reposts that everyone sees.
    pub(super) fn counts(&self, target: usize) -> [usize; 3] {
        [ReferrerField::OldestReplies, ReferrerField::Quotes, ReferrerField::RepostedBy]
            .map(|list| self.referrers(target, list).filter(|post| self.is_listed(post)).count())
    }
}
