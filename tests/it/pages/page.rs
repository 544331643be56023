//! The pages for browsers: their responses, the tour of the playground, and a visitor who uses them in a browser. Built
//! by `make web`; `make setup-tests` installs the browser.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::harness::demo::{demo_server, demo_world};
use crate::harness::program::run;
use crate::harness::world::{World, codes};

async fn get(world: &World, path: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (status, headers, body) = world.send(request.body(Body::empty()).unwrap()).await;
    (status, headers, body)
}

/// Returns the first path in a page that has this extension.
fn named<'a>(page: &'a str, extension: &str) -> &'a str {
    let paths = page.split('"').filter(|part| part.starts_with('/') && part.ends_with(extension));
    paths.into_iter().next().expect("`make web` has built the pages")
}

#[tokio::test]
async fn the_demo_may_show_pictures_from_media_hosts_alone() {
    let images = async |options: &[&str], path| {
        let (_, headers, _) = get(&World::with(options).await, path, &[]).await;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        let images = policy.split("; ").find_map(|part| part.strip_prefix("img-src "));
        images.unwrap().to_owned()
    };
    let hosts = ["--media-hosts", "Pictures.example,other.example:8443"];
    assert_eq!(images(&[], "/demo").await, "'self' data:");
    let with_hosts = "'self' data: https://pictures.example https://other.example:8443";
    for path in ["/demo", "/demo/settings"] {
        assert_eq!(images(&hosts, path).await, with_hosts);
    }
    assert_eq!(images(&hosts, "/").await, "'self' data:");
}

#[tokio::test]
async fn pages_are_sent_with_a_policy_and_their_files_may_be_cached_forever() {
    let world = World::new().await;
    for (path, elsewhere) in [("/", "/playground/assets/none.js"), ("/demo", "/demo/assets/none.js")] {
        let (status, headers, body) = get(&world, path, &[]).await;
        assert_eq!(
            (status, &headers[header::CONTENT_TYPE]),
            (StatusCode::OK, &"text/html; charset=utf-8".parse().unwrap())
        );
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe-eval"), "{policy}");
        assert_eq!(headers[header::CACHE_CONTROL], "public, no-cache");
        let tag = headers[header::ETAG].to_str().unwrap();
        let (status, _, nothing) = get(&world, path, &[("if-none-match", tag)]).await;
        assert_eq!((status, nothing.len()), (StatusCode::NOT_MODIFIED, 0));

        let page = String::from_utf8(body).unwrap();
        let script = named(&page, ".js");
        let (_, headers, plain) = get(&world, script, &[]).await;
        assert_eq!(headers[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert_eq!(headers[header::CACHE_CONTROL], "public, max-age=31536000, immutable");
        assert!(!headers.contains_key(header::CONTENT_ENCODING));
        for (accepted, is_taken) in
            [("gzip", true), ("br, gzip;q=0.5", true), ("*", true), ("br, gzip;q=0", false)]
        {
            let (_, headers, body) = get(&world, script, &[("accept-encoding", accepted)]).await;
            let is_compressed = headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding == "gzip");
            assert_eq!(is_compressed, is_taken, "{accepted}");
            assert_eq!(headers[header::VARY], "accept-encoding");
            assert!(!is_taken || body.len() < plain.len() / 2, "{accepted}: {}", body.len());
        }
        let (status, _, _) = get(&world, elsewhere, &[]).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
    // Files elsewhere, under names of files that are sent; and files here, under other names.
    for path in [
        "/playground/..%2F..%2Fplayground%2Fplain.html",
        "/playground/%2E%2E/demo/index.html",
        "/playground/..%2fdemo%2findex.html",
        "/playground/assets/..%2Findex.html",
        "/playground//index.html",
        "/playground/.gitignore",
        "/demo/assets/..%2Findex.html",
        "/demo/assets/",
    ] {
        let (status, headers, _) = get(&world, path, &[]).await;
        assert_eq!((status, headers.get(header::CACHE_CONTROL)), (StatusCode::NOT_FOUND, None), "{path}");
    }
    // The demo resolves every path below its own.
    let (status, headers, _) = get(&world, "/demo/users/ada.lovelace", &[]).await;
    assert_eq!(
        (status, &headers[header::CONTENT_TYPE]),
        (StatusCode::OK, &"text/html; charset=utf-8".parse().unwrap())
    );
}

#[test]
fn the_embedded_files_are_small() {
    fn size(directory: &Path) -> u64 {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| if path.is_dir() { size(&path) } else { path.metadata().unwrap().len() }).sum()
    }
    let size = size(&Path::new(env!("CARGO_MANIFEST_DIR")).join("web"));
    assert!(size > 100_000 && size <= 4_000_000, "{size} bytes");
}

/// Returns the stops of the tour in their order, each with its variables.
fn tour() -> BTreeMap<String, (String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("playground/tour");
    let files = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let stop = |path: std::path::PathBuf| {
        let variables =
            fs::read_to_string(path.with_extension("json")).map_or(json!({}), |text| text.parse().unwrap());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, (fs::read_to_string(&path).unwrap(), variables))
    };
    files.filter(|path| path.extension().is_some_and(|extension| extension == "graphql")).map(stop).collect()
}

/// Returns whether there is a violation anywhere in a response.
fn has_violation(response: &Value) -> bool {
    match response {
        Value::Object(fields) => fields.iter().any(|(name, value)| match value {
            Value::Array(errors) if name == "userErrors" => !errors.is_empty(),
            value => has_violation(value),
        }),
        Value::Array(values) => values.iter().any(has_violation),
        _ => false,
    }
}

#[tokio::test]
async fn every_stop_of_the_tour_does_what_it_shows() {
    let world = demo_world().await;
    let sign_in = "mutation { login(input: { username: \"ada\", password: \"demo-password\" }) { token } }";
    let token =
        world.ask(None, sign_in, json!({})).await["data"]["login"]["token"].as_str().unwrap().to_owned();
    let tour = tour();
    assert!(tour.len() >= 33, "{:?}", tour.keys());
    for (name, (query, variables)) in tour {
        let response = world.ask(Some(&token), &query, variables).await;
        if query.contains("\nsubscription ") {
            // A subscription is not tested here: the visitor watches it.
            assert_eq!(codes(&response), ["BAD_REQUEST"], "{name}: {response}");
            continue;
        }
        assert!(response.get("errors").is_none() && !has_violation(&response), "{name}: {response}");
        let has_nothing = response["data"]
            .as_object()
            .unwrap()
            .iter()
            .any(|(field, value)| value.is_null() && field != "rateLimit");
        assert!(!has_nothing, "{name}: {response}");
        let text = response.to_string();
        match &name[3..] {
            "relations" => assert!(text.contains("MUTUAL") && text.contains("FOLLOWER"), "{text}"),
            "follow" => assert!(text.contains("\"MUTUAL\""), "{text}"),
            "unfollow" => assert!(text.contains("\"FOLLOWER\""), "{text}"),
            "block" => assert!(!text.contains("\"blockedSince\":null"), "{text}"),
            "a-blocked-user" => assert_eq!(response["data"]["user"]["posts"]["totalCount"], 0, "{text}"),
            "unblock" => {
                assert!(response["data"]["unblock"]["user"]["postCount"].as_u64() > Some(0), "{text}");
            }
            "request" => assert!(!text.contains("\"requestedSince\":null"), "{text}"),
            "reply" => {
                assert!(text.contains("MentionSegment") && text.contains("\"replyCount\":1"), "{text}");
            }
            "edit" => {
                let post = &response["data"]["editPost"]["post"];
                assert_eq!(post["edits"][0]["content"], "Hello from the tour.", "{text}");
                assert!(post["editedAt"].is_string(), "{text}");
            }
            "repost" => {
                assert!(text.contains("\"viewerHasReposted\":true"), "{text}");
                let listed = &response["data"]["repost"]["viewer"]["user"]["posts"]["edges"][0];
                assert_eq!(listed["repostedBy"].as_array().unwrap().len(), 1, "{text}");
            }
            "like-and-bookmark" => {
                let [like, bookmark] = ["like", "bookmark"].map(|change| &response["data"][change]["post"]);
                assert!(like["likeCount"].as_u64() > Some(0), "{text}");
                assert_eq!(like["likedBy"]["nodes"][0]["displayName"], "Ada Okafor", "{text}");
                assert_eq!(
                    (&like["viewerHasLiked"], &bookmark["viewerHasBookmarked"]),
                    (&json!(true), &json!(true))
                );
            }
            "your-bookmarks" => {
                let viewer = &response["data"]["viewer"];
                for list in ["bookmarks", "likes"] {
                    let edges = viewer[list]["edges"].as_array().unwrap();
                    let times: Vec<&str> =
                        edges.iter().filter_map(|edge| edge["listedAt"].as_str()).collect();
                    assert!(times.len() == 5 && times.is_sorted_by(|one, next| one >= next), "{text}");
                }
            }
            "delete" => assert_eq!(response["data"]["deletePost"]["deletedPostId"], "UG9zdDo4MDAx"),
            "by-id" => assert!(!text.contains("null"), "{text}"),
            _ => {}
        }
    }
}

/// Screenshots of the visits, for inspection.
const PICTURES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/pictures");

#[test]
fn a_visitor_of_the_playground_finds_its_way() {
    let (_redis, server) = demo_server();
    let stdout = run("playground.mjs", &[&format!("http://{}", server.address), PICTURES]);
    for seen in [
        "the editor completes names",
        "the panel signs in as ada",
        "a subscription receives a post",
        "a link opens the content of a tab",
    ] {
        assert!(stdout.contains(seen), "{stdout}");
    }
}

#[test]
fn two_people_hold_a_conversation_in_the_demo() {
    let (_redis, server) = demo_server();
    let stdout = run("conversation.mjs", &[&format!("http://{}", server.address), PICTURES]);
    for seen in [
        "a reply from the card of a post arrived, and was counted in both windows",
        "a reply appeared in an open conversation without a reload",
        "an edit appeared in the other window on return to the page, with the earlier version",
        "the page of a reply showed the post above it",
        "a quote showed the quoted post",
        "a deleted reply vanished from the open conversation, and from the quote",
        "appeared on return to the page, and vanished after its deletion",
        "a repost arrived with the name of the user who reposted",
        "the page of the post listed the user who reposted",
        "a repost that was undone vanished at once",
        "a repost that the server rejected was rolled back and reported",
        "a reply to a deleted post was rejected in its form",
        "0 console errors, 0 requests to other origins",
    ] {
        assert!(stdout.contains(seen), "{stdout}");
    }
}

#[test]
fn two_people_like_and_bookmark_posts_in_the_demo() {
    let (_redis, server) = demo_server();
    let stdout = run("reactions.mjs", &[&format!("http://{}", server.address), PICTURES]);
    for seen in [
        "a like showed before the server had responded, and in the other window after a reload",
        "the page of the post listed the users who like it",
        "quick clicks showed at once, sent what was wanted last, and counted once",
        "the pages of bookmarks and likes listed the newest first, and lost what was taken back",
        "a like that did not reach the server was rolled back and reported, and counted once when it was repeated",
        "a bookmark that the server rejected was reported",
        "0 console errors, 0 requests to other origins",
    ] {
        assert!(stdout.contains(seen), "{stdout}");
    }
}

#[test]
fn a_visitor_of_the_demo_finds_its_way() {
    let (_redis, server) = demo_server();
    let stdout = run("demo.mjs", &[&format!("http://{}", server.address), PICTURES]);
    for seen in [
        "scrolled past 200 posts: no duplicates, no gaps",
        "followed a follower: the badge changed before the server had responded",
        "a follow that did not reach the server was rolled back and reported",
        "a post arrived at a follower who had the page open",
        "posts vanished, and no new one arrived",
        "unmuted the user in the settings: the posts are back",
        "deleted posts were removed for the author and the follower",
        "after a lost connection the timeline resumed",
        "a part that could not be loaded left the rest of its page",
        "blocked a user: their posts and their entries in lists vanished at once",
        "unblocked the user in the settings: both profiles are back",
        "a request to follow a private account arrived at once, and was withdrawn",
        "a request was accepted: the posts appeared in the other window at once",
        "too far behind to resume, the timeline was refetched and continued",
        "0 console errors, 0 requests to other origins",
    ] {
        assert!(stdout.contains(seen), "{stdout}");
    }
}
