//! The likes of archived posts: the same over all three kinds of databases.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use fanfold::archive::Archive;
use fanfold::archive::like::LikePage;
use fanfold::archive::write::Lists;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::like::Like;
use fanfold::model::page::{Direction, InListOrder as _, Page, Window};
use fanfold::model::post::Post;

use crate::harness::row::{post, post_id, user};
use crate::harness::sql::{Database, Kind, on_every_kind};

on_every_kind! {
    a_like_is_stored_once_and_counted;
    a_post_that_is_not_live_cannot_be_liked;
    likes_at_the_same_time_are_counted_as_they_are_stored;
    likes_are_replaced_and_deleted_with_their_post;
    pages_of_likes_are_those_of_the_list;
    hundreds_of_pages_are_read_together;
    likes_are_found_by_user_and_by_post;
    lists_of_posts_that_do_not_exist_are_found_and_deleted;
    fifty_thousand_likes_are_written_read_and_deleted_in_time;
    two_movers_do_not_wait_for_each_other;
}

fn like(number: i64, member: u64) -> Like {
    Like { number, member: user(member) }
}

/// Returns the 7th user's post with this version, this number of likes, and as many likes ever.
fn liked(id: u64, version: u64, likes: usize) -> Post {
    let details = format!("{version} 0 0 0 0 0 {likes} {likes}").parse().unwrap();
    Post { details, ..post(id, 7, "x") }
}

fn lists(post: u64, likes: &[Like]) -> Lists {
    Lists { likes: likes.iter().map(|like| (post_id(post), *like)).collect(), ..Lists::default() }
}

fn window(direction: Direction, size: usize, from: Option<Like>) -> Window<Like> {
    Window { direction, size, from }
}

/// Reads all likes of a post, in the order of its list.
async fn all(archive: &Archive, post: u64) -> Vec<Like> {
    let page = LikePage { post: post_id(post), window: window(Direction::Forward, 100_000, None) };
    let page = archive.likes(&[page]).await.unwrap().remove(0);
    assert!(!page.has_previous && !page.has_next);
    page.entries.to_vec()
}

/// Returns the details of a post as text.
async fn details(archive: &Archive, post: u64) -> String {
    archive.read(&[post_id(post)]).await.unwrap().remove(0).live().unwrap().details.to_string()
}

async fn a_like_is_stored_once_and_counted(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let quoted = Post { details: "3 0 0 0 0 5 quote=9 tags=rust".parse().unwrap(), ..post(1, 7, "x") };
    archive.write(&[quoted, post(2, 7, "y")], &[], &Lists::default()).await.unwrap();
    for (member, is_liked, ever, expected, stored) in [
        (8, true, 1, "4 0 0 0 0 5 1 1", &[(1, 8)][..]),
        (8, true, 1, "4 0 0 0 0 5 1 1", &[(1, 8)]),
        (9, false, 1, "4 0 0 0 0 5 1 1", &[(1, 8)]),
        (9, true, 2, "5 0 0 0 0 5 2 2", &[(2, 9), (1, 8)]),
        (8, false, 2, "6 0 0 0 0 5 1 2", &[(2, 9)]),
        (8, false, 2, "6 0 0 0 0 5 1 2", &[(2, 9)]),
        (8, true, 3, "7 0 0 0 0 5 2 3", &[(3, 8), (2, 9)]),
        (9, false, 3, "8 0 0 0 0 5 1 3", &[(3, 8)]),
        (8, false, 3, "9 0 0 0 0 5 0 3", &[]),
    ] {
        assert_eq!(archive.set_like(post_id(1), user(member), is_liked).await.unwrap(), Some(ever));
        assert_eq!(details(&archive, 1).await, format!("{expected} quote=9 tags=rust"));
        let stored: Vec<Like> = stored.iter().map(|(number, member)| like(*number, *member)).collect();
        assert_eq!(all(&archive, 1).await, stored);
    }
    assert_eq!(details(&archive, 2).await, "0 0 0 0 0 0");
    assert_eq!(archive.set_like(post_id(2), user(8), false).await.unwrap(), Some(0));
    assert_eq!(details(&archive, 2).await, "0 0 0 0 0 0");
    // A late mover does not take back what has changed in the archive.
    archive.set_like(post_id(1), user(8), true).await.unwrap();
    archive.write(&[liked(1, 3, 0)], &[], &Lists::default()).await.unwrap();
    assert_eq!(all(&archive, 1).await, [like(4, 8)]);
}

async fn a_post_that_is_not_live_cannot_be_liked(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    archive.write(&[post(1, 7, "x")], &[(post_id(2), user(7))], &Lists::default()).await.unwrap();
    archive.set_like(post_id(1), user(8), true).await.unwrap();
    archive.write(&[], &[(post_id(1), user(7))], &Lists::default()).await.unwrap();
    for (post, is_liked) in [(1, true), (1, false), (2, true), (3, true), (3, false)] {
        assert_eq!(archive.set_like(post_id(post), user(8), is_liked).await.unwrap(), None, "{post}");
    }
    assert_eq!(database.number("SELECT COUNT(*) FROM likes").await, 0);
    assert_eq!(database.number("SELECT COUNT(*) FROM posts WHERE details IS NOT NULL").await, 0);
}

async fn likes_at_the_same_time_are_counted_as_they_are_stored(kind: Kind) {
    let database = Database::new(kind).await;
    let processes = [database.archive(), database.archive()];
    processes[0].write(&[post(1, 7, "x"), post(2, 7, "y")], &[], &Lists::default()).await.unwrap();
    // Each of 25 users likes both posts, and takes one of the likes back, all at the same time.
    let change = |number: u64| {
        let archive = processes[(number % 2) as usize].clone();
        let (post, member, is_liked) = (post_id(1 + number % 2), user(10 + number / 4), number % 4 != 3);
        tokio::spawn(async move { (post, archive.set_like(post, member, is_liked).await.unwrap()) })
    };
    let changes: Vec<_> = (0..100).map(change).collect();
    let mut ever: HashMap<PostId, Vec<u64>> = HashMap::new();
    for change in changes {
        let (post, number) = change.await.unwrap();
        ever.entry(post).or_default().push(number.expect("the post is live"));
    }
    for post in [1, 2] {
        let stored = all(&processes[0], post).await;
        let details = details(&processes[0], post).await;
        let numbers: Vec<usize> = details.split(' ').map(|number| number.parse().unwrap()).collect();
        let most = ever[&post_id(post)].iter().max().copied().unwrap();
        let [version, likes, all_likes] = [0, 6, 7].map(|place| numbers[place]);
        assert_eq!((likes, all_likes as u64), (stored.len(), most), "{details}");
        assert_eq!(version, 2 * all_likes - likes, "each change has a version: {details}");
        let distinct: BTreeSet<i64> = stored.iter().map(|like| like.number).collect();
        assert_eq!(distinct.len(), stored.len(), "no two likes have the same number");
        if post == 1 {
            assert_eq!((likes, all_likes), (25, 25), "each user likes it twice: {details}");
        }
    }
}

async fn likes_are_replaced_and_deleted_with_their_post(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let stored = async || all(&archive, 1).await;
    let [two, three] = [vec![like(2, 9), like(1, 8)], vec![like(3, 8), like(2, 9), like(-5, 4)]];
    for (version, likes, expected) in [
        (2, &two, &two),
        (4, &three, &three),
        // A mover that is late, or that read the likes after the record was dropped.
        (2, &two, &three),
        (4, &Vec::new(), &three),
    ] {
        // The other post never changed, so the mover has not read its likes.
        let post = liked(1, version, likes.len());
        archive.write(&[post, post_2()], &[], &lists(1, likes)).await.unwrap();
        assert_eq!(stored().await, *expected, "version {version}");
        assert_eq!(all(&archive, 2).await, []);
    }
    // One was taken back while the mover wrote the others.
    archive.write(&[liked(1, 5, 1)], &[], &lists(1, &two[..1])).await.unwrap();
    assert_eq!(stored().await, two[..1]);
    archive.write(&[], &[(post_id(1), user(8))], &Lists::default()).await.unwrap();
    assert_eq!(stored().await.len(), 1, "a tombstone of another author");
    archive.write(&[], &[(post_id(1), user(7))], &Lists::default()).await.unwrap();
    assert_eq!(stored().await, []);
    archive.write(&[liked(1, 9, 2)], &[], &lists(1, &two)).await.unwrap();
    assert_eq!(stored().await, []);
}

fn post_2() -> Post {
    post(2, 7, "y")
}

/// Likes of which some have the same number, in the order of their list.
fn list() -> Vec<Like> {
    let numbered = [40, 39, 30, 8, 2].into_iter().zip([5, 12, 7, 100, 9]);
    let unnumbered = [(-1, 3), (-7, 2), (-7, 10), (-7, 11), (-7, 101), (-9, 1), (-(1 << 32), 4)];
    numbered.chain(unnumbered).map(|(number, member)| like(number, member)).collect()
}

async fn pages_of_likes_are_those_of_the_list(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let list = list();
    assert!(list.is_sorted_by(|one, next| one.in_list_order(next).is_lt()));
    let others: Vec<Like> = (1..50).map(|number| like(number, number as u64)).collect();
    let mut stored = lists(2, &list);
    stored.likes.reverse();
    for neighbour in [1, 3] {
        stored.likes.extend(others.iter().map(|like| (post_id(neighbour), *like)));
    }
    let posts = [liked(1, 1, others.len()), liked(2, 1, list.len()), liked(3, 1, others.len())];
    archive.write(&posts, &[], &stored).await.unwrap();
    // Positions of likes, and of likes that have gone.
    let gone = [like(41, 1), like(39, 13), like(39, 11), like(-7, 1), like(-7, 50), like(i64::MIN, 9)];
    let positions = list.iter().copied().chain(gone).map(Some).chain([None]);
    let mut windows = Vec::new();
    for from in positions {
        for direction in [Direction::Forward, Direction::Backward] {
            windows.extend([0, 1, 2, 5, 20].map(|size| window(direction, size, from)));
        }
    }
    let expected: Vec<Page<Like>> = windows.iter().map(|window| Page::of(&list, window)).collect();
    let pages: Vec<LikePage> =
        windows.iter().map(|window| LikePage { post: post_id(2), window: *window }).collect();
    for (page, expected) in pages.iter().zip(&expected) {
        let read = archive.likes(std::slice::from_ref(page)).await.unwrap();
        assert_eq!(read, std::slice::from_ref(expected), "{page:?}");
    }
    assert_eq!(archive.likes(&pages).await.unwrap(), expected);
}

async fn hundreds_of_pages_are_read_together(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let posts: Vec<Post> = (1..=600).map(|id| liked(id, 1, 2)).collect();
    let both = |post: &Post| [like(2, 1_009), like(-3, post.id.get())].map(|like| (post.id, like));
    let likes = posts.iter().flat_map(both).collect();
    archive.write(&posts, &[], &Lists { likes, ..Lists::default() }).await.unwrap();
    let page = |id| LikePage { post: post_id(id), window: window(Direction::Backward, 1, Some(like(-4, 1))) };
    let pages: Vec<LikePage> = (1..=600).map(page).collect();
    for (id, page) in (1..).zip(archive.likes(&pages).await.unwrap()) {
        assert_eq!(*page.entries, [like(-3, id)]);
        assert!(page.has_previous && !page.has_next);
    }
    assert_eq!(archive.likes(&[]).await.unwrap(), []);
}

async fn likes_are_found_by_user_and_by_post(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    let mut expected: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for id in 1..=6 {
        archive.write(&[post(id, 7, "x")], &[], &Lists::default()).await.unwrap();
        for member in (10..20).filter(|member| member % id == 0) {
            archive.set_like(post_id(id), user(member), true).await.unwrap();
            expected.entry(id).or_default().push(member);
        }
    }
    let posts: Vec<PostId> = (1..=6).map(post_id).collect();
    let counts = archive.like_counts(&posts).await.unwrap();
    let expected_counts = expected.iter().map(|(post, members)| (post_id(*post), members.len() as u64));
    assert_eq!(counts, expected_counts.collect());
    assert_eq!(archive.like_counts(&[post_id(9)]).await.unwrap(), HashMap::new());
    let ids = |posts: &[u64]| -> Vec<PostId> { posts.iter().copied().map(post_id).collect() };
    assert_eq!(archive.likes_of(user(12), 0, 3).await.unwrap(), ids(&[1, 2, 3]));
    assert_eq!(archive.likes_of(user(12), 3, 3).await.unwrap(), ids(&[4, 6]));
    assert_eq!(archive.likes_of(user(21), 0, 3).await.unwrap(), []);
    let members = |members: &[u64]| -> Vec<UserId> { members.iter().copied().map(user).collect() };
    assert_eq!(archive.likers_after(post_id(2), 0, 3).await.unwrap(), members(&[10, 12, 14]));
    assert_eq!(archive.likers_after(post_id(2), 14, 3).await.unwrap(), members(&[16, 18]));
    assert_eq!(archive.likers_after(post_id(9), 0, 3).await.unwrap(), []);
}

async fn lists_of_posts_that_do_not_exist_are_found_and_deleted(kind: Kind) {
    let database = Database::new(kind).await;
    let archive = database.archive();
    for id in [1, 2, 5, 8] {
        archive.write(&[post(id, 7, "x")], &[], &Lists::default()).await.unwrap();
        for member in 10..=10 + id {
            archive.set_like(post_id(id), user(member), true).await.unwrap();
        }
    }
    let entries = "INSERT INTO referrers (kind, target, referrer) \
        VALUES (1, 4, 40), (1, 4, 41), (1, 8, 80), (1, 9, 90)";
    database.execute(entries).await;
    database.execute("DELETE FROM posts WHERE id = 2").await;
    archive.write(&[], &[(post_id(5), user(7))], &Lists::default()).await.unwrap();
    // As a version without likes would leave them.
    database.execute("INSERT INTO likes (post, member, number) VALUES (5, 10, 1)").await;
    let ids = |posts: &[u64]| -> Vec<PostId> { posts.iter().copied().map(post_id).collect() };
    assert_eq!(archive.listed_after(0, 100).await.unwrap(), ids(&[1, 2, 4, 5, 8, 9]));
    // Whatever the size of the parts, all posts are found.
    for most in 1..=5 {
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let part = archive.listed_after(after, most).await.unwrap();
            let Some(last) = part.last() else { break };
            assert!(part.len() <= most);
            after = last.get();
            found.extend(part);
        }
        assert_eq!(found, ids(&[1, 2, 4, 5, 8, 9]), "{most} at a time");
    }
    archive.delete_unowned_lists(&ids(&[1, 2, 4, 5, 8])).await.unwrap();
    assert_eq!(archive.listed_after(0, 100).await.unwrap(), ids(&[1, 8, 9]));
    assert_eq!(database.number("SELECT COUNT(*) FROM likes").await, 2 + 9);
    assert_eq!(database.number("SELECT COUNT(*) FROM referrers").await, 2);
}

async fn fifty_thousand_likes_are_written_read_and_deleted_in_time(kind: Kind) {
    const LIKES: i64 = 50_000;
    let database = Database::new(kind).await;
    let archive = database.archive();
    archive.greatest_ids().await.unwrap();
    let number = |member: i64| if member > LIKES - 128 { member } else { -1 - member * 7_919 % (1 << 32) };
    let mut likes: Vec<Like> = (1..=LIKES).map(|member| like(number(member), member as u64)).collect();
    for version in 1..=2 {
        in_time(archive.write(&[liked(1, version, likes.len())], &[], &lists(1, &likes))).await.unwrap();
    }
    likes.sort_unstable_by(Like::in_list_order);
    for at in [0, 100, 127, 128, 129, 30_000, 49_999] {
        let from = Some(likes[at]);
        let windows = [Direction::Forward, Direction::Backward].map(|direction| window(direction, 100, from));
        let pages = windows.map(|window| LikePage { post: post_id(1), window });
        let expected = windows.map(|window| Page::of(&likes, &window));
        assert_eq!(in_time(archive.likes(&pages)).await.unwrap(), expected, "at {at}");
    }
    in_time(archive.write(&[], &[(post_id(1), user(7))], &Lists::default())).await.unwrap();
    assert_eq!(database.number("SELECT COUNT(*) FROM likes").await, 0);
}

/// Waits for a statement that a mover has time for, long before others adopt its posts.
async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), work).await.expect("it takes a second")
}

async fn two_movers_do_not_wait_for_each_other(kind: Kind) {
    let database = Database::new(kind).await;
    let movers = [database.archive(), database.archive()];
    movers[0].greatest_ids().await.unwrap();
    let likes: Vec<Like> = (1..=3_000).map(|number| like(number, number as u64)).collect();
    for turn in 0..5 {
        let write = |(number, archive): (u64, &Archive)| {
            let (archive, id) = (archive.clone(), 1 + 2 * turn + number);
            let lists = lists(id, &likes);
            tokio::spawn(async move {
                archive.write(&[liked(id, 1, lists.likes.len())], &[], &lists).await.unwrap();
            })
        };
        let writing: Vec<_> = (0..).zip(&movers).map(write).collect();
        for writing in writing {
            writing.await.unwrap();
        }
    }
    assert_eq!(database.number("SELECT COUNT(*) FROM likes").await, 30_000);
}
