//! Downloads: what they contain and cost, their headers and limits.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use fanfold::app::post::PublishRequest;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::api::export::{download, export, get, is_gone, parse};
use crate::harness::wait::eventually_async;
use crate::harness::world::{PASSWORD, World};

#[tokio::test]
async fn the_first_lines_are_the_account_and_its_sessions_as_the_api_shows_them() {
    let world = World::with(&["--media-hosts", "pictures.example"]).await;
    let ada = world.register("ada").await;
    let edit =
        "mutation { updateProfile(input: { displayName: \"Ada\", bio: \"a \\\"b\\\"\", isPrivate: true,
        avatarUrl: \"https://pictures.example/a.png\", region: { country: \"DE\", subdivision: \"DE-BE\" } })
        { userErrors { code } } }";
    world.data(Some(&ada.token), edit, Value::Null).await;
    world.clock.advance(Duration::from_secs(5));
    let login = format!(
        "mutation {{ login(input: {{ username: \"ada\", password: \"{PASSWORD}\", label: \"phone\" }}) {{ token }} }}"
    );
    world.data(None, &login, Value::Null).await;
    let publish = "mutation { publish(input: { content: \"a\", platform: \"web\", visibility: FOLLOWERS }) {
        post { id content platform visibility createdAt delivery { mode totalCount } } } }";
    let mut post = world.data(Some(&ada.token), publish, Value::Null).await["publish"]["post"].take();
    for field in ["inReplyTo", "quoteOf", "repostOf", "editedAt"] {
        post[field] = Value::Null;
    }
    post["edits"] = json!([]);
    let query = "{ viewer { isModerator user { id username displayName bio avatarUrl isPrivate createdAt
            region { country { code name } subdivision { code name } } }
        sessions { id label createdAt lastSeenAt } } }";
    let mut viewer = world.data(Some(&ada.token), query, Value::Null).await["viewer"].take();
    let path = export(&world, &ada).await;
    let lines = parse(&download(&world, &path, None).await);
    let typed = |kind: &str, mut fields: Value| {
        fields["type"] = json!(kind);
        fields
    };
    let strip = |line: &Value| {
        let mut line = line.clone();
        line.as_object_mut().unwrap().remove("cursor");
        line
    };
    let mut account = typed("account", viewer["user"].take());
    account["isModerator"] = json!(false);
    for field in ["suspendedAt", "deletionAt", "pendingRecovery"] {
        account[field] = Value::Null;
    }
    assert_eq!(strip(&lines[0]), account);
    // The API lists the sessions by their last use; the export, by sign-in.
    let mut sessions: Vec<Value> = serde_json::from_value(viewer["sessions"].take()).unwrap();
    sessions.sort_by_key(|session| session["createdAt"].to_string());
    let sessions: Vec<Value> = sessions.into_iter().map(|session| typed("session", session)).collect();
    assert_eq!(lines[1..3].iter().map(strip).collect::<Vec<_>>(), sessions);
    assert_eq!(strip(&lines[3]), typed("post", post));
    assert_eq!(lines[4], json!({ "type": "end" }));
    assert_eq!(lines.len(), 5);
}

#[tokio::test]
async fn a_download_is_a_private_attachment_and_wrong_cursors_are_rejected() {
    let world = World::new().await;
    let people = world.people(2).await;
    let path = export(&world, &people[0]).await;
    let (status, headers, body) = get(&world, &path).await;
    assert_eq!(status, StatusCode::OK);
    for (name, value) in [
        ("content-type", "application/jsonl"),
        ("content-disposition", "attachment; filename=\"fanfold-ann0.jsonl\""),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
    assert!(headers.contains_key("x-request-id"));
    let request = Request::get(&path).header(header::HOST, "localhost").header("accept-encoding", "gzip");
    let (_, headers, compressed) = world.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(headers["content-encoding"], "gzip");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&compressed[..]), &mut text).unwrap();
    assert_eq!(text, body);
    // A link on another site leads to the file, whose lines only scripts of allowed origins can read.
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "https://other.example")] {
        let request = Request::get(&path).header(header::HOST, "localhost").header(name, value);
        let (status, headers, _) = world.send(request.body(Body::empty()).unwrap()).await;
        let is_readable = headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN);
        assert_eq!((status, is_readable), (StatusCode::OK, false), "{name}");
    }
    let head = Request::head(&path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
    let (status, headers, none) = world.send(head).await;
    assert_eq!(
        (status, headers["content-type"].to_str().unwrap(), none.len()),
        (StatusCode::OK, "application/jsonl", 0)
    );
    let other = parse(&download(&world, &export(&world, &people[1]).await, None).await);
    let (other, own) =
        (other[0]["cursor"].as_str().unwrap(), parse(&body)[0]["cursor"].as_str().unwrap().to_owned());
    for (query, rule) in [
        ("after=x", "`after` is not a cursor issued by this server."),
        ("after=", "`after` is not a cursor issued by this server."),
        (&format!("after={other}"), "`after` is a cursor of another user's list."),
        (&format!("after={own}&after={own}"), "`after` is given more than once."),
    ] {
        let (status, _, body) = get(&world, &format!("{path}?{query}")).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, &body["errors"][0]["message"]),
            (StatusCode::BAD_REQUEST, &json!(rule)),
            "{query}"
        );
    }
}

/// Begins a download and reads nothing of it.
async fn begin(world: &World, path: &str) -> Response {
    let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
    world.begin(request).await
}

/// Returns what is left of a download, and true if it ended early.
async fn rest(response: Response) -> (String, bool) {
    let (mut text, mut body) = (String::new(), response.into_body());
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap()),
            Err(_) => return (text, true),
        }
    }
    (text, false)
}

#[tokio::test]
async fn a_user_has_two_downloads_at_a_time_and_a_client_that_does_not_read_is_dropped() {
    let world = World::new().await;
    let people = world.people(2).await;
    let path = export(&world, &people[0]).await;
    let held = [begin(&world, &path).await, begin(&world, &path).await];
    let third = begin(&world, &path).await;
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(third.headers()["retry-after"], "10");
    assert!(rest(third).await.0.contains("This export is already being downloaded 2 times."));
    let other = export(&world, &people[1]).await;
    assert!(!is_gone(&world, &other).await, "another user is not affected");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    let has_seat = async || begin(&world, &path).await.status() == StatusCode::OK;
    assert!(eventually_async(has_seat).await, "the downloads have ended");
    for response in held {
        let (text, is_cut) = rest(response).await;
        assert!(is_cut);
        let lines = parse(&text);
        assert_eq!((lines.len(), &lines[0]["type"]), (1, &json!("account")), "a page was waiting");
        // The download continues after the line.
        let after = lines[0]["cursor"].as_str().unwrap();
        assert!(download(&world, &path, Some(after)).await.ends_with("{\"type\":\"end\"}\n"));
    }
    // A client that leaves frees its seat.
    for _ in 0..5 {
        assert!(eventually_async(has_seat).await);
    }
}

#[tokio::test]
async fn a_download_in_progress_ends_with_the_session() {
    let world = World::new().await;
    let listening = world.app.clone();
    let listening = tokio::spawn(async move { listening.keep_listening().await });
    let ada = world.register("ada").await;
    let path = export(&world, &ada).await;
    let held = begin(&world, &path).await;
    assert!(eventually_async(async || world.redis.has_subscriber(1)).await, "it waits for the end");
    world.data(Some(&ada.token), "mutation { logout { userErrors { code } } }", Value::Null).await;
    assert!(eventually_async(async || !world.redis.has_subscriber(1)).await, "it has ended");
    let (text, is_cut) = rest(held).await;
    assert!(is_cut && text.lines().count() == 1, "{text}");
    listening.abort();
}

#[tokio::test]
async fn downloads_are_charged_for_what_they_read() {
    let world = World::with(&["--graphql-rate-limit", "600", "--graphql-cost-limit", "600"]).await;
    let ada = world.register("ada").await;
    let viewer = world.app.authenticate(&ada.token).await.unwrap();
    for number in 0..120 {
        let content = format!("post {number}");
        world
            .app
            .publish(&viewer, PublishRequest { content: &content, ..PublishRequest::default() })
            .await
            .unwrap();
    }
    let path = export(&world, &ada).await;
    let left = async || {
        let query = "{ rateLimit { remaining } }";
        world.data(Some(&ada.token), query, Value::Null).await["rateLimit"]["remaining"].as_u64().unwrap()
    };
    let before = left().await;
    assert_eq!(download(&world, &path, None).await.lines().count(), 123);
    let after = left().await;
    // A full page in advance, one for each of the eight sections before the posts, two pages of posts, and one for each of
    // the sections after them except the last.
    assert_eq!(before - after, 150 + 8 + 150 + 30 + 2 + 2, "the query costs 2");
    let expensive = "{ viewer { user { posts(first: 100) { nodes { content } } } } }";
    while world.ask(Some(&ada.token), expensive, Value::Null).await.get("errors").is_none() {}
    while world.ask(Some(&ada.token), "{ __typename }", Value::Null).await.get("errors").is_none() {}
    let (status, headers, body) = get(&world, &path).await;
    assert_eq!(
        (status, headers.contains_key("retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, true),
        "{body}"
    );
}

/// Returns a line as the page shows it: cursors and ids of sessions are opaque, and left out.
fn shown(line: &str) -> String {
    let mut line = line.to_owned();
    let value: Value = serde_json::from_str(&line).unwrap();
    let session = Some(&value["id"]).filter(|_| value["type"] == "session");
    for opaque in [value["cursor"].as_str(), session.and_then(Value::as_str)].into_iter().flatten() {
        line = line.replace(opaque, "…");
    }
    line
}

#[tokio::test]
async fn the_export_in_the_page_for_clients_is_what_a_server_sends() {
    let page = include_str!("../../../../docs/clients.md");
    let example = page.split_once("```jsonl\n").unwrap().1.split_once("```").unwrap().0;
    let world = World::new().await;
    let people = [world.register("ada").await, world.register("ben").await, world.register("cem").await];
    let [ada, ben, cem] = &people;
    let change = async |mutation: &str| {
        let query = format!("mutation {{ {mutation} {{ userErrors {{ message }} }} }}");
        world.data(Some(&ada.token), &query, Value::Null).await;
    };
    world.clock.advance(Duration::from_mins(1));
    change(
        "updateProfile(input: { displayName: \"Ada\", region: { country: \"DE\", subdivision: \"DE-BE\" } })",
    )
    .await;
    world.follow(ada, ben).await;
    world.follow(cem, ada).await;
    change(&format!("mute(input: {{ userId: \"{}\", until: \"2026-02-01T00:00:00Z\" }})", cem.id)).await;
    change("publish(input: { content: \"Hello!\", platform: \"web\" })").await;
    let text = download(&world, &export(&world, ada).await, None).await;
    let lines: Vec<String> = text.lines().map(shown).collect();
    assert_eq!(lines, example.lines().collect::<Vec<_>>());
}
