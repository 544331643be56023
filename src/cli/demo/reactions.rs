//! Generates the likes and bookmarks of the posts of a demo world.

use rand::RngExt as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

use crate::cli::world::Reactions;
use crate::model::clock::Timestamp;

/// Largest share of the followers who like a post. Most posts are liked by a much smaller one.
const SHARE: f64 = 0.4;
/// Share of the likes of a statement that a response gets.
const RESPONSES: f64 = 0.2;
/// Time within which a post is liked, in milliseconds: most likes come early.
const WITHIN: f64 = 36.0 * 3_600_000.0;
/// Share of those who like a post that bookmark it.
const BOOKMARKS: f64 = 0.05;
/// The same share for ada, as whom visitors sign in.
const BOOKMARKS_OF_ADA: f64 = 0.25;

/// Generates the reactions to a post of these followers' author. As in real networks, a few posts have a large share of
/// all likes. Those who bookmark a post also like it.
pub(super) fn to(rng: &mut StdRng, followers: &[u32], is_statement: bool, at: Timestamp) -> Reactions {
    let appeal = SHARE * rng.random::<f64>().powi(5) * if is_statement { 1.0 } else { RESPONSES };
    let mut reactions = Reactions::default();
    let count = part(followers.len(), appeal, rng.random());
    for user in followers.sample(rng, count).copied().collect::<Vec<_>>() {
        let liked_at = after(at, rng.random::<f64>().powi(4));
        reactions.likes.push((user, liked_at));
        if rng.random_bool(if user == 0 { BOOKMARKS_OF_ADA } else { BOOKMARKS }) {
            reactions.bookmarks.push((user, liked_at));
        }
    }
    reactions.likes.sort_by_key(|(user, at)| (*at, *user));
    reactions
}

/// Returns a share of a number, rounded up with the probability of its fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "positive, and much smaller than the integers that a float can represent"
)]
fn part(of: usize, share: f64, drawn: f64) -> usize {
    (of as f64 * share + drawn) as usize
}

/// Returns the time at a share of [`WITHIN`] after another, and after it.
fn after(at: Timestamp, share: f64) -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "much smaller than the integers that a float can represent"
    )]
    let delay = (WITHIN * share) as i64;
    Timestamp::from_millis(at.as_millis() + 1 + delay)
}
