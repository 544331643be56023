//! Storage of the subject index: subject of an existing application → user id, as a sharded hash like the username
//! index (`store::name`).
//!
//! A subject is *reserved* while its user is being created and *settled* afterwards. A settled subject leads to a user
//! whose secret names the subject, unless the account was deleted.
//!
//! Not here: the steps of a first sign-in (`app::user::first_sign_in`), and the subject in a user's secret
//! (`store::user`).

use crate::model::id::UserId;
use crate::model::subject::Subject;
use crate::store::command::{Command, call, command};
use crate::store::error::Error;
use crate::store::key::Keys;
use crate::store::name::Holder;
use crate::store::script;

/// Looks up a subject's holder; `None` for an unknown subject.
pub fn holder(keys: &Keys, subject: Subject) -> Command<Option<Holder>> {
    command("HGET").key(&keys.subjects_with(subject)).arg(subject.to_string()).reply()
}

/// Reserves a subject for a user id, if it has no holder. Returns the current holder.
pub fn reserve(keys: &Keys, subject: Subject, user: UserId) -> Command<Holder> {
    let reserve = call(&script::RESERVE_NAME).key(&keys.subjects_with(subject)).arg(subject.to_string());
    reserve.arg(Holder::Reserved(user).text()).reply()
}

/// Assigns a reserved subject to its user, who exists now.
pub fn settle(keys: &Keys, subject: Subject, user: UserId) -> Command<bool> {
    change(keys, subject, Holder::Reserved(user), Some(Holder::Settled(user)))
}

/// Frees a subject, if it still has this holder.
pub fn free(keys: &Keys, subject: Subject, holder: Holder) -> Command<bool> {
    change(keys, subject, holder, None)
}

fn change(keys: &Keys, subject: Subject, from: Holder, to: Option<Holder>) -> Command<bool> {
    let change = call(&script::CHANGE_NAME).key(&keys.subjects_with(subject)).arg(subject.to_string());
    change.arg(from.text()).arg(to.map_or(String::new(), Holder::text)).reply()
}

/// Reads all subjects of one shard, with their holders.
pub fn all(keys: &Keys, shard: u32) -> Command<Vec<(Subject, Holder)>> {
    let read = command("HGETALL").key(&keys.subjects(shard));
    read.reply::<Vec<(String, Holder)>>().map(|subjects| {
        let parse = |(text, holder): (String, Holder)| match Subject::parse(&text) {
            Some(subject) => Ok((subject, holder)),
            None => Err(Error::corrupt(format!("{text:?} in the subject index is not a subject"))),
        };
        subjects.into_iter().map(parse).collect()
    })
}
