//! What the nodes of a cluster receive: commands with keys of one slot, and no more of them than needed.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::cluster::Cluster;
use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::instance::Instance;
use crate::harness::issuer::{Issuer, SigningKey, claims, with};
use crate::harness::monitor::monitor;
use crate::harness::server::{Server, command, eventually, serve};
use crate::harness::socket::{Socket, relation_events};
use crate::harness::story::{name, story};
use crate::harness::world::PASSWORD;

/// A command as a node reports it: `+1700000000.000000 [0 127.0.0.1:5000] "GET" "ff:{u7}:user"`.
struct Reported<'a> {
    /// True if a script executed it.
    is_of_script: bool,
    name: String,
    /// The hash tags of its keys and channels.
    tags: BTreeSet<&'a str>,
}

impl<'a> Reported<'a> {
    fn read(line: &'a str) -> Self {
        let (head, words) = line.split_once("] ").unwrap_or((line, ""));
        let mut words = words.split("\" \"").map(|word| word.trim_matches('"'));
        let name = words.next().unwrap_or_default().to_ascii_uppercase();
        // Keys and channels begin with the prefix. The source of a script does not.
        let tag = |word: &'a str| Some(word.strip_prefix("ff:")?.split_once('}')?.0);
        Self { is_of_script: head.ends_with("lua"), name, tags: words.filter_map(tag).collect() }
    }
}

/// Asserts that each command, with those of its script, has keys of one slot.
fn check_commands(lines: &[String]) {
    assert!(!lines.is_empty());
    let mut script: BTreeSet<&str> = BTreeSet::new();
    for line in lines {
        let Reported { is_of_script, name, mut tags } = Reported::read(line);
        if is_of_script {
            script.extend(&tags);
            assert!(script.len() <= 1, "a script with keys of several slots: {line}");
        } else {
            script.clone_from(&tags);
        }
        tags.clear();
        assert_ne!(name, "PUBLISH", "{line}");
        assert!(script.len() <= 1, "keys of several slots: {line}");
    }
}

/// Returns a mutation that asks for the current password.
fn with_password(name: &str, more: &str) -> String {
    format!(
        "mutation {{ {name}(input: {{ currentPassword: \"{PASSWORD}\" {more} }}) {{ userErrors {{ code }} }} }}"
    )
}

/// Returns what a user requests about a post of another user, and about their own.
fn requests_of_conversations(post: &str, own: &str) -> [String; 4] {
    [
        format!(
            "mutation {{ publish(input: {{ content: \"reply\", inReplyTo: \"{post}\", quoteOf: \"{post}\" }}) {{ post {{ isReply replies {{ nodes {{ id }} }} quotes {{ nodes {{ id }} }} ancestors {{ id }} inReplyTo {{ id }} quoteOf {{ id }} }} }} }}"
        ),
        format!(
            "mutation {{ repost(input: {{ postId: \"{post}\" }}) {{ post {{ repostCount viewerHasReposted repostedBy {{ nodes {{ id }} }} }} }} }}"
        ),
        format!("mutation {{ undoRepost(input: {{ postId: \"{post}\" }}) {{ post {{ id }} }} }}"),
        format!(
            "mutation {{ editPost(input: {{ postId: \"{own}\", content: \"edited\", idempotencyKey: \"e\" }}) {{ post {{ editedAt edits {{ content }} }} userErrors {{ code }} }} }}"
        ),
    ]
}

/// Requests each field of the API that reads or writes the store.
/// `make_moderator` grants the rights of a moderator to a user, and `recovery_code` issues a code of the operator.
async fn request_everything(
    server: &Server,
    make_moderator: impl Fn(&str),
    recovery_code: impl Fn(&str) -> String,
) {
    let users: Vec<String> = story(server).await;
    let mut socket = Socket::acknowledged(server, Some(&users[0])).await;
    socket.watch_timeline(server, TIMELINE, Value::Null).await;
    let relation = "status viewer { user { username } } user { username }";
    socket.watch_relations(relation).await;
    let recovery = "subscription { pendingRecoveryChanged { issuedAt } }";
    socket.subscribe("recovery", recovery, Value::Null).await;
    let id = |user: usize| {
        let query = format!("{{ user(by: {{ username: \"{}\" }}) {{ id }} }}", name(user));
        server.ask(&query)["data"]["user"]["id"].as_str().unwrap().to_owned()
    };
    let (ada, ben, cem, fay) = (id(0), id(1), id(2), id(5));
    let post = publish(server, &users[1], "everything");
    let own = publish(server, &users[0], "first");
    let login = format!(
        "mutation {{ login(input: {{ username: \"{}\", password: \"{PASSWORD}\", label: \"other\" }}) {{ token }} }}",
        name(0)
    );
    let sign_in = || server.ask(&login)["data"]["login"]["token"].as_str().unwrap().to_owned();
    let (other, third, fourth) = (sign_in(), sign_in(), sign_in());
    let sessions_query = "{ viewer { sessions { id isCurrent } } }";
    let sessions = server.ask_as(&third, sessions_query);
    let sessions = sessions["data"]["viewer"]["sessions"].as_array().unwrap();
    let session = &sessions.iter().find(|session| session["isCurrent"] == true).unwrap()["id"];
    let user = "username displayName bio createdAt isViewer followerCount followingCount postCount relation { status followingSince followerSince }
        region { country { code } subdivision { code } }";
    let page = |field: &str| format!("{field}(first: 2) {{ totalCount nodes {{ {user} }} }}");
    let lists = ["followers", "following", "mutuals", "knownFollowers"].map(page).join(" ");
    let posts = "{ totalCount nodes { content platform delivery { __typename } author { username } } }";
    let change = |field: &str, user: &str| {
        format!("mutation {{ {field}(input: {{ userId: \"{user}\" }}) {{ userErrors {{ code }} }} }}")
    };
    let requests = [
        format!("{{ viewer {{ id pendingRecovery {{ issuedAt }} user {{ {user} }} timeline(first: 3) {posts_of} audience {{ totalCount: __typename regions {{ count: __typename }} }} }} }}", posts_of = "{ nodes { content author { relation { status } } } }"),
        format!("{{ node(id: \"{ada}\") {{ id }} nodes(ids: [\"{ada}\", \"{post}\"]) {{ id }} post(id: \"{post}\") {{ content }} rateLimit {{ __typename }} }}"),
        format!("{{ user(by: {{ id: \"{ben}\" }}) {{ {user} {lists} followersByRegion {{ __typename }} posts(first: 2) {posts} }} }}"),
        format!("{{ user(by: {{ id: \"{ben}\" }}) {{ posts(createdAt: {{ since: \"2020-01-01T00:00:00Z\" }}) {posts} }} }}"),
        format!("{{ relations(userIds: [\"{ada}\", \"{ben}\"]) {{ status }} visits {{ __typename }} countries {{ code }} }}"),
        change("removeFollower", &ben),
        change("follow", &ben),
        change("mute", &ben),
        format!("{{ viewer {{ {muted} timeline(first: 3) {{ nodes {{ content }} }} }} }}", muted = page("muted")),
        change("unmute", &ben),
        change("unfollow", &ben),
        change("block", &ben),
        format!("{{ viewer {{ {blocked} timeline(first: 3) {{ nodes {{ content }} }} }} }}", blocked = page("blocked")),
        change("unblock", &ben),
        "mutation { updateProfile(input: { displayName: \"Ada\", bio: \"b\", avatarUrl: null, isPrivate: true, region: { country: \"DE\" } }) { userErrors { code } } }".to_owned(),
        format!("mutation {{ revokeSession(input: {{ sessionId: {session} }}) {{ userErrors {{ code }} }} }}"),
        "mutation { publish(input: { content: \"own\", platform: \"test\", visibility: FOLLOWERS, idempotencyKey: \"k\" }) { post { id } } }".to_owned(),
    ];
    // One of three requests is accepted, one is rejected, and one is accepted by the account that becomes public.
    let requests_received = format!("{{ viewer {{ {} }} }}", page("followRequests"));
    let requests_sent = format!("{{ viewer {{ {} }} }}", page("sentFollowRequests"));
    let (follow, accept, reject) =
        (change("follow", &ada), change("acceptFollowRequest", &cem), change("rejectFollowRequest", &fay));
    let become_public =
        "mutation { updateProfile(input: { isPrivate: false }) { userErrors { code } } }".to_owned();
    let delete =
        format!("mutation {{ deletePost(input: {{ postId: \"{post}\" }}) {{ userErrors {{ code }} }} }}");
    let change_password = with_password("changePassword", "newPassword: \"another horse\"");
    let delete_account = with_password("deleteAccount", "");
    let logout = "mutation { logout { __typename } }".to_owned();
    let cancel = "mutation { cancelRecovery { userErrors { code } } }".to_owned();
    let everywhere = "mutation { logoutEverywhere { __typename } }".to_owned();
    let of_others = [
        (&users[1], &follow),
        (&users[2], &follow),
        (&users[5], &follow),
        (&users[2], &requests_sent),
        (&users[0], &requests_received),
        (&users[0], &accept),
        (&users[0], &reject),
        (&users[0], &become_public),
        (&users[1], &delete),
        (&users[0], &cancel),
        (&other, &logout),
        (&fourth, &change_password),
        (&users[2], &everywhere),
        (&users[1], &delete_account),
    ];
    let (reactions, conversation) = (requests_of_reactions(&post), requests_of_conversations(&post, &own));
    let of_ada = requests.iter().chain(&reactions).chain(&conversation).map(|request| (&users[0], request));
    make_moderator(&name(3));
    let (moderation, last) = requests_of_moderators(server, &users, &cem, &fay);
    let export = request_export(server, &users[1], &format!("currentPassword: \"{PASSWORD}\""));
    let mut documents =
        [&login, sessions_query, &relation_events(relation), recovery, TIMELINE, &export].join(" ");
    let of_moderators = moderation.iter().map(|(token, request)| (token, request));
    for (token, request) in of_moderators
        .chain(of_ada)
        .chain(of_others)
        .chain(last.iter().map(|(token, request)| (token, request)))
    {
        succeed(server, token, request);
        documents.push_str(request);
    }
    documents.push_str(&recover(server, &name(5), &recovery_code(&name(5))));
    check_fields(&documents);
}

/// Returns requests that react to a post.
fn requests_of_reactions(post: &str) -> [String; 6] {
    let react = |field: &str| {
        format!(
            "mutation {{ {field}(input: {{ postId: \"{post}\" }}) {{ post {{ viewerHasBookmarked }} userErrors {{ code }} }} }}"
        )
    };
    let list = "{ viewer { bookmarks(first: 2) { nodes { content viewerHasBookmarked } } } }".to_owned();
    let likes = format!(
        "{{ post(id: \"{post}\") {{ likeCount viewerHasLiked likedBy(first: 2) {{ nodes {{ username }} }} }}
            viewer {{ likes(first: 2) {{ nodes {{ content }} }} }} }}"
    );
    [react("like"), likes, react("unlike"), react("bookmark"), list, react("removeBookmark")]
}

/// Sends a request that must not be rejected.
fn succeed(server: &Server, token: &str, request: &str) {
    let response = server.ask_as(token, request);
    let is_rejected = |field: &Value| field["userErrors"].as_array().is_some_and(|errors| !errors.is_empty());
    let is_done = response["data"].as_object().is_some_and(|data| !data.values().any(is_rejected));
    assert!(response["errors"].is_null() && is_done, "{request}: {response}");
}

/// Sets a user's password with a recovery code. Returns the document.
fn recover(server: &Server, username: &str, code: &str) -> String {
    let input = format!("username: \"{username}\", code: \"{code}\", newPassword: \"another horse\"");
    let document = format!("mutation {{ recoverAccount(input: {{ {input} }}) {{ userErrors {{ code }} }} }}");
    let response = server.ask(&document);
    assert_eq!(response["data"]["recoverAccount"]["userErrors"], json!([]), "{response}");
    document
}

/// Signs a user of another application in, for the first time and again.
fn request_with_jwt(server: &Server, key: &SigningKey) {
    let claims = with(claims("jwt"), &json!({ "exp": 10_000_000_000_u64 }));
    let token = key.sign(&json!({ "alg": "ES256", "kid": "a" }), &claims);
    for _ in 0..2 {
        let response = server.ask_as(&token, "{ viewer { user { username } sessions { id } } }");
        assert_eq!(response["data"]["viewer"]["user"]["username"], "jwt", "{response}");
    }
    request_export(server, &token, "");
}

/// Requests an export, and downloads it. Returns the document.
fn request_export(server: &Server, token: &str, input: &str) -> String {
    let document = format!("mutation {{ exportAccount(input: {{ {input} }}) {{ exportPath }} }}");
    let response = server.ask_as(token, &document);
    let path =
        response["data"]["exportAccount"]["exportPath"].as_str().unwrap_or_else(|| panic!("{response}"));
    let (status, body) = server.send(&format!("GET {path}"), "");
    assert!(status == 200 && body.contains("{\"type\":\"end\"}"), "{status} {body}");
    document
}

/// A request with the token of its user.
type Request = (String, String);

/// Returns requests of moderators, and of users to moderators, and then those that end the sessions of the user `last`.
/// The fourth user is the moderator.
fn requests_of_moderators(
    server: &Server,
    users: &[String],
    user: &str,
    last: &str,
) -> (Vec<Request>, Vec<Request>) {
    let moderator = &users[3];
    let invite =
        server.ask_as(moderator, "mutation { createInvite(input: {}) { invite { id } } }")["data"].take();
    let invite = &invite["createInvite"]["invite"]["id"];
    let change = |name: &str, input: &str| {
        format!("mutation {{ {name}(input: {{ {input} }}) {{ userErrors {{ code }} }} }}")
    };
    let of_user = format!("userId: \"{user}\"");
    let report = change("report", &format!("target: {{ {of_user} }}, reason: \"spam\""));
    let read = format!(
        "{{ viewer {{ isModerator moderation {{ openReportCount account(by: {{ id: \"{user}\" }}) {{ status }}
            accounts {{ nodes {{ id }} }} reports {{ nodes {{ id }} }} log {{ nodes {{ id }} }} invites {{ nodes {{ id }} }} }} }} }}"
    );
    let post = publish(server, &users[1], "to remove");
    let of_moderator = [
        read,
        change("createInvite", "uses: 2"),
        change("revokeInvite", &format!("inviteId: {invite}")),
        change("removePost", &format!("postId: \"{post}\"")),
        change("resolveReport", &format!("reportId: \"{}\"", URL_SAFE_NO_PAD.encode("Report:1"))),
    ];
    let of_moderator = of_moderator.map(|request| (moderator.clone(), request));
    let of_last = format!("userId: \"{last}\"");
    let endings = [
        change("endSessions", &of_last),
        change("issueRecoveryCode", &of_last),
        change("suspendUser", &of_last),
        change("deleteUser", &of_last),
        change("cancelUserDeletion", &of_last),
        // A deletion by a moderator suspends the user as well.
        change("unsuspendUser", &of_last),
    ];
    let endings = endings.map(|request| (moderator.clone(), request));
    ([vec![(users[0].clone(), report)], of_moderator.into()].concat(), endings.into())
}

/// Asserts that documents request all fields that read or write the store.
fn check_fields(documents: &str) {
    let schema = include_str!("../../../schema.graphql");
    for root in ["Query", "Mutation", "Subscription", "Viewer", "User"] {
        let fields = schema.split_once(&format!("\ntype {root} ")).unwrap().1.split_once("\n}").unwrap().0;
        let mut fields = fields.lines().filter_map(|line| {
            let line = line.strip_prefix("  ")?;
            let end = line.find(|letter: char| !letter.is_alphanumeric())?;
            line[end..].starts_with(['(', ':']).then(|| &line[..end])
        });
        // Users are registered by the story.
        let missing = fields.find(|field| *field != "register" && !documents.contains(field));
        assert_eq!(missing, None, "a field of {root} is not requested");
    }
}

/// Waits until the repairer has had a turn, and the other background workers two each.
fn wait_for_background_work(server: &Server) {
    let turns =
        [("repair: publishing", 1), ("account: jobs", 2), ("move: take", 2), ("deliver: take over", 32)];
    let begun = turns.map(|(step, _)| server.round_trips(step));
    for ((step, turns), begun) in turns.into_iter().zip(begun) {
        assert!(eventually(|| server.round_trips(step) >= begun + turns), "{step}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_commands_have_keys_of_one_slot() {
    let cluster = Cluster::start(3, 1);
    let monitors: Vec<_> = cluster.nodes.iter().map(|node| monitor(node.port)).collect();
    for (prefix, strategy) in [("ff:", "zinterstore"), ("ff:two:", "zmscore")] {
        let directory = tempfile::tempdir().unwrap();
        let options = ["--redis-prefix", prefix, "--relation-strategy", strategy];
        let more = ["--timeline-push-limit", "4", "--post-hot-limit", "1"];
        let key = SigningKey::p256();
        let issuer = Issuer::start(&[key.jwk("a")]);
        // A request with a charge authenticates otherwise than one without.
        for limit in [&[][..], &["--graphql-rate-limit", "1000000"]] {
            let server = serve(&cluster, &directory, &[&options[..], &issuer.options(), limit].concat());
            request_with_jwt(&server, &key);
        }
        let server = serve(&cluster, &directory, &[options, more].concat());
        let (url, directory) = (cluster.url(), directory.path().to_str().unwrap());
        let beside = ["--redis-url", &url, "--redis-prefix", prefix, "--data-dir", directory];
        let done = |words: &[&str]| {
            let output = command(&[words, &beside[..]].concat()).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let make_moderator = |user: &str| drop(done(&["moderator", "add", user]));
        let recovery_code = |user: &str| {
            let printed = done(&["user", "recovery-code", user]);
            printed.split_whitespace().next().unwrap().to_owned()
        };
        request_everything(&server, make_moderator, recovery_code).await;
        wait_for_background_work(&server);
        drop(server);
        let output = command(&[&["check", "--repair"], &beside[..]].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    for error in ["CROSSSLOT", "MOVED", "ASK"] {
        assert_eq!(cluster.statistics("errorstats", &format!("errorstat_{error}")), [""; 0]);
    }
    assert_eq!(cluster.statistics("commandstats", "cmdstat_publish:"), [""; 0]);
    drop(cluster);
    for monitor in monitors {
        check_commands(&monitor.into_iter().collect::<Vec<_>>());
    }
}

#[test]
#[should_panic(expected = "a script with keys of several slots")]
fn a_channel_in_another_slot_than_the_keys_of_its_script_is_found() {
    let lines = [
        r#"+1.0 [0 127.0.0.1:5000] "EVALSHA" "1f2e" "1" "ff:{u7}:timeline" "3""#,
        r#"+1.0 [0 lua] "RPUSH" "ff:{u7}:timeline" "3""#,
        r#"+1.0 [0 lua] "SPUBLISH" "ff:{g}:pulled" "7""#,
    ];
    check_commands(&lines.map(str::to_owned));
}

/// Returns the total duration of the commands with a key of the counters that a node has logged, in microseconds.
/// Leaves out the commands within scripts, whose durations are part of the scripts'.
fn time_at_counters(node: &Instance) -> u64 {
    let entries: Vec<Vec<redis::Value>> = node.raw(&["SLOWLOG", "GET", "-1"]);
    let duration = |entry: &Vec<redis::Value>| {
        let words: Vec<Vec<u8>> = redis::from_redis_value(entry[3].clone()).unwrap();
        let is_whole = [b"EVALSHA".as_slice(), b"ZREM"].contains(&words[0].as_slice());
        let is_counted = is_whole && words.iter().any(|word| word.starts_with(b"ff:{g}"));
        is_counted.then(|| redis::from_redis_value::<u64>(entry[2].clone()).unwrap())
    };
    entries.iter().filter_map(duration).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "the figures of a run, for its reader")]
async fn publishing_to_nobody_who_listens_sends_no_signals_and_two_commands_to_the_counters() {
    const FOLLOWERS: usize = 40;
    const POSTS: usize = 250;
    let log = ["--slowlog-log-slower-than", "0", "--slowlog-max-len", "100000"];
    let (cluster, directory) = (Cluster::start_with(3, 0, &log), tempfile::tempdir().unwrap());
    // Neither the watermark nor the archive is read meanwhile.
    let server = serve(
        &cluster,
        &directory,
        &["--post-publishes-per-author", "1000000", "--archive-in-server", "off"],
    );
    let author = server.token("author");
    for follower in 0..FOLLOWERS {
        let token = server.token(&name(follower));
        follow(&server, &token, "author");
        let opened = server.ask_as(&token, "{ viewer { timeline { nodes { content } } } }");
        assert_eq!(opened["errors"], Value::Null);
    }
    let began = Instant::now();
    let counters = &cluster.nodes[cluster.share_of("ff:{g}:layout")];
    let reported = monitor(counters.port);
    counters.redis.raw::<()>(&["SLOWLOG", "RESET"]);
    for post in 0..POSTS {
        publish(&server, &author, &post.to_string());
    }
    let time = time_at_counters(&counters.redis);
    // All commands before this one have been reported when it is.
    counters.redis.raw::<String>(&["ECHO", "end"]);
    let lines: Vec<String> = reported.into_iter().take_while(|line| !line.contains("ECHO")).collect();
    let reported = lines.iter().map(|line| Reported::read(line));
    let commands = reported.filter(|reported| !reported.is_of_script && reported.tags.contains("{g"));
    let commands: Vec<String> = commands.map(|reported| reported.name).collect();
    let delivered = format!("fanfold_deliveries_total {}", FOLLOWERS * POSTS);
    assert!(eventually(|| server.page("/metrics").1.lines().any(|line| line == delivered)));
    for statistic in ["cmdstat_spublish:", "cmdstat_publish:"] {
        assert_eq!(cluster.statistics("commandstats", statistic), [""; 0], "signals to nobody");
    }
    for node in &cluster.nodes {
        let info: String = node.redis.raw(&["CLUSTER", "INFO"]);
        assert!(!info.contains("publish"), "the nodes send each other signals: {info}");
    }
    println!("{} commands to the counters, which took {time} microseconds", commands.len());
    // The repairer and the delivered mark also read them, a few times a second.
    let others = 50 + 10 * began.elapsed().as_secs() as usize;
    assert!((2 * POSTS..2 * POSTS + others).contains(&commands.len()), "{commands:?}");
}
