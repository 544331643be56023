//! Likes and bookmarks: a few posts have most of them, and a few users make most of them.

use std::collections::BTreeMap;

use fanfold::app::App;
use fanfold::model::id::{PostId, UserId};
use fanfold::store::batch::Batch;
use fanfold::store::{like, ordered};

use crate::BATCH_SIZE;

/// Every post has at least this many likes, and the post of rank `n` has `1/n` of those of the first one.
const LEAST_LIKES: usize = 3;
/// Share of users who like the first post.
const SHARE: usize = 25;
/// Of so many likes, one is of a post that the user bookmarks as well.
const PER_BOOKMARK: usize = 10;

/// What users react to, in order of time.
#[derive(Default)]
pub(crate) struct Reactions {
    pub(crate) likes: BTreeMap<UserId, Vec<PostId>>,
    pub(crate) likers: BTreeMap<PostId, Vec<UserId>>,
    pub(crate) bookmarks: BTreeMap<UserId, Vec<PostId>>,
}

/// Lets users like and bookmark posts.
pub(crate) async fn react(app: &App, users: &[UserId], posts: &[PostId]) -> Reactions {
    let mut pairs = Vec::new();
    for (rank, post) in posts.iter().enumerate() {
        let count = (users.len() / SHARE / (rank + 1)).max(LEAST_LIKES);
        let mut likers: Vec<UserId> = (0..count).map(|step| users[liker(rank, step, users.len())]).collect();
        likers.sort_unstable();
        likers.dedup();
        pairs.extend(likers.into_iter().map(|user| (user, *post)));
    }
    let mut reactions = Reactions::default();
    for (index, (user, post)) in pairs.iter().enumerate() {
        reactions.likes.entry(*user).or_default().push(*post);
        reactions.likers.entry(*post).or_default().push(*user);
        if index.is_multiple_of(PER_BOOKMARK) {
            reactions.bookmarks.entry(*user).or_default().push(*post);
        }
    }
    write(app, &reactions).await;
    reactions
}

/// Returns the index of a user who likes the post of this rank: the lower, the more likely.
fn liker(rank: usize, step: usize, users: usize) -> usize {
    let drawn = (rank * 7_919 + step * 104_729) % users;
    drawn * (drawn + 1) / users
}

async fn write(app: &App, reactions: &Reactions) {
    let (keys, now) = (app.store().keys(), app.now());
    let mut commands = Vec::new();
    for (user, post) in flat(&reactions.likes) {
        let set = keys.liked(user);
        commands.push(ordered::add(&set, post, now, None, &keys.reactions_of(user), None).map(|_| Ok(())));
        commands.push(like::mirror(keys, post, user, true).map(|_| Ok(())));
    }
    for (user, post) in flat(&reactions.bookmarks) {
        let set = keys.bookmarks(user);
        commands.push(ordered::add(&set, post, now, None, &keys.reactions_of(user), None).map(|_| Ok(())));
    }
    let mut commands = commands.into_iter().peekable();
    while commands.peek().is_some() {
        let mut batch = Batch::new("bench");
        let tickets = commands.by_ref().take(BATCH_SIZE).map(|command| batch.push(command)).collect();
        batch.send(app.store()).await.unwrap().take_all(tickets).unwrap();
    }
}

fn flat(posts: &BTreeMap<UserId, Vec<PostId>>) -> impl Iterator<Item = (UserId, PostId)> + use<'_> {
    posts.iter().flat_map(|(user, posts)| posts.iter().map(|post| (*user, *post)))
}
