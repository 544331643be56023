//! Removals from watched timelines: they tell a viewer nothing of what the viewer may not see.

use fanfold::app::error::{Error, Rejection};
use fanfold::app::timeline::live::{TimelineEvent, TimelineWatch};
use serde_json::Value;

use crate::harness::block::add_blockers;
use crate::harness::id::global;
use crate::harness::post::{delete, publish};
use crate::harness::sql::{Database, Kind};
use crate::harness::watch::{position, watch, watch_after};
use crate::harness::world::{Person, World, archive_all, deliver_all};

/// The numbers of the users of a play.
const BOB: u64 = 2;
const CEM: u64 = 3;

/// A removal: the post, and the user whose repost was undone.
type Removed = (String, Option<String>);

/// A world in which Bob watches. He follows Cem and Dan; Cem reposts posts by Ada.
struct Play {
    world: World,
    ada: Person,
    bob: Person,
    cem: Person,
    dan: Person,
}

impl Play {
    async fn new(world: World) -> Self {
        let [ada, bob, cem, dan] =
            [world.register("ada"), world.register("bob"), world.register("cem"), world.register("dan")];
        let (ada, bob, cem, dan) = (ada.await, bob.await, cem.await, dan.await);
        for followed in [&cem, &dan] {
            world.follow(&bob, followed).await;
        }
        publish(&world, &bob, "own").await;
        Self { world, ada, bob, cem, dan }
    }

    /// Publishes a post, which Cem reposts.
    async fn reposted(&self) -> String {
        let post = publish(&self.world, &self.ada, "original").await;
        self.world.change(&self.cem, "repost(input: { postId: $id })", &post).await;
        deliver_all(&self.world.app).await;
        post
    }

    async fn undo(&self, post: &str) {
        self.world.change(&self.cem, "undoRepost(input: { postId: $id })", post).await;
        deliver_all(&self.world.app).await;
    }

    async fn delete(&self, author: &Person, post: &str) {
        assert_eq!(delete(&self.world, author, post).await["deletedPostId"], post);
        deliver_all(&self.world.app).await;
    }

    async fn block(&self, blocker: &Person, other: &Person) {
        self.world.change(blocker, "block(input: { userId: $id })", &other.id).await;
    }

    async fn apply(&self, hide: Hide) {
        let [ada, bob, cem] = [&self.ada, &self.bob, &self.cem];
        match hide {
            Hide::AuthorBlocks => self.block(ada, bob).await,
            Hide::ViewerBlocksAuthor => self.block(bob, ada).await,
            Hide::ReposterBlocks => self.block(cem, bob).await,
            Hide::ViewerBlocksReposter => self.block(bob, cem).await,
            Hide::Private => {
                let query = "mutation { updateProfile(input: { isPrivate: true }) { userErrors { code } } }";
                self.world.data(Some(&ada.token), query, Value::Null).await;
            }
            Hide::MutesAuthor => self.world.change(bob, "mute(input: { userId: $id })", &ada.id).await,
            Hide::MutesReposter => self.world.change(bob, "mute(input: { userId: $id })", &cem.id).await,
            Hide::MutesReposts => {
                self.world.change(bob, "mute(input: { userId: $id, scope: REPOSTS })", &cem.id).await;
            }
            Hide::Unfollows => drop(self.world.unfollow(bob, cem).await),
        }
    }
}

/// A change after which Bob may not see Ada's post as reposted by Cem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hide {
    AuthorBlocks,
    ViewerBlocksAuthor,
    ReposterBlocks,
    ViewerBlocksReposter,
    Private,
    MutesAuthor,
    MutesReposter,
    MutesReposts,
    Unfollows,
}

const HIDES: [Hide; 9] = [
    Hide::AuthorBlocks,
    Hide::ViewerBlocksAuthor,
    Hide::ReposterBlocks,
    Hide::ViewerBlocksReposter,
    Hide::Private,
    Hide::MutesAuthor,
    Hide::MutesReposter,
    Hide::MutesReposts,
    Hide::Unfollows,
];

impl Hide {
    /// Returns true if Bob makes the change, which resets his timeline.
    fn is_by_viewer(self) -> bool {
        !matches!(self, Self::AuthorBlocks | Self::ReposterBlocks | Self::Private)
    }
}

/// When it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    BeforeTheDeletions,
    OnceTheyAreRecorded,
    BetweenTwoEvents,
}

/// Returns the next event, which is a removal.
async fn try_next(watch: &mut TimelineWatch) -> Result<Option<Removed>, Error> {
    Ok(watch.next_by_now().await?.map(|(event, _)| match event {
        TimelineEvent::Removed(removal) => {
            (global("Post", removal.post), removal.undone_by.map(|user| global("User", user)))
        }
        other @ (TimelineEvent::Added(_) | TimelineEvent::Reset) => panic!("{other:?}"),
    }))
}

async fn next(watch: &mut TimelineWatch) -> Option<Removed> {
    try_next(watch).await.unwrap()
}

/// Checks that the next event is a reset, after which the client reads the timeline again, and that there is no other.
async fn check_reset(watch: &mut TimelineWatch, case: &str) {
    let (event, _) = watch.next_by_now().await.unwrap().expect(case);
    assert!(matches!(event, TimelineEvent::Reset), "{case}: {event:?}");
    assert_eq!(next(watch).await, None, "{case}");
}

fn is_resync<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Rejected(Rejection::Resync)))
}

/// Hides Ada's posts from Bob, and checks that he receives the removal of what he sees, and no other.
async fn check_hidden(play: &Play, hide: Hide, when: When) {
    let (undone, deleted) = (play.reposted().await, play.reposted().await);
    let visible = publish(&play.world, &play.dan, "visible").await;
    deliver_all(&play.world.app).await;
    let mut watch = watch(&play.world, &play.bob).await;
    play.delete(&play.dan, &visible).await;
    if when == When::BeforeTheDeletions {
        play.apply(hide).await;
    }
    play.undo(&undone).await;
    play.delete(&play.ada, &deleted).await;
    if when == When::OnceTheyAreRecorded {
        play.apply(hide).await;
    }
    assert_eq!(next(&mut watch).await, Some((visible, None)), "{hide:?} {when:?}");
    if hide.is_by_viewer() && when != When::BetweenTwoEvents {
        return check_reset(&mut watch, &format!("{hide:?} {when:?}")).await;
    }
    if when == When::BetweenTwoEvents {
        play.apply(hide).await;
    }
    assert_eq!(next(&mut watch).await, None, "{hide:?} {when:?}");
}

#[tokio::test]
async fn a_follower_learns_that_a_repost_is_undone_and_that_an_original_is_deleted() {
    for strategy in ["hybrid", "push", "pull"] {
        let play = Play::new(World::with(&["--timeline-strategy", strategy]).await).await;
        let (undone, deleted) = (play.reposted().await, play.reposted().await);
        let mut watch = watch(&play.world, &play.bob).await;
        play.undo(&undone).await;
        play.delete(&play.ada, &deleted).await;
        let cem = Some(global("User", CEM));
        assert_eq!(next(&mut watch).await, Some((undone, cem)), "{strategy}");
        assert_eq!(next(&mut watch).await, Some((deleted, None)), "{strategy}");
        assert_eq!(next(&mut watch).await, None, "{strategy}");
    }
}

#[tokio::test]
async fn a_viewer_learns_nothing_of_reposts_and_originals_that_are_hidden() {
    for hide in HIDES {
        for when in [When::BeforeTheDeletions, When::OnceTheyAreRecorded] {
            check_hidden(&Play::new(World::new().await).await, hide, when).await;
        }
    }
}

#[tokio::test]
async fn a_block_or_a_mute_between_two_removals_hides_the_later_one() {
    for hide in HIDES.into_iter().filter(|hide| !matches!(hide, Hide::Private | Hide::Unfollows)) {
        check_hidden(&Play::new(World::new().await).await, hide, When::BetweenTwoEvents).await;
    }
}

#[tokio::test]
async fn a_viewer_whom_very_many_users_block_learns_nothing_of_their_posts() {
    for hide in [Hide::AuthorBlocks, Hide::ReposterBlocks] {
        for when in [When::BeforeTheDeletions, When::OnceTheyAreRecorded, When::BetweenTwoEvents] {
            let play = Play::new(World::new().await).await;
            add_blockers(&play.world, BOB, 5_001).await;
            check_hidden(&play, hide, when).await;
        }
    }
}

#[tokio::test]
async fn a_viewer_who_does_not_follow_a_private_author_any_more_learns_nothing_of_the_authors_posts() {
    let play = Play::new(World::new().await).await;
    play.world.follow(&play.bob, &play.ada).await;
    let (undone, deleted) = (play.reposted().await, play.reposted().await);
    let mut watch = watch(&play.world, &play.bob).await;
    play.undo(&undone).await;
    play.delete(&play.ada, &deleted).await;
    play.world.unfollow(&play.bob, &play.ada).await;
    play.apply(Hide::Private).await;
    check_reset(&mut watch, "unfollowed").await;
}

#[tokio::test]
async fn the_removal_of_a_post_is_sent_only_to_those_in_whose_timelines_its_author_is() {
    let mute = "mute(input: { userId: $id })";
    let mute_reposts = "mute(input: { userId: $id, scope: REPOSTS })";
    let changes = [("none", true), (mute_reposts, true), (mute, false), ("unfollow", false)];
    for ((change, is_sent), is_before) in
        changes.into_iter().flat_map(|change| [(change, true), (change, false)])
    {
        let play = Play::new(World::new().await).await;
        let limited =
            "mutation { publish(input: { content: \"x\", visibility: FOLLOWERS }) { post { id } } }";
        let data = play.world.data(Some(&play.dan.token), limited, Value::Null).await;
        let limited = data["publish"]["post"]["id"].as_str().unwrap().to_owned();
        let public = publish(&play.world, &play.dan, "public").await;
        deliver_all(&play.world.app).await;
        let apply = async || match change {
            "none" => {}
            "unfollow" => drop(play.world.unfollow(&play.bob, &play.dan).await),
            mute => play.world.change(&play.bob, mute, &play.dan.id).await,
        };
        if is_before {
            apply().await;
        }
        let mut watch = watch(&play.world, &play.bob).await;
        play.delete(&play.dan, &limited).await;
        play.delete(&play.dan, &public).await;
        if !is_before {
            apply().await;
        }
        let expected = if is_sent { vec![(limited, None), (public, None)] } else { vec![] };
        for removed in expected {
            assert_eq!(next(&mut watch).await, Some(removed), "{change}");
        }
        if !is_before && change != "none" {
            check_reset(&mut watch, change).await;
        }
        assert_eq!(next(&mut watch).await, None, "{change}");
    }
}

#[tokio::test]
async fn a_repost_is_removed_even_if_the_viewer_has_followed_the_author_since() {
    let play = Play::new(World::new().await).await;
    let (undone, deleted) = (play.reposted().await, play.reposted().await);
    let start = position(&play.world, &play.bob).await;
    play.world.follow(&play.bob, &play.ada).await;
    check_reset(&mut watch_after(&play.world, &play.bob, &start).await, "followed").await;
    let mut watch = watch(&play.world, &play.bob).await;
    play.undo(&undone).await;
    play.delete(&play.ada, &deleted).await;
    assert_eq!(next(&mut watch).await, Some((undone, Some(global("User", CEM)))));
    assert_eq!(next(&mut watch).await, Some((deleted, None)));
}

/// A play in which all but the newest post of each author are archived.
async fn archiving(database: &Database) -> Play {
    Play::new(World::with_archive(database, &["--post-hot-limit", "1"]).await).await
}

async fn archive(play: &Play) {
    publish(&play.world, &play.ada, "newest").await;
    archive_all(&play.world.app).await;
}

#[tokio::test]
async fn a_client_resyncs_if_the_archive_that_has_the_original_cannot_be_read() {
    let database = Database::new(Kind::Sqlite).await;
    let play = archiving(&database).await;
    let post = play.reposted().await;
    archive(&play).await;
    let (world, bob) = (&play.world, &play.bob);
    let start = position(world, bob).await;
    let resumed = async || watch_after(world, bob, &start).await;
    play.undo(&post).await;
    database.execute("ALTER TABLE posts RENAME TO away").await;
    assert!(is_resync(&try_next(&mut resumed().await).await));
    // A client that has refetched its timeline goes on.
    assert_eq!(next(&mut watch(world, bob).await).await, None);
    database.execute("ALTER TABLE away RENAME TO posts").await;
    assert_eq!(next(&mut resumed().await).await, Some((post, Some(global("User", CEM)))));
    // The original does not matter to those who may not see the repost.
    database.execute("ALTER TABLE posts RENAME TO away").await;
    play.block(&play.cem, bob).await;
    assert_eq!(next(&mut resumed().await).await, None);
}

#[tokio::test]
async fn the_author_of_an_archived_original_decides_who_learns_that_its_repost_is_undone() {
    for hide in [Hide::AuthorBlocks, Hide::ViewerBlocksAuthor, Hide::Private, Hide::MutesAuthor] {
        let database = Database::new(Kind::Sqlite).await;
        let play = archiving(&database).await;
        let (undone, deleted) = (play.reposted().await, play.reposted().await);
        archive(&play).await;
        let mut watch = watch(&play.world, &play.bob).await;
        play.undo(&undone).await;
        play.delete(&play.ada, &deleted).await;
        play.apply(hide).await;
        if hide.is_by_viewer() {
            check_reset(&mut watch, &format!("{hide:?}")).await;
        }
        assert_eq!(next(&mut watch).await, None, "{hide:?}");
    }
}

/// Returns the key of a post's record.
fn record(post: u64) -> String {
    format!("ff:{{p{post}}}:post")
}

#[tokio::test]
async fn a_removal_of_which_redis_has_lost_the_record_is_not_sent_to_those_who_may_not_see_it() {
    for (hide, is_archived) in [(None, true), (Some(Hide::AuthorBlocks), true), (None, false)] {
        let database = Database::new(Kind::Sqlite).await;
        let play = archiving(&database).await;
        let post = play.reposted().await;
        let mut watch = watch(&play.world, &play.bob).await;
        play.delete(&play.ada, &post).await;
        if is_archived {
            archive_all(&play.world.app).await;
        }
        // The original: the second post, after Bob's.
        assert_eq!(post, global("Post", 2));
        play.world.redis.raw::<u64>(&["DEL", &record(2)]);
        if let Some(hide) = hide {
            play.apply(hide).await;
        }
        let expected = (hide.is_none() && is_archived).then_some((post, None));
        assert_eq!(next(&mut watch).await, expected, "{hide:?} {is_archived}");
    }
}

#[tokio::test]
async fn a_client_resyncs_if_it_is_not_known_whether_a_repost_was_removed() {
    for (hide, is_archived) in [(None, true), (Some(Hide::ReposterBlocks), true), (None, false)] {
        let database = Database::new(Kind::Sqlite).await;
        let play = archiving(&database).await;
        let post = play.reposted().await;
        let mut watch = watch(&play.world, &play.bob).await;
        play.undo(&post).await;
        if is_archived {
            archive_all(&play.world.app).await;
        }
        play.world.redis.raw::<u64>(&["DEL", &record(3)]);
        if let Some(hide) = hide {
            play.apply(hide).await;
        }
        let removed = try_next(&mut watch).await;
        assert_eq!(is_resync(&removed), hide.is_none() && is_archived, "{hide:?} {is_archived}");
        assert!(is_resync(&removed) || removed.unwrap().is_none());
    }
}

/// Returns the number of round trips in which a watch has all events, and the number of these.
async fn trips(world: &World, watch: &mut TimelineWatch) -> (u64, u64) {
    let before = world.app.store().round_trips();
    let mut events = 0;
    while next(watch).await.is_some() {
        events += 1;
    }
    (world.app.store().round_trips() - before, events)
}

#[tokio::test]
async fn the_round_trips_of_a_look_do_not_grow_with_the_number_of_removals() {
    for (hide, blockers) in [(None, 0), (Some(Hide::AuthorBlocks), 0), (Some(Hide::AuthorBlocks), 5_001)] {
        let mut costs = Vec::new();
        for count in [0, 1, 30] {
            let play = Play::new(World::with(&["--post-publishes-per-author", "1000"]).await).await;
            add_blockers(&play.world, BOB, blockers).await;
            let mut posts = Vec::new();
            for _ in 0..count {
                posts.push((play.reposted().await, play.reposted().await));
            }
            if let Some(hide) = hide {
                play.apply(hide).await;
            }
            let start = position(&play.world, &play.bob).await;
            // The first look reads what later ones know.
            trips(&play.world, &mut watch_after(&play.world, &play.bob, &start).await).await;
            for (undone, deleted) in &posts {
                play.undo(undone).await;
                play.delete(&play.ada, deleted).await;
            }
            let mut watch = watch_after(&play.world, &play.bob, &start).await;
            costs.push(trips(&play.world, &mut watch).await);
        }
        let [(none, no_events), (one, few), (many, all)] = costs[..] else { unreachable!() };
        let expected = if hide.is_none() { [0, 2, 60] } else { [0; 3] };
        assert_eq!([no_events, few, all], expected, "{hide:?} {blockers}");
        // Before each event, the version of the exclusions is read again.
        assert_eq!(many - all, one - few, "{hide:?} {blockers}: {costs:?}");
        // The records, the originals, the exclusions' version and the authors; and who of them blocks the viewer.
        assert!(one - few <= none + 4 + u64::from(blockers > 0), "{hide:?} {blockers}: {costs:?}");
    }
}
