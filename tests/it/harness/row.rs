//! Posts as rows of an archive.

use fanfold::model::clock::Timestamp;
use fanfold::model::details::Details;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::post::{Delivery, Post, Visibility};

pub(crate) fn post_id(number: u64) -> PostId {
    PostId::new(number).unwrap()
}

pub(crate) fn user(number: u64) -> UserId {
    UserId::new(number).unwrap()
}

pub(crate) fn post(id: u64, author: u64, content: &str) -> Post {
    Post {
        id: post_id(id),
        author: user(author),
        content: content.to_owned(),
        platform: None,
        visibility: Visibility::Public,
        created_at: Timestamp::from_millis(1_767_225_600_000 + id as i64),
        delivery: Delivery::Delivered { followers: 3 },
        details: Details::default(),
    }
}
