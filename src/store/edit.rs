//! Storage of edits of posts: the earlier versions of a post, in its slot as long as its record is in Redis.
//! Afterwards, they are in the archive.
//!
//! Not here: the record (`store::post`), the idempotency keys of edits (`store::draft`), and the order of the steps
//! (`app::post::edit`).

use crate::model::clock::Timestamp;
use crate::model::details::References;
use crate::model::edit::{EarlierVersion, Edit, Edited, MOST_VERSIONS};
use crate::model::id::{PostId, UserId};
use crate::store::command::{Command, call, command, several};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::script;

/// Replaces the text of a hot post, and keeps the replaced version. `None` if the post has no record. If sent twice,
/// the second outcome is a conflict.
pub fn edit(keys: &Keys, author: UserId, edit: &Edit, now: Timestamp) -> Command<Option<Edited>> {
    let Edit { post, replaced, content } = edit;
    let call = call(&script::EDIT_POST).key(&keys.post(*post)).key(&keys.edits(*post));
    let call = call.arg(author.get()).arg(replaced).arg(content.as_str()).arg(now.as_millis());
    let of_text = References::of_text(content.as_str()).to_string();
    call.arg(MOST_VERSIONS).arg(of_text).reply::<String>().map(|outcome| match outcome.as_str() {
        "done" => Ok(Some(Edited::Done)),
        "conflict" => Ok(Some(Edited::Conflict)),
        "deleted" => Ok(Some(Edited::Deleted)),
        "missing" => Ok(None),
        other => Err(Error::corrupt(format!("{other:?} is not an outcome of an edit"))),
    })
}

/// Reads the earlier versions of a hot post, newest first. `None` if the post has no record.
pub fn versions(keys: &Keys, post: PostId) -> Command<Option<Vec<EarlierVersion>>> {
    // The list first: when the record is dropped, the list is already in the archive.
    let list = command("LRANGE").key(&keys.edits(post)).arg(0).arg(-1);
    let record = command("HEXISTS").key(&keys.post(post)).arg("author");
    let read = several::<(Vec<String>, bool)>(&[list, record]).walking(MOST_VERSIONS);
    read.map(move |(versions, has_record)| {
        let corrupt = |_| Error::corrupt(format!("an earlier version of post {post} is malformed"));
        let parse = |version: &String| version.parse().map_err(corrupt);
        has_record.then(|| versions.iter().map(parse).collect()).transpose()
    })
}
