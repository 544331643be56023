//! Reads what authentication needs of a user who signs in without a session: the account and the version of the user's
//! exclusions.
//!
//! Not here: authentication by a session (`store::session`).

use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::subject::Subject;
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::bucket::{self, Limit, Taken};
use crate::store::command::{Command, call, command};
use crate::store::error::Error;
use crate::store::exclusion;
use crate::store::key::Keys;
use crate::store::script;
use crate::store::user;

/// A user's account, as far as authentication needs it.
#[derive(Clone, Debug)]
pub struct Account {
    /// True if the user's record exists.
    pub exists: bool,
    /// The subject that signs in as the user; `None` if the user signs in with a password.
    pub subject: Option<Subject>,
    /// The version of the user's exclusions; `None` if the user has never had any.
    pub exclusions: Option<Version>,
}

/// Pending reads of an [`Account`].
pub struct PendingAccount {
    username: Ticket<Option<String>>,
    subject: Ticket<Option<Subject>>,
    exclusions: Ticket<Option<Version>>,
}

impl PendingAccount {
    /// Returns the account.
    pub fn take(self, replies: &mut Replies) -> Result<Account, Error> {
        let Self { username, subject, exclusions } = self;
        let exists = replies.take(username)?.is_some();
        Ok(Account { exists, subject: replies.take(subject)?, exclusions: replies.take(exclusions)? })
    }
}

/// Adds to the batch the commands that read a user's account.
pub fn read(keys: &Keys, user: UserId, batch: &mut Batch) -> PendingAccount {
    let username = command("HGET").key(&keys.user(user)).arg(user::USERNAME).reply();
    PendingAccount {
        username: batch.push(username),
        subject: batch.push(user::subject(keys, user)),
        exclusions: batch.push(exclusion::version(keys, user)),
    }
}

/// Reads a user's account, and takes `amount` tokens from the bucket that limits the user's query cost. Takes none if
/// the account does not exist or belongs to another subject. Fails with
/// [`Error::is_divided`](crate::store::error::Error::is_divided) while the keys are at two masters of a cluster.
pub fn read_and_take(
    keys: &Keys,
    user: UserId,
    subject: Subject,
    limit: Limit,
    amount: u32,
    now: Timestamp,
) -> Command<(Account, Taken)> {
    let read = call(&script::AUTHENTICATE_ACCOUNT)
        .key(&keys.user(user))
        .key(&keys.secret(user))
        .key(&keys.sessions(user))
        .key(&keys.cost_of(user))
        .arg(subject.to_string())
        .arg(now.as_millis());
    let read = bucket::taking(read, limit, amount);
    let read = read.reply::<(Option<String>, Option<String>, Option<Version>, u64, u64)>();
    read.failing_if_divided().map(move |(username, subject, exclusions, wait, full)| {
        let subject = subject.map(|text| user::parse_subject(&text)).transpose()?;
        let account = Account { exists: username.is_some(), subject, exclusions };
        Ok((account, Taken::read(limit, wait, full)))
    })
}
