//! The table of keys. A row is all that is said of a key, but for its commands: see [`Fact`] for its last words.
//!
//! User 7 and post 9 are examples. Times are in milliseconds since the Unix epoch; ids are decimal numbers.

use super::row::{Fact, Row, keys, noun};
use super::{
    ATTEMPT, Bucket, Channel, CompactSet, Counter, GUESSES, Hash, Key, Keys, Kind, Layout, List, OrderedSet,
    Packed, Record, SealedList, Set, SortedSet, Stream, Tag, Text,
};
use crate::model::attachment::ReferrerKind;
use crate::model::clock::Day;
use crate::model::digest::Digest;
use crate::model::id::{PostId, UserId};
use crate::model::invite::InviteCode;
use crate::model::referrer::EntryKind;
use crate::model::session::SessionId;

keys! {
    in Global() {
        /// Store-wide settings: `name_shards`, the number of username index shards, and `fanout_partitions`, the
        /// number of delivery job partitions (4 if missing), both fixed on first use; `archive`, the archive's
        /// identity; `post_hot_limit`, the last hot limit for which all excess posts were queued for the archive;
        /// `timeline_strategy`, the timeline strategy in force; `timeline_generation`, its generation number;
        /// `features`, the names of the features that servers must know, missing if there are none; `entry_kinds`, how
        /// far the lists of referrers that earlier versions have written are converted: see
        /// [`crate::store::conversion`].
        layout() -> Record = "ff:{g}:layout", Fixed, Setting;

        /// The last user id issued.
        next_user() -> Counter = "ff:{g}:next:user", Fixed, Setting;

        /// The last post id issued.
        next_post() -> Counter = "ff:{g}:next:post", Fixed, Setting;

        /// In a cluster, the node that has issued the last post id, or that served the counter when the store was
        /// created.
        issuer() -> Text = "ff:{g}:issuer", Fixed, Setting;

        /// Time of the last write probe, for `/readyz`: checks that Redis accepts writes.
        probe() -> Text = "ff:{g}:probe", Expiry("a minute");

        /// Notes on posts that have an id but are neither visible nor revoked yet, by id; see [`crate::store::draft`].
        publishing() -> SortedSet = "ff:{g}:publishing",
            Deletion("once the post is visible or revoked"), Check("operations in progress"),
            Unmeasured("empty at rest");

        /// The stars: authors whose posts are not pushed; followers pull them (fan-out on read).
        stars() -> Set = "ff:{g}:stars", Deletion("with the user"), Sole, Unmeasured("few");

        /// The stars, numbered in the order in which they became stars.
        numbered_stars() -> SortedSet = "ff:{g}:stars:numbered", Deletion("with the user"), Sole, Unmeasured("few");

        /// Users whose accounts are inactive, by time of deactivation.
        inactive() -> SortedSet = "ff:{g}:inactive",
            Deletion("once the account is active or erased"), Check("accounts partly inactive"), Unmeasured("few");

        /// Accounts whose other data must follow the record, by the time at which this is due: `7:token`; see
        /// [`crate::store::account`].
        account_jobs() -> SortedSet = "ff:{g}:account:jobs", Deletion("once done"), Resumed;

        /// Day not archived yet → number of the day's shards; and `since`, the first day recorded.
        visit_days() -> Hash = "ff:{g}:visit:days", Deletion("once the day is archived"), Resumed;

        /// Archived days whose shards have not expired yet, by time of the archiving: `20777.391`, day 20777 in 391
        /// shards.
        closed_visits() -> SortedSet = "ff:{g}:visit:closed", Expiry("four days");

        /// Announces authors of new posts that followers pull; see [`crate::store::signal`].
        pulled() -> Channel = "ff:{g}:pulled";
    }

    in Names(name_shard: u32) {
        /// A shard of the username index: username → user id; `?7` while user 7 is being created, `!7` if the account
        /// of user 7 is inactive.
        names() -> Hash = "ff:name:{n12}" by names_by_shard,
            Deletion("with the user"), Check("usernames without a user"), Footprint("username");
    }

    in Subjects(subject_shard: u32) {
        /// A shard of the subject index: subject of an existing application, a digest → user id; `?7` while user 7 is
        /// being created. There are as many shards as of the username index.
        subjects() -> Hash = "ff:{s12}:subjects",
            Deletion("with the user"), Check("subjects without a user"), Footprint("subject");
    }

    in Intents(partition: u32) {
        /// Unfinished operations, by start time; see [`crate::store::intent`].
        intents() -> SortedSet = "ff:{i3}:intents", Deletion("once finished"), Check("operations in progress"),
            Unmeasured("empty at rest");
    }

    in User(user: UserId) {
        /// The record: the fields of [`crate::store::user`]. If the account is inactive, `inactive_username` instead
        /// of `username`, with `suspended`, the time of the suspension, or `deletion`, the time from which the account
        /// may be deleted; and `erasing` once that has begun. `moderator` is 1 if the user is a moderator. See
        /// [`crate::store::account`].
        user() -> Record = "ff:{u7}:user",
            Fixed, Check("usernames without a user"), Footprint("user"), Kept("the last step deletes it"),
            Export("account");

        /// `password`: the password hash, a PHC string; or `subject`: the subject that signs in as user 7, see
        /// [`crate::store::subject`].
        secret() -> Record = "ff:{u7}:secret", Fixed, Sole, Kept("goes with the record"), Unexported("a secret");

        /// Session token's SHA-256 → session; see [`crate::store::session`]; and `exclusions`, the version of the
        /// user's exclusions; see [`crate::store::exclusion`].
        sessions() -> Hash = "ff:{u7}:sessions",
            Limit("100 sessions"), Sole, Kept("goes with the record"), Export("session"),
            Unmeasured("at most 100 short fields");

        /// User whom user 7 has muted → mute; see [`crate::store::exclusion`].
        muting() -> Hash = "ff:{u7}:muting",
            Limit("--relation-mute-limit"), Check("mutes without a tie"), Footprint("mute"), Export("mute");

        /// Users who have at some time muted user 7 or issued a recovery code for user 7, and those for whom user 7
        /// has, in this shard; see [`crate::store::tie`].
        ties(shard: u32) -> Set = "ff:{u7}:ties:84" as ("ties:{shard}"),
            Deletion("with either user"), Check("mutes without a tie"), Footprint("tie"),
            Unexported("derived from mutes and recovery codes");

        /// Users that user 7 blocks, by time: the source of truth for a block.
        blocking() -> SortedSet = "ff:{u7}:blocking",
            Limit("--relation-block-limit"), Check("one-sided blocks"), Check("blocks across a follow"),
            Footprint("block"), Export("block");

        /// The version of user 9's exclusions as of the last mirrored change of user 9's block of user 7; see
        /// [`crate::store::block`].
        fence(blocker: UserId) -> Text = "ff:{u7}:fence:9" as ("fence:{blocker}"),
            Expiry("a minute"), Kept("expires within a minute");

        /// Users who block user 7.
        blockers() -> CompactSet = "ff:{u7}:blockers",
            Deletion("with the block"), Check("one-sided blocks"), Check("blocks across a follow"),
            Footprint("block"), Unexported("known to those who block only");

        /// Exists if user 7 has written lately; see [`crate::store::written`].
        written() -> Text = "ff:{u7}:written", Expiry("seconds");

        /// The recovery code with which the password of user 7 can be set: `code`, its SHA-256; `issuer`, a
        /// moderator's id or `operator`; `issued_at`, `valid_from` and `expires_at`.
        recovery() -> Record = "ff:{u7}:recovery", Expiry("the validity of the code"), Kept("goes with the record");

        /// Users for whom moderator 7 has issued recovery codes that may be pending, by time at which the code
        /// expires; see [`crate::store::recovery`].
        recoveries() -> SortedSet = "ff:{u7}:recoveries", Expiry("40 days after the last code");

        /// The export that user 7 may download; see [`crate::store::export`].
        export() -> Text = "ff:{u7}:export", Expiry("a day");

        /// Items that must never be created in this slot, by time of revocation: `user`, the user's record; `9`, post
        /// 9; `deleted:9`, post 9 after its deletion.
        void() -> SortedSet = "ff:{u7}:void", Expiry("a day"), Kept("keeps the record from coming back");

        /// Users that user 7 follows, by follow time: the source of truth for an edge.
        following() -> SortedSet = "ff:{u7}:following",
            Limit("--relation-follow-limit"), Check("one-sided follows"), Check("follows without a user"),
            Footprint("follow"), Export("following");

        /// Followers of user 7, by follow time: the mirror.
        followers() -> SortedSet = "ff:{u7}:followers",
            Deletion("with the follow"), Check("one-sided follows"), Check("follows without a user"),
            Footprint("follow"), Export("follower");

        /// Users that user 7 has requested to follow, by time: the source of truth for a request. A user is in at most
        /// one of `following` and `requesting`.
        requesting() -> SortedSet = "ff:{u7}:requesting",
            Limit("--relation-follow-limit"), Check("one-sided follows"), Check("follows without a user"),
            Footprint("follow request"), Export("followRequestSent");

        /// Users who have requested to follow user 7, by time: the mirror.
        requests() -> SortedSet = "ff:{u7}:requests", Deletion("with the request"),
            Check("one-sided follows"), Check("follows without a user"), Check("requests to public accounts"),
            Footprint("follow request"), Export("followRequestReceived");

        /// Follows and requests of user 7 that are in neither list because the other's account is inactive:
        /// `following:9` or `requested:9`, by time.
        withheld() -> SortedSet = "ff:{u7}:withheld",
            Limit("--relation-follow-limit"), Check("accounts partly inactive"),
            Unexported("shown to no one while the other account is inactive"),
            Unmeasured("empty unless an account is inactive");

        /// Follows of user 7 whose next merge into the timeline resets it, by time: `9` if the follow of user 9 is new,
        /// `late:9` if a merge has added posts that readers may have passed; see `store/lua/merge_timeline.lua`.
        merging() -> SortedSet = "ff:{u7}:merging", Expiry("a day after the last one was added");

        /// A page of users, with an empty part, and its intersections with `following` (`:a`) and `followers` (`:b`).
        find_part(nonce: u64, part: &str) -> SortedSet = "ff:{u7}:find:ab:a" as ("find:{nonce:x}{part}"),
            Expiry("10 seconds"), Kept("exists within a transaction only");

        /// Post that user 7 has reposted → the repost.
        reposted() -> Hash = "ff:{u7}:reposted",
            Deletion("with the repost"), Unchecked("changes in the same step as `posts`"),
            Footprint("repost"), Export("post");

        /// Posts that user 7 likes: the source of truth for a like.
        liked() -> OrderedSet = "ff:{u7}:liked",
            Deletion("with the like"), Check("one-sided likes"), Check("wrong likes and bookmarks"),
            Footprint("like"), Export("like");

        /// Posts that user 7 has bookmarked.
        bookmarks() -> OrderedSet = "ff:{u7}:bookmarks",
            Limit("5,000 bookmarks"), Check("wrong likes and bookmarks"),
            Footprint("bookmark"), Export("bookmark");

        /// Hot posts of user 7, in descending order of id.
        posts() -> List = "ff:{u7}:posts",
            Limit("--post-hot-limit"), Check("archived posts miscounted"), Export("post"), Footprint("listed post");

        /// Creation time and last bits of the id of each post in `posts`, in the same order; see
        /// `store/lua/part/times.lua`.
        post_times() -> List = "ff:{u7}:posts:times",
            Limit("--post-hot-limit"), Check("users with wrong post times"), Export("post"), Footprint("listed post");

        /// Those of `posts` that only followers can see, by creation time.
        limited() -> SortedSet = "ff:{u7}:limited",
            Limit("--post-hot-limit"), Check("users with wrong visibilities"), Export("post"),
            Footprint("limited post");

        /// The twenty newest posts of user 7, by id.
        recent() -> SortedSet = "ff:{u7}:recent", Limit("20 posts"), Derived, Unmeasured("at most 20 ids");

        /// Summary of user 7's cold posts, which have left `posts` for the archive: `greatest`, the greatest id ever
        /// archived; `count`, the number of cold posts; `latest`, the latest creation time ever archived, absent if
        /// not known; `limited`, the number of cold posts that only followers can see, absent if there were none.
        cold() -> Record = "ff:{u7}:cold", Fixed, Check("archived posts miscounted"), Export("post");

        /// Deleted posts of user 7 that may still be in the archive, by id.
        gone() -> SortedSet = "ff:{u7}:gone",
            Deletion("once the archive has recorded the deletion"), Check("archived posts miscounted"),
            Unexported("deleted"), Unmeasured("empty at rest");

        /// Home timeline of user 7: post ids in descending order, then a seal; see `store/lua/part/timeline.lua`.
        timeline() -> SealedList = "ff:{u7}:timeline", Limit("--timeline-capacity"), Derived,
            Footprint("timeline entry");

        /// Posts removed from user 7's timeline, by time of removal; see `store/lua/part/removals.lua`.
        removed() -> SortedSet = "ff:{u7}:removed", Expiry("a day");

        /// Publish attempt or edit bound to the idempotency key with this digest; see [`crate::store::draft`].
        attempt(key: Digest) -> Text = "ff:{u7}:idem:000000000000000000000000000000ab" as ("{ATTEMPT}{key}"),
            Expiry("a day"), Kept("is deleted by its name in `expiring`");

        /// Names of keys of user 7 that expire and that nothing else names, by time of expiry: `idem:K`, `guesses:N`;
        /// see [`crate::store::expiring`].
        expiring() -> SortedSet = "ff:{u7}:expiring", Expiry("the last of these keys");

        /// Viewers of user 7's profile on this day (counted from 1970-01-01), in this shard; see
        /// [`crate::store::audience`].
        audience(day: Day, shard: u32) -> Set = "ff:{u7}:audience:20777:84" as ("audience:{}:{shard}", day.number()),
            Expiry("a month");

        /// Users whose profiles user 7 has viewed in this period of eight days, in this shard; see
        /// [`crate::store::audience`].
        viewed(period: i64, shard: u32) -> Set = "ff:{u7}:viewed:2597:84" as ("viewed:{period}:{shard}"),
            Expiry("40 days");

        /// Query cost available to user 7.
        cost_of() -> Bucket = "ff:{u7}:cost", Expiry("once full");

        /// Cost available to the events that user 7 receives.
        events_of() -> Bucket = "ff:{u7}:events", Expiry("once full");

        /// Times that user 7 may follow, unblock or unmute another user.
        changes_of(other: UserId) -> Bucket = "ff:{u7}:changes:9" as ("changes:{other}"),
            Expiry("once full"), Kept("one for each other user, which expires within an hour");

        /// Posts that user 7 may publish or edit.
        publishes_of() -> Bucket = "ff:{u7}:publish", Expiry("once full");

        /// Times that user 7 may make the account private or public.
        privacy_of() -> Bucket = "ff:{u7}:privacy", Expiry("once full");

        /// Times that user 7 may like or bookmark a post.
        reactions_of() -> Bucket = "ff:{u7}:react", Expiry("once full");

        /// Reports that user 7 may send.
        reports_of() -> Bucket = "ff:{u7}:report", Expiry("once full");

        /// Password attempts made in this session.
        guesses(session: SessionId) -> Bucket = "ff:{u7}:guesses:AAAAAAAAAAAAAAAA" as ("{GUESSES}{session}"),
            Expiry("once full"), Kept("is deleted by its name in `expiring`");

        /// Successful password checks for user 7.
        sign_ins_of() -> Bucket = "ff:{u7}:signins", Expiry("once full");

        /// Announces changes that affect user 7. Scripts derive its name from one of the user's keys. See
        /// [`crate::store::signal`].
        live() -> Channel = "ff:{u7}:live";
    }

    in Post(post: PostId) {
        /// The record: `author`, `content`, `created_at`, `platform`, `delivery`; `visibility`, if only followers can
        /// see the post; `details`, unless it is a plain post, in the format of
        /// [`Details`](crate::model::details::Details); or a tombstone: `author`, `deleted`, `visibility` as before,
        /// and `settled` (1 once the archive has recorded the deletion, 2 if the post was never visible); or, for a
        /// minute after the post was archived, only `archived`, the author.
        post() -> Record = "ff:{p9}:post", Deletion("once archived"), Sole, Footprint("post");

        /// Entries of the posts that reply to post 9 (`replies`), of those that quote it (`quotes`), and of its
        /// reposts (`reposts`), in descending order of id, while post 9 has a record; once it is deleted, the reposts
        /// still to be deleted. The listed entries are public posts of active, public accounts, in keys without a
        /// suffix; those in `limited` are posts for followers only, or of private accounts, as `post:author`; those in
        /// `withheld` are posts of inactive accounts.
        referrers(kind: ReferrerKind, entries: EntryKind) -> List = "ff:{p9}:replies:limited" by referrers_by_kind,
            Deletion("with the referrer or the record"), Check("wrong replies and quotes"),
            Check("replies and quotes miscounted"),
            Footprint("reply or quote"), Footprint("repost");

        /// Earlier versions of post 9, the newest first, while post 9 has a record: the first one and the newest 19,
        /// in the format of [`EarlierVersion`](crate::model::edit::EarlierVersion); missing if the post was never
        /// edited.
        edits() -> List = "ff:{p9}:edits", Limit("20 versions"), Sole, Footprint("earlier version");

        /// Users who like post 9, while post 9 has a record: the mirror. The newest are scored by the number of the
        /// like: its position among all likes that the post ever had, from 1.
        likes() -> CompactSet = "ff:{p9}:likes",
            Deletion("with the like or the record"), Check("one-sided likes"),
            Check("wrong likes and bookmarks"), Check("replies and quotes miscounted"),
            Footprint("like of a hot post");
    }

    in Fanout(partition: u32) {
        /// Jobs that push posts to timelines.
        fanout() -> Stream = "ff:{f3}:fanout", Deletion("once done"), Resumed;

        /// Jobs that remove deleted posts from timelines.
        sweep() -> Stream = "ff:{f3}:sweep", Deletion("once done"), Resumed;

        /// Posts not yet pushed to all timelines, by id.
        fanout_open() -> SortedSet = "ff:{f3}:fanout:open", Deletion("once done"), Resumed;

        /// Number of push jobs in the stream, by author.
        fanout_ready() -> Hash = "ff:{f3}:fanout:ready", Deletion("once done"), Resumed;

        /// Push jobs held back because their author has enough jobs in the stream: `author:post:time`, padded; see
        /// `store/lua/part/turns.lua`.
        fanout_held() -> SortedSet = "ff:{f3}:fanout:held", Deletion("once in the stream"), Resumed;

        /// Authors with held-back jobs, by queueing time of the author's first held-back job.
        fanout_turns() -> SortedSet = "ff:{f3}:fanout:turns", Deletion("once in the stream"), Resumed;

        /// Progress of the partition's jobs: `kind:post` → follow time and id of the last follower processed, and
        /// number of followers processed.
        fanout_progress() -> Hash = "ff:{f3}:fanout:progress", Deletion("once done"), Resumed;

        /// Total number of timelines written.
        fanout_served() -> Counter = "ff:{f3}:fanout:served", Fixed, Setting;

        /// Jobs abandoned after repeated starts without progress.
        fanout_failed() -> Stream = "ff:{f3}:fanout:failed",
            Limit("10,000 jobs or a few more"), Check("deliveries given up"),
            Unmeasured("empty unless there are faults");
    }

    in Archive() {
        /// Posts, live or deleted, queued for the archive: `post:time`, where `time` is when the post was queued. A
        /// post may occur more than once.
        pending() -> List = "ff:{a}:pending", Deletion("once archived"), Resumed;

        /// Posts that changed while they were archived, and those with too many likes, by the time from which movers
        /// take them again.
        postponed() -> SortedSet = "ff:{a}:postponed", Deletion("once archived"), Resumed;

        /// Posts taken by this mover.
        moving(mover: &str) -> List = "ff:{a}:moving:m" as ("moving:{mover}"), Deletion("once archived"), Resumed;

        /// Movers, by time of the last heartbeat.
        movers() -> SortedSet = "ff:{a}:movers", Deletion("once the mover has ended"), Resumed;

        /// Total number of posts archived.
        moved() -> Counter = "ff:{a}:moved", Fixed, Setting;

        /// Posts rejected by the archive: `post` → `post:time`.
        unmovable() -> Hash = "ff:{a}:unmovable",
            Deletion("once queued again"), Check("posts not archived"), Unmeasured("empty unless there are faults");
    }

    in Visits(layout: Layout, visit_shard: u32) {
        /// Visitors on a day (counted from 1970-01-01), in a shard: user ids, and 0 once the shard is closed.
        visits() -> Set = "ff:{v20777.391.3}:visit", Expiry("two days after the archiving"), Footprint("visit");
    }

    in Address(address: Digest) {
        /// Sign-in attempts from an address; see [`crate::store::bucket`].
        logins_from() -> Bucket = "ff:{h000000000000000000000000000000ab}:login", Expiry("once full");

        /// Registrations from an address.
        registrations_from() -> Bucket = "ff:{h000000000000000000000000000000ab}:register", Expiry("once full");

        /// Query cost available to anonymous clients from an address.
        cost_from() -> Bucket = "ff:{h000000000000000000000000000000ab}:cost", Expiry("once full");

        /// Successful password checks from an address.
        sign_ins_from() -> Bucket = "ff:{h000000000000000000000000000000ab}:signins", Expiry("once full");
    }

    in Account(account: Digest) {
        /// Sign-in attempts for a username, from unknown addresses. The user need not exist.
        logins_to() -> Bucket = "ff:{k000000000000000000000000000000ab}:login", Expiry("once full");

        /// Sign-in attempts for a username from this known address.
        known_logins_to(address: Digest) -> Bucket
            = "ff:{k000000000000000000000000000000ab}:login:000000000000000000000000000000ab" as ("login:{address}"),
            Expiry("once full");

        /// Addresses that have signed in to an account, by time of the last sign-in; see [`crate::store::throttle`].
        known_addresses() -> SortedSet = "ff:{k000000000000000000000000000000ab}:known", Expiry("90 days");
    }

    in Regions(region_shard: u64) {
        /// Regions of 4,093 users, two bytes each; see [`crate::store::region`].
        regions() -> Packed = "ff:{r12}:region", Fixed, Sole, Footprint("region");
    }

    in Moderation() {
        /// Codes of all invites, by time of creation.
        invites() -> SortedSet = "ff:{m}:invites", Limit("10,000 invites"), Sole, Unmeasured("few");

        /// The invite with this code: `uses`, the maximum number of users; `expires`, the time from which it is no
        /// longer valid, missing if it does not expire; `created_at`; `created_by`, the moderator's id or `operator`;
        /// and `note`.
        invite(code: &InviteCode) -> Record = "ff:{m}:invite:0123456789abcdef" as ("invite:{}", code.as_str()),
            Fixed, Sole;

        /// Users who have registered with this invite, or are registering, by time of use; `erased:N` for a user who
        /// was erased.
        invite_users(code: &InviteCode) -> SortedSet = "ff:{m}:invite:0123456789abcdef:used"
            as ("invite:{}:used", code.as_str()), Limit("1,000,000 users"), Sole, Unmeasured("few");

        /// Those users who may not exist, because their registration is in progress or was interrupted; see
        /// [`crate::store::invite`].
        invite_unfinished(code: &InviteCode) -> SortedSet = "ff:{m}:invite:0123456789abcdef:unfinished"
            as ("invite:{}:unfinished", code.as_str()), Limit("1,000,000 users"), Resumed;

        /// The last report id issued.
        next_report() -> Counter = "ff:{m}:next:report", Fixed, Setting;

        /// Open reports, by id.
        reports() -> SortedSet = "ff:{m}:reports", Limit("100 reports by each user"), Sole, Unmeasured("few");

        /// Open report → its record; see [`crate::store::report`].
        report_records() -> Hash = "ff:{m}:reports:records", Limit("100 reports by each user"), Sole, Unmeasured("few");

        /// `7:user:9`, user 7's open report of user 9, or `7:post:9`, that of post 9 → the report's id.
        report_ids() -> Hash = "ff:{m}:reports:ids", Limit("100 reports by each user"), Sole, Unmeasured("few");

        /// Numbers of open reports: `by:7`, those by user 7; `about:7`, those of user 7 and user 7's posts.
        report_counts() -> Hash = "ff:{m}:reports:counts", Deletion("with the reports"), Sole, Unmeasured("few");

        /// Actions of moderators, the newest 100,000 or a few more; see [`crate::store::moderation_log`].
        moderation_log() -> Stream = "ff:{m}:log", Limit("100,000 actions or a few more"), Sole, Unmeasured("few");
    }
}

/// The arguments of the examples.
#[cfg(test)]
mod samples {
    use super::*;

    pub(super) fn user() -> UserId {
        UserId::new(7).unwrap()
    }

    pub(super) fn other() -> UserId {
        UserId::new(9).unwrap()
    }

    pub(super) fn blocker() -> UserId {
        other()
    }

    pub(super) fn post() -> PostId {
        PostId::new(9).unwrap()
    }

    pub(super) fn name_shard() -> u32 {
        12
    }

    pub(super) fn subject_shard() -> u32 {
        12
    }

    pub(super) fn region_shard() -> u64 {
        12
    }

    pub(super) fn visit_shard() -> u32 {
        3
    }

    pub(super) fn shard() -> u32 {
        84
    }

    pub(super) fn partition() -> u32 {
        3
    }

    pub(super) fn day() -> Day {
        Day::from_number(20_777)
    }

    pub(super) fn layout() -> Layout {
        Layout { day: day(), shards: 391 }
    }

    pub(super) fn period() -> i64 {
        2_597
    }

    pub(super) fn nonce() -> u64 {
        0xab
    }

    pub(super) fn part() -> &'static str {
        ":a"
    }

    pub(super) fn kind() -> ReferrerKind {
        ReferrerKind::Reply
    }

    pub(super) fn entries() -> EntryKind {
        EntryKind::Limited
    }

    pub(super) fn key() -> Digest {
        Digest::parse("ab").unwrap()
    }

    pub(super) fn address() -> Digest {
        key()
    }

    pub(super) fn account() -> Digest {
        key()
    }

    pub(super) fn session() -> SessionId {
        SessionId::parse("AAAAAAAAAAAAAAAA").unwrap()
    }

    pub(super) fn mover() -> &'static str {
        "m"
    }

    pub(super) fn code() -> &'static InviteCode {
        Box::leak(Box::new(InviteCode::parse("0123456789abcdef").unwrap()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_keys_is_part_of_the_stored_data() {
        for (example, name) in examples(&Keys::new("ff:", 16_384)) {
            assert_eq!(name, example);
        }
    }
}
