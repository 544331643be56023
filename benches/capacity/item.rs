//! The kinds of items whose memory is measured, and commands whose time is.

/// An entry in the list of the users that a user follows.
pub(crate) const FOLLOWING_ENTRY: &str = "entry in a list of followed users";
/// An entry in the list of a user's followers.
pub(crate) const FOLLOWERS_ENTRY: &str = "entry in a list of followers";
/// The record of a post, and its entries in the author's lists.
pub(crate) const POST: &str = "post of 100 bytes";
pub(crate) const TIMELINE_ENTRY: &str = "entry in a timeline";
/// The record of a user, the password hash, a session, and the entry in the username index.
pub(crate) const ACCOUNT: &str = "account with a bio of 80 bytes and a session";
/// The viewers of a profile on a day.
pub(crate) const VIEWED_DAY: &str = "day with two views of a profile";
pub(crate) const VISIT: &str = "visit";
pub(crate) const REGION: &str = "region";
/// What each key takes in addition in a cluster.
pub(crate) const CLUSTER_KEY: &str = "key, in addition, in a cluster";

/// Looking up a page of users in both lists of the viewer, in each of the two ways.
pub(crate) const BY_INTERSECTION: &str = "relations of 50 users, `ZINTERSTORE`";
pub(crate) const BY_PROBE: &str = "relations of 50 users, `ZMSCORE`";
pub(crate) const CREATE_POST: &str = "create a post, `HSET`";
pub(crate) const READ_POST: &str = "read a post, `HMGET`";
