//! Builds calls to the Lua scripts, one operation per `.lua` file. Each file starts with a header that
//! documents the script's purpose, keys, arguments and return value. The typed function that calls a script
//! is in the script's domain module.
//!
//! Not here: the choice between digest and source (`store::batch`).

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
    source: String,
    digest: String,
}

impl Text {
    fn of(source: String) -> Self {
        let digest = redis::Script::new(&source).get_hash().to_owned();
        Self { source, digest }
    }
}

/// A part that scripts share, which comes before their own source. The parts that it requires come before it.
struct Part {
    source: &'static str,
    /// The source for a cluster.
    sharded: &'static str,
    requires: &'static [&'static Part],
}

/// The shared parts, named as their files.
#[expect(non_upper_case_globals, reason = "they are named as their files")]
mod part {
    use super::Part;

    macro_rules! parts {
        ($($name:ident $(or $sharded:literal)? $(requires $($required:ident)+)?;)*) => {
            $(
                pub(super) static $name: Part = {
                    let source = include_str!(concat!("lua/part/", stringify!($name), ".lua"));
                    let sharded = [$(include_str!(concat!("lua/part/", $sharded, ".lua")),)? source][0];
                    Part { source, sharded, requires: &[$($(&$required),+)?] }
                };
            )*
        };
    }

    parts! {
        bucket;
        channel or "channel_sharded";
        clock;
        compact requires members;
        deliver requires ids timeline signal;
        details;
        exclusions requires clock;
        expiring;
        follow requires signal exclusions merging;
        ids;
        issuer or "issuer_sharded";
        merging requires removals;
        members requires tree;
        mutes;
        ordered requires members places;
        page_within requires ids times;
        places;
        recovery requires signal;
        removals requires clock;
        remove requires timeline removals signal;
        reset requires removals signal;
        revoke;
        sessions;
        signal requires channel;
        stars;
        throttle requires bucket;
        timeline;
        times requires places;
        tree;
        turns;
    }
}

/// Returns the source of a script: its parts, each once, and its own source.
fn source_of(parts: &[&'static Part], own: &str, is_sharded: bool) -> String {
    let mut included = Vec::new();
    for part in parts {
        include(part, &mut included);
    }
    let parts = included.into_iter().map(|part| if is_sharded { part.sharded } else { part.source });
    parts.chain([own]).collect()
}

/// Adds a part after the parts that it requires, unless it is there.
fn include(part: &'static Part, included: &mut Vec<&'static Part>) {
    if included.iter().any(|other| std::ptr::eq(*other, part)) {
        return;
    }
    for required in part.requires {
        include(required, included);
    }
    included.push(part);
}

macro_rules! scripts {
    ($($name:ident = $($part:ident)* $file:literal;)*) => {
        $(
            pub(super) static $name: Script = {
                const PARTS: &[&Part] = &[$(&part::$part),*];
                const OWN: &str = include_str!(concat!("lua/", $file, ".lua"));
                Script {
                    single: LazyLock::new(|| Text::of(source_of(PARTS, OWN, false))),
                    sharded: LazyLock::new(|| Text::of(source_of(PARTS, OWN, true))),
                    own: OWN,
                }
            };
        )*
    };
}

// The parts that a script uses, and its file.
scripts! {
    ACCEPT_REQUEST = follow "accept_request";
    ADD_FEATURE = "add_feature";
    ADD_JOB = turns "add_job";
    ADD_TO_ORDERED = ordered throttle "add_to_ordered";
    ADD_TO_SET = compact "add_to_set";
    ADD_TO_TREE = tree "add_to_tree";
    ADVANCE_CONVERSION = "advance_conversion";
    ALL_OF_SET = compact "all_of_set";
    ANONYMIZE_INVITE = "anonymize_invite";
    AWAIT_MERGE = merging "await_merge";
    BEGIN_ERASURE = "begin_erasure";
    BLOCK = follow reset "block";
    BURY_POST = "bury_post";
    CHANGE_NAME = "change_name";
    CHANGE_PASSWORD = sessions recovery "change_password";
    CLAIM_ACCOUNT_JOB = "claim_account_job";
    CLAIM_KEY = bucket expiring "claim_key";
    CLOSE_VISITS = "close_visits";
    COLD_AND_LISTED = "cold_and_listed";
    CORRECT_COLD = "correct_cold";
    CORRECT_DETAILS = "correct_details";
    COUNT_POSTS = "count_posts";
    COUNT_POSTS_WITHIN = ids times "count_posts_within";
    CREATE_POST = "create_post";
    CREATE_USER = "create_user";
    DEACTIVATE_USER = sessions recovery "deactivate_user";
    DELETE_POST = revoke ids times remove "delete_post";
    DELIVER = deliver "deliver";
    DRAIN = bucket "drain";
    TAKE_TOKENS = bucket "take_tokens";
    DROP_POST = "drop_post";
    EDIT_POST = details "edit_post";
    END_FOLLOW = follow reset "end_follow";
    END_SESSIONS = signal sessions "end_sessions";
    END_MERGE = reset "end_merge";
    ENTER_STRATEGY = "enter_strategy";
    ERASE_USER = revoke "erase_user";
    ERASE_POST = details "erase_post";
    FIND_POST = ids "find_post";
    FIND_REFERRER = ids "find_referrer";
    FINISH_JOB = turns "finish_job";
    FINISH_POSTS = "finish_posts";
    FOLLOW = compact follow throttle "follow";
    RETURN_TOKENS = "return_tokens";
    RETURN_JOBS = "return_jobs";
    HAND_OVER_POSTS = "hand_over_posts";
    IS_IN_TREE = tree "is_in_tree";
    ISSUE_RECOVERY = signal "issue_recovery";
    ISSUE_POSTS = issuer "issue_posts";
    LIKES = compact "likes";
    LIST_REPOSTS = ids "list_reposts";
    LOG_ACTION = "log_action";
    MAKE_STAR = stars "make_star";
    MALFORMED = tree "malformed";
    MARK_DELIVERED = "mark_delivered";
    MERGE_TIMELINE = ids timeline reset merging "merge_timeline";
    MIRROR_BLOCK = compact follow "mirror_block";
    MIRROR_FOLLOW = signal "mirror_follow";
    MIRROR_LIKE = compact details "mirror_like";
    MUTE = exclusions reset mutes "mute";
    MUTUALS = "mutuals";
    NOTE_PROGRESS = "note_progress";
    OPEN_SESSION = sessions recovery "open_session";
    OPEN_TIMELINE = ids timeline removals "open_timeline";
    ORDERED_PAGE = ordered "ordered_page";
    PAGE = "page";
    POSTS_PAGE = ids "posts_page";
    // Each call of a script creates the functions of its parts, which most pages do not need.
    POSTS_PAGE_WITHIN = page_within "posts_page";
    PUBLISH_POST = times deliver "publish_post";
    PULL = "pull";
    RECOVER_ACCOUNT = sessions recovery "recover_account";
    REFER = ids details "refer";
    REFERRERS_PAGE = ids "referrers_page";
    REMOVE_ARCHIVED_POSTS = ids times "remove_archived_posts";
    AUTHENTICATE = bucket "authenticate";
    AUTHENTICATE_ACCOUNT = bucket "authenticate_account";
    NEWEST_OF_SET = "newest_of_set";
    PROBE_ORDERED = ordered "probe_ordered";
    PROBE_SET = compact "probe_set";
    READ_BLOCK = follow "read_block";
    READ_FOLLOW = follow "read_follow";
    READ_LIKE = ordered "read_like";
    RECORD_VIEW = tree "record_view";
    RECORD_VISIT = "record_visit";
    REMOVED = removals "removed";
    REMOVE_ENDED_MUTES = exclusions reset mutes "remove_ended_mutes";
    REMOVE_ENTRY = remove "remove_entry";
    REMOVE_FROM_ORDERED = ordered "remove_from_ordered";
    REMOVE_FROM_SET = compact "remove_from_set";
    REMOVE_FROM_TREE = tree "remove_from_tree";
    REACTIVATE_USER = "reactivate_user";
    RENEW_HASH = "renew_hash";
    REPORT = "report";
    REQUEUE_JOBS = turns "requeue_jobs";
    REQUEUE_POSTS = "requeue_posts";
    REQUESTS_TO_PUBLIC = "requests_to_public";
    RESERVE_NAME = "reserve_name";
    RESOLVE_REPORT = "resolve_report";
    RESTORE_ORDERED = tree "restore_ordered";
    RETURN_INVITE = "return_invite";
    REVOKE_INVITE = "revoke_invite";
    REVOKE_SESSION = signal "revoke_session";
    SET_ISSUER = "set_issuer";
    SET_PASSWORD = sessions recovery "set_password";
    SETTLE_TOMBSTONE = "settle_tombstone";
    SKIP_IDS = "skip_ids";
    TAKE_GUESS = bucket expiring "take_guess";
    TAKE_INVITE = "take_invite";
    TAKE_OVER_JOBS = turns "take_over_jobs";
    TAKE_POSTS = "take_posts";
    TIMELINE_PAGE = ids timeline "timeline_page";
    TOUCH_SESSION = "touch_session";
    REVOKE_POST = ids revoke "revoke_post";
    REVOKE_USER = revoke "revoke_user";
    UNBLOCK = exclusions reset throttle "unblock";
    UNMUTE = exclusions reset throttle "unmute";
    REVOKE_RECOVERY = recovery "revoke_recovery";
    WATERMARK = stars "watermark";
    WITHHOLD_FOLLOW = follow "withhold_follow";
    WRITE_FOLLOW = signal "write_follow";
    WRITE_REGION = "write_region";
    WRITE_TIMES = times "write_times";
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
