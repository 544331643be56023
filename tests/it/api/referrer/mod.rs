//! The lists of posts that refer to a post, against a naive model: random worlds in which users and moderators hide posts, and
//! show them again, while posts are hot, and after they were archived.

mod model;
mod play;

use crate::api::referrer::play::Play;
use crate::harness::case::{self, cases};
use crate::harness::sql::{Database, Kind, on_every_kind};

/// Plays random worlds. A post is archived when its author has two newer ones.
async fn every_viewer_sees_the_referrers_that_a_naive_model_says(kind: Kind) {
    let database = Database::new(kind).await;
    for number in 0..u64::from(cases(20).min(if kind == Kind::Sqlite { 20 } else { 1 })) {
        let mut play = Play::new(&database, case::seed(number)).await;
        for _ in 0..4 {
            play.round(25).await;
        }
        play.finish().await;
    }
}

on_every_kind! {
    every_viewer_sees_the_referrers_that_a_naive_model_says;
}
