//! What must hold on a stage at every moment, whatever is in progress.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fanfold::app::error::Error;
use fanfold::app::viewer::Viewer;
use fanfold::app::visibility::{UserSelection, Visible, VisiblePost};
use fanfold::archive::referrer::EntryPortion;
use fanfold::model::account::Standing;
use fanfold::model::attachment::ReferrerKind;
use fanfold::model::id::PostId;
use fanfold::model::page::{Direction, Window};
use fanfold::model::post::Post;
use fanfold::model::referrer::{EntryKind, EntryList};

use crate::harness::stage::Stage;

/// A user who follows no one, and publishes nothing.
const STRANGER: u64 = 2;

impl Stage {
    /// Returns the entries of the lists of a post in Redis, of which these keys may be known to exist.
    pub(super) fn hot_entries(
        &self,
        target: PostId,
        kind: ReferrerKind,
        stored: Option<&BTreeSet<String>>,
    ) -> [Vec<String>; 3] {
        EntryKind::ALL.map(|entries| {
            let key = self.app.store().keys().referrers(target, kind, entries);
            let is_missing = stored.is_some_and(|stored| !stored.contains(key.name()));
            if is_missing { Vec::new() } else { self.world.redis.raw(&["LRANGE", key.name(), "0", "-1"]) }
        })
    }

    /// Returns the entries of each of these lists in the archive.
    pub(super) async fn cold_entries(&self, of: &[(PostId, ReferrerKind)]) -> Vec<[Vec<String>; 3]> {
        let lists = of.iter().flat_map(|(target, kind)| EntryList::of(*target, *kind));
        let portions: Vec<EntryPortion> =
            lists.map(|list| EntryPortion { list, from: None, size: 999 }).collect();
        let found = self.archive.entries(&portions).await.unwrap();
        let mut found = found.iter().map(|list| list.iter().map(ToString::to_string).collect());
        of.iter().map(|_| EntryKind::ALL.map(|_| found.next().expect("each list is read"))).collect()
    }

    /// Checks the lists of referrers of the two oldest posts: no entry is in two lists at one place, each number is that of
    /// the listed entries, and a reader who follows no one is shown nothing that the reader may not see now.
    pub(crate) async fn check_moment(&self) -> Result<(), String> {
        self.check_likes_now().await?;
        let posts: BTreeMap<u64, Arc<Post>> = self.records().await.into_iter().collect();
        let targets = posts.values().take(2);
        let lists: Vec<(&Post, ReferrerKind)> =
            targets.flat_map(|post| ReferrerKind::ALL.map(|kind| (&**post, kind))).collect();
        let of: Vec<_> = lists.iter().map(|(post, kind)| (post.id, *kind)).collect();
        for ((target, kind), cold) in lists.into_iter().zip(self.cold_entries(&of).await) {
            self.check_places(target, kind, cold)?;
            for viewer in [Viewer::Anonymous, self.viewer(STRANGER)] {
                self.check_shown(target.id, kind, &viewer).await?;
            }
        }
        Ok(())
    }

    fn check_places(&self, target: &Post, kind: ReferrerKind, cold: [Vec<String>; 3]) -> Result<(), String> {
        let id = target.id;
        let places = [self.hot_entries(id, kind, None), cold];
        for lists in &places {
            let mut seen = BTreeSet::new();
            for entry in lists.iter().flatten() {
                if !seen.insert(entry.split(':').next().unwrap()) {
                    return Err(format!("{entry} is twice among the {kind:?} of {id}: {lists:?}"));
                }
            }
        }
        let is_hot: bool = self.world.redis.raw(&["HEXISTS", &format!("ff:{{p{id}}}:post"), "content"]);
        let [hot, cold] = &places;
        let listed = if is_hot { &hot[0] } else { &cold[0] };
        let count = target.details.counts.of(kind);
        if count != listed.len() as u64 {
            return Err(format!("{count} {kind:?} of {id} are counted: {places:?}"));
        }
        Ok(())
    }

    /// Returns the referrers of a post that a viewer is shown.
    pub(crate) async fn shown(
        &self,
        target: PostId,
        kind: ReferrerKind,
        viewer: &Viewer,
    ) -> Result<Vec<VisiblePost>, Error> {
        let visible = Visible { app: &self.app, load: &self.app, viewer };
        let window = Window { direction: Direction::Forward, size: 99, from: None };
        Ok(visible.referrers((target, kind), window, UserSelection::NONE).await?.posts)
    }

    async fn check_shown(&self, target: PostId, kind: ReferrerKind, viewer: &Viewer) -> Result<(), String> {
        let shown = self.shown(target, kind, viewer).await;
        for VisiblePost { post, .. } in shown.map_err(|error| format!("{error:?}"))? {
            let standing = self.standing(post.author.get());
            let record = format!("ff:{{p{}}}:post", post.id);
            let is_deleted: bool = self.world.redis.raw(&["HEXISTS", &record, "deleted"]);
            if standing != Standing::Public || !post.visibility.is_public() || is_deleted {
                return Err(format!("{viewer:?} sees {post:?} among the {kind:?} of {target}"));
            }
        }
        Ok(())
    }
}
