//! Checks the sets of bookmarks: that the order, the tree and the number of members agree.
//!
//! Not here: the form of the sets (`store::ordered`).

use std::collections::HashSet;

use crate::app::App;
use crate::app::error::Error;
use crate::model::id::{PostId, UserId};
use crate::model::page::{InListOrder, Position};
use crate::store::compact::NEWEST;
use crate::store::key::{Key, OrderedSet};
use crate::store::ordered::{self, ORDERED, Stored};
use crate::store::tree::Shard;

/// Number of users whose bookmarks are read together.
const TOGETHER: usize = 50;
/// Maximum number of attempts to read a user's bookmarks without a concurrent change.
const ATTEMPTS: usize = 3;

/// A set as it was read.
struct Found {
    stored: Stored,
    /// The members in the tree.
    tree: HashSet<PostId>,
}

/// A set as it should be.
struct Right {
    /// The entries, in order.
    order: Vec<Position<PostId>>,
    /// The members that the tree lacks.
    missing: Vec<PostId>,
    /// The number of members; `None` if the set needs no tree.
    count: Option<u64>,
}

impl Found {
    /// Returns the set with all members of the order and of the tree. Members that are only in the tree are at the end
    /// of the order, with the time of the last entry.
    fn right(&self) -> Right {
        let mut order = self.stored.entries();
        order.sort_by(InListOrder::in_list_order);
        let mut members = HashSet::new();
        order.retain(|entry| members.insert(entry.id));
        let missing: Vec<PostId> = members.iter().filter(|post| !self.tree.contains(post)).copied().collect();
        let at = order.last().map_or(ordered::EARLIEST, |entry| entry.at);
        let unordered = self.tree.iter().filter(|post| !members.contains(post));
        let has_tree = self.stored.count.is_some() || !self.tree.is_empty() || members.len() > NEWEST;
        let mut rest: Vec<_> = unordered.map(|post| Position { at, id: *post }).collect();
        let count = (members.len() + rest.len()) as u64;
        order.append(&mut rest);
        order.sort_by(InListOrder::in_list_order);
        order.truncate(ORDERED);
        let has_tree = has_tree && count > 0;
        Right {
            order,
            missing: if has_tree { missing } else { Vec::new() },
            count: has_tree.then_some(count),
        }
    }

    /// Returns true if the set is stored like this.
    fn is(&self, Right { order, missing, count }: &Right) -> bool {
        let Stored { posts, times, count: stored } = &self.stored;
        let has_lengths = posts.len() == order.len() && times.len() == order.len();
        has_lengths && self.stored.entries() == *order && missing.is_empty() && stored == count
    }
}

impl App {
    /// Returns the number of these users whose bookmarks are wrong. With `repair`, repairs them, without losing a
    /// bookmark. Skips users whose bookmarks keep changing.
    pub(super) async fn check_bookmarks(&self, users: &[UserId], repair: bool) -> Result<u64, Error> {
        let mut wrong = 0;
        for users in users.chunks(TOGETHER) {
            let sets = || users.iter().map(|user| self.keys().bookmarks(*user));
            let stored = self.send_all("check: bookmarks", sets().map(|set| ordered::stored(&set))).await?;
            let roots =
                self.send_all("check: bookmark roots", sets().map(|set| ordered::shard(&set, Shard::ROOT)));
            for ((set, stored), root) in sets().zip(stored).zip(roots.await?) {
                let is_empty = stored.posts.is_empty() && stored.times.is_empty() && stored.count.is_none();
                let is_plainly_right = is_empty && root.iter().all(|element| *element == 0);
                if !is_plainly_right && self.are_bookmarks_wrong(&set, repair).await? {
                    wrong += 1;
                }
            }
        }
        Ok(wrong)
    }

    async fn are_bookmarks_wrong(&self, set: &Key<OrderedSet>, repair: bool) -> Result<bool, Error> {
        for _ in 0..ATTEMPTS {
            let Some(found) = self.read_bookmarks(set).await? else { continue };
            let right = found.right();
            if found.is(&right) {
                return Ok(false);
            }
            if !repair {
                return Ok(true);
            }
            let add = right.missing.iter().map(|post| ordered::add_to_shards(set, *post));
            self.send_all("check: add bookmarks", add).await?;
            let restore = ordered::restore(set, &found.stored, &right.order, right.count);
            if restore.send("check: restore bookmarks", self.store()).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a set; `None` if it has changed while it was read.
    async fn read_bookmarks(&self, set: &Key<OrderedSet>) -> Result<Option<Found>, Error> {
        let read = async || ordered::stored(set).send("check: bookmarks", self.store()).await;
        let stored = read().await?;
        let (mut tree, mut open) = (HashSet::new(), vec![Shard::ROOT]);
        while !open.is_empty() {
            let shards = open.iter().map(|shard| ordered::shard(set, *shard));
            let found = self.send_all("check: bookmark shards", shards).await?;
            let below = open.iter().zip(&found).flat_map(|(shard, elements)| shard.below(elements)).collect();
            tree.extend(found.into_iter().flatten().filter_map(PostId::new));
            open = below;
        }
        let is_unchanged = read().await? == stored;
        Ok(is_unchanged.then_some(Found { stored, tree }))
    }
}
