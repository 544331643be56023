//! Builds calls to the Lua scripts, one operation per `.lua` file. Each file starts with a header that
//! documents the script's purpose, keys, arguments and return value. The typed function that calls a script
//! is in the script's domain module.
//!
//! Not here: the choice between digest and source (`store::batch`).

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use redis::{RedisWrite as _, ToRedisArgs as _};

use crate::driver::encode::Arguments;

/// A script, and the digests that identify it to Redis.
pub(super) struct Script {
    single: LazyLock<Text>,
    /// The script for a cluster.
    sharded: LazyLock<Text>,
    /// The script's own source, without its parts.
    own: &'static str,
}

/// The source of a script, and its digest.
struct Text {
    source: Cow<'static, str>,
    digest: String,
}

impl Text {
    fn of(source: Cow<'static, str>) -> Self {
        let digest = redis::Script::new(&source).get_hash().to_owned();
        Self { source, digest }
    }
}

/// Parts of scripts, and what replaces them in a cluster.
const SHARDED: [(&str, &str); 2] = [
    (include_str!("lua/part/channel.lua"), include_str!("lua/part/channel_sharded.lua")),
    (include_str!("lua/part/issuer.lua"), include_str!("lua/part/issuer_sharded.lua")),
];

/// Returns a script's source for a cluster.
fn sharded(source: &str) -> String {
    SHARDED.iter().fold(source.to_owned(), |source, (part, sharded)| source.replace(part, sharded))
}

macro_rules! scripts {
    ($($name:ident = $($file:literal)+;)*) => {
        $(
            pub(super) static $name: Script = {
                const SOURCE: &str = concat!($(include_str!(concat!("lua/", $file, ".lua"))),+);
                const FILES: &[&str] = &[$(include_str!(concat!("lua/", $file, ".lua"))),+];
                Script {
                    single: LazyLock::new(|| Text::of(SOURCE.into())),
                    sharded: LazyLock::new(|| Text::of(sharded(SOURCE).into())),
                    own: FILES[FILES.len() - 1],
                }
            };
        )*
    };
}

// A script may include shared parts before its own source.
scripts! {
    ACCEPT_REQUEST = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/merging" "part/follow" "accept_request";
    ADD_FEATURE = "add_feature";
    ADD_JOB = "part/turns" "add_job";
    ADD_TO_SET = "part/tree" "part/compact" "add_to_set";
    ADD_TO_TREE = "part/tree" "add_to_tree";
    ADVANCE_CONVERSION = "advance_conversion";
    ALL_OF_SET = "part/tree" "part/compact" "all_of_set";
    ANONYMIZE_INVITE = "anonymize_invite";
    BEGIN_ERASURE = "begin_erasure";
    BLOCK = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/merging" "part/follow" "part/reset" "block";
    BURY_POST = "bury_post";
    CHANGE_NAME = "change_name";
    CHANGE_PASSWORD = "part/channel" "part/signal" "part/sessions" "part/recovery" "change_password";
    CLAIM_ACCOUNT_JOB = "claim_account_job";
    CLAIM_KEY = "part/bucket" "part/expiring" "claim_key";
    CLOSE_VISITS = "close_visits";
    COLD_AND_LISTED = "cold_and_listed";
    CORRECT_COLD = "correct_cold";
    CORRECT_DETAILS = "correct_details";
    COUNT_POSTS = "count_posts";
    COUNT_POSTS_WITHIN = "part/ids" "part/times" "count_posts_within";
    CREATE_POST = "create_post";
    CREATE_USER = "create_user";
    DEACTIVATE_USER = "part/channel" "part/signal" "part/sessions" "part/recovery" "deactivate_user";
    DELETE_POST = "part/revoke" "part/ids" "part/times" "part/timeline" "part/channel" "part/signal" "part/clock" "part/removals" "part/remove" "delete_post";
    DELIVER = "part/ids" "part/timeline" "part/channel" "part/signal" "part/deliver" "deliver";
    DRAIN = "part/bucket" "drain";
    TAKE_TOKENS = "part/bucket" "take_tokens";
    DROP_POST = "drop_post";
    EDIT_POST = "part/details" "edit_post";
    END_FOLLOW = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/merging" "part/follow" "part/reset" "end_follow";
    END_SESSIONS = "part/channel" "part/signal" "part/sessions" "end_sessions";
    END_MERGE = "part/channel" "part/signal" "part/clock" "part/removals" "part/reset" "end_merge";
    ENTER_STRATEGY = "enter_strategy";
    ERASE_USER = "part/revoke" "erase_user";
    ERASE_POST = "part/details" "erase_post";
    FIND_POST = "part/ids" "find_post";
    FIND_REFERRER = "part/ids" "find_referrer";
    FINISH_JOB = "part/turns" "finish_job";
    FINISH_POSTS = "finish_posts";
    FOLLOW = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/tree" "part/compact" "part/removals" "part/merging" "part/follow" "part/bucket" "part/throttle" "follow";
    RETURN_TOKENS = "return_tokens";
    RETURN_JOBS = "return_jobs";
    HAND_OVER_POSTS = "hand_over_posts";
    IS_IN_TREE = "part/tree" "is_in_tree";
    ISSUE_RECOVERY = "part/channel" "part/signal" "issue_recovery";
    ISSUE_POSTS = "part/issuer" "issue_posts";
    LIST_REPOSTS = "part/ids" "list_reposts";
    LOG_ACTION = "log_action";
    MAKE_STAR = "part/stars" "make_star";
    MARK_DELIVERED = "mark_delivered";
    MERGE_TIMELINE = "part/ids" "part/timeline" "part/channel" "part/signal" "part/clock" "part/removals" "part/reset" "part/merging" "merge_timeline";
    MIRROR_BLOCK = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/tree" "part/compact" "part/removals" "part/merging" "part/follow" "mirror_block";
    MIRROR_FOLLOW = "part/channel" "part/signal" "mirror_follow";
    MUTE = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/reset" "part/mutes" "mute";
    MUTUALS = "mutuals";
    NOTE_PROGRESS = "note_progress";
    OPEN_SESSION = "part/channel" "part/signal" "part/sessions" "part/recovery" "open_session";
    OPEN_TIMELINE = "part/ids" "part/timeline" "part/clock" "part/removals" "open_timeline";
    PAGE = "page";
    POSTS_PAGE = "part/ids" "posts_page";
    // Each call of a script creates the functions of its parts, which most pages do not need.
    POSTS_PAGE_WITHIN = "part/ids" "part/times" "part/page_within" "posts_page";
    PUBLISH_POST = "part/ids" "part/times" "part/timeline" "part/channel" "part/signal" "part/deliver" "publish_post";
    PULL = "pull";
    RECOVER_ACCOUNT = "part/channel" "part/signal" "part/sessions" "part/recovery" "recover_account";
    REFER = "part/ids" "part/details" "refer";
    REFERRERS_PAGE = "part/ids" "referrers_page";
    REMOVE_ARCHIVED_POSTS = "part/ids" "part/times" "remove_archived_posts";
    AUTHENTICATE = "part/bucket" "authenticate";
    AUTHENTICATE_ACCOUNT = "part/bucket" "authenticate_account";
    NEWEST_OF_SET = "newest_of_set";
    PROBE_SET = "part/tree" "part/compact" "probe_set";
    READ_BLOCK = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/merging" "part/follow" "read_block";
    READ_FOLLOW = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/merging" "part/follow" "read_follow";
    RECORD_VIEW = "part/tree" "record_view";
    RECORD_VISIT = "record_visit";
    REMOVED = "part/clock" "part/removals" "removed";
    REMOVE_ENDED_MUTES = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/reset" "part/mutes" "remove_ended_mutes";
    REMOVE_ENTRY = "part/timeline" "part/channel" "part/signal" "part/clock" "part/removals" "part/remove" "remove_entry";
    REMOVE_FROM_SET = "part/tree" "part/compact" "remove_from_set";
    REMOVE_FROM_TREE = "part/tree" "remove_from_tree";
    REACTIVATE_USER = "reactivate_user";
    RENEW_HASH = "renew_hash";
    REPORT = "report";
    REQUEUE_JOBS = "part/turns" "requeue_jobs";
    REQUEUE_POSTS = "requeue_posts";
    REQUESTS_TO_PUBLIC = "requests_to_public";
    RESERVE_NAME = "reserve_name";
    RESOLVE_REPORT = "resolve_report";
    RETURN_INVITE = "return_invite";
    REVOKE_INVITE = "revoke_invite";
    REVOKE_SESSION = "part/channel" "part/signal" "revoke_session";
    SET_ISSUER = "set_issuer";
    SET_PASSWORD = "part/channel" "part/signal" "part/sessions" "part/recovery" "set_password";
    SETTLE_TOMBSTONE = "settle_tombstone";
    SKIP_IDS = "skip_ids";
    TAKE_GUESS = "part/bucket" "part/expiring" "take_guess";
    TAKE_INVITE = "take_invite";
    TAKE_OVER_JOBS = "part/turns" "take_over_jobs";
    TAKE_POSTS = "take_posts";
    TIMELINE_PAGE = "part/ids" "part/timeline" "timeline_page";
    TOUCH_SESSION = "touch_session";
    REVOKE_POST = "part/ids" "part/revoke" "revoke_post";
    REVOKE_USER = "part/revoke" "revoke_user";
    UNBLOCK = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/reset" "part/bucket" "part/throttle" "unblock";
    UNMUTE = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/reset" "part/bucket" "part/throttle" "unmute";
    REVOKE_RECOVERY = "part/channel" "part/signal" "part/recovery" "revoke_recovery";
    WATERMARK = "part/stars" "watermark";
    WITHHOLD_FOLLOW = "part/channel" "part/signal" "part/clock" "part/exclusions" "part/removals" "part/merging" "part/follow" "withhold_follow";
    WRITE_FOLLOW = "part/channel" "part/signal" "write_follow";
    WRITE_REGION = "write_region";
    WRITE_TIMES = "part/times" "write_times";
}

impl Script {
    fn text(&self, is_sharded: bool) -> &Text {
        if is_sharded { &self.sharded } else { &self.single }
    }

    /// Returns the first line of the script's header, which says what it does.
    pub(super) fn purpose(&self) -> &'static str {
        self.own.lines().next().unwrap_or_default()
    }

    /// Returns true if the header lists as many keys. Reads the header, so it is meant for assertions.
    pub(super) fn takes(&self, keys: usize) -> bool {
        listed_keys(self.own).contains(&keys)
    }

    /// Builds a call to the script by digest.
    pub(super) fn by_digest(&self, is_sharded: bool, keys: usize, arguments: &Arguments) -> Arguments {
        call("EVALSHA", &self.text(is_sharded).digest, keys, arguments)
    }

    /// Builds a call to the script by source, which also makes Redis cache the script.
    pub(super) fn by_source(&self, is_sharded: bool, keys: usize, arguments: &Arguments) -> Arguments {
        call("EVAL", &self.text(is_sharded).source, keys, arguments)
    }
}

/// Returns the numbers of keys that a script's header allows: `KEYS[1]` is a key, `KEYS[2?]` one that some calls omit,
/// `KEYS[3…5]` are three keys, and `KEYS[6…]` one or more.
fn listed_keys(source: &str) -> RangeInclusive<usize> {
    let header = source.lines().take_while(|line| line.starts_with("--"));
    let listed = header.flat_map(|line| line.split("KEYS[").skip(1)).filter_map(|rest| rest.split_once(']'));
    let (mut least, mut most) = (0, 0);
    for (key, _) in listed {
        let (first, last) = key.split_once('…').unwrap_or((key, key));
        let number = |text: &str| text.trim_end_matches('?').parse::<usize>().ok();
        most = most.max(number(last).unwrap_or(usize::MAX));
        if !key.ends_with('?') {
            least = least.max(number(last).or(number(first)).unwrap_or(0));
        }
    }
    least..=most
}

fn call(name: &str, script: &str, keys: usize, arguments: &Arguments) -> Arguments {
    let mut call = Arguments::default();
    call.write_arg(name.as_bytes());
    call.write_arg(script.as_bytes());
    keys.write_redis_args(&mut call);
    call.extend(arguments);
    call
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_lists_the_keys_of_a_script() {
        assert_eq!(listed_keys("-- Does.\n-- KEYS[1]  a      KEYS[2]  another\nreturn KEYS[3]"), 2..=2);
        assert_eq!(listed_keys("-- KEYS[1]  a\n-- KEYS[2?] another, if any"), 1..=2);
        assert_eq!(listed_keys("-- KEYS[1]  a\n-- KEYS[2…4] others"), 4..=4);
        assert_eq!(listed_keys("-- KEYS[1]  a\n-- KEYS[7…] others"), 7..=usize::MAX);
    }
}
