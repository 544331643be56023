//! Reads of users by name and by id.

use std::sync::Arc;

use crate::app::read::{Pending, Read, Requests, Responses, Shared};
use crate::model::id::UserId;
use crate::model::region::Residence;
use crate::model::user::{User, UserFields, Username};
use crate::store::name::Holder;
use crate::store::unreadable::readable;
use crate::store::user;

/// The id of the user with this name; `None` if no user holds the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserByName(pub Username);

impl Read for UserByName {
    type Value = Option<UserId>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let holder = requests.holder(&self.0);
        Pending::hot(move |responses| match responses.holder(holder)? {
            Some(Holder::Settled(user)) => Ok(Some(user)),
            Some(Holder::Reserved(_) | Holder::Inactive(_)) | None => Ok(None),
        })
    }
}

/// A user's record with the requested fields; `None` if the user does not exist. If only the region is unreadable, the
/// record lacks the region.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserRecord {
    /// Id of the user.
    pub user: UserId,
    /// Optional fields to read.
    pub fields: UserFields,
}

impl Read for UserRecord {
    type Value = Option<Arc<User>>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let Self { user, fields } = *self;
        let record = requests.users(Arc::new([user]), fields);
        request_regions(requests, &[user], fields);
        Pending::hot(move |responses| match responses.users(record)?.pop() {
            Some((_, record)) => Ok(record?.map(|record| with_residence(responses, fields, record))),
            None => Ok(None),
        })
    }
}

/// Records of users with the requested fields; `None` for users who do not exist and for unreadable records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserRecords {
    /// Ids of the users, in the order of the records.
    pub users: Shared<UserId>,
    /// Optional fields to read.
    pub fields: UserFields,
}

impl Read for UserRecords {
    type Value = Arc<[Option<Arc<User>>]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let fields = self.fields;
        request_regions(requests, &self.users.0, fields);
        let records = requests.users(Arc::clone(&self.users.0), fields);
        Pending::hot(move |responses| {
            let records = responses.users(records)?.into_iter();
            let record = |(user, record): (UserId, Result<_, _>)| {
                let record = readable(record, "user", user.get())?.flatten();
                Ok(record.map(|record| with_residence(responses, fields, record)))
            };
            records.map(record).collect()
        })
    }
}

/// For each of these users, true if their account is private; `None` for those who do not exist. Not charged: what an
/// operation costs must not tell of users whom its viewer may not see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::app) struct Privacy(pub(in crate::app) Shared<UserId>);

impl Read for Privacy {
    type Value = Arc<[Option<bool>]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let privacy = requests.push(user::privacy(requests.keys(), &self.0.0));
        Pending::hot(move |responses| Ok(responses.replies.take(privacy)?.into()))
    }
}

fn request_regions(requests: &mut Requests<'_>, users: &[UserId], fields: UserFields) {
    if fields.contains(UserFields::RESIDENCE) {
        requests.regions(users);
    }
}

fn with_residence(responses: &Responses, fields: UserFields, mut record: Arc<User>) -> Arc<User> {
    if fields.contains(UserFields::RESIDENCE) {
        // A cached record is copied.
        let residence = responses.region(record.id).ok().map(Residence);
        Arc::make_mut(&mut record).residence = residence;
    }
    record
}
