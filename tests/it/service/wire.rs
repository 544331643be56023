//! GraphQL over HTTP: the forms of requests, their origins, and the forms of responses.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::request::{JSON, send};
use crate::harness::wait::eventually_async;
use crate::harness::world::{World, codes};

const QUERY: &str = "{\"query\":\"{ __typename }\"}";
const REGISTER: &str = "{\"query\":\"mutation { register(input: { username: \\\"eve\\\", password: \\\"correct horse\\\" }) { token } }\"}";

#[tokio::test]
async fn only_queries_may_be_sent_by_get() {
    let world = World::new().await;
    let people = world.people(1).await;
    let get =
        async |query: &str, headers: &[(&str, &str)]| send(&world, Method::GET, query, headers, "").await;
    let (status, _, response) = get("/graphql?query=%7B%20__typename%20%7D", &[]).await;
    assert_eq!((status, response), (StatusCode::OK, json!({ "data": { "__typename": "Query" } })));
    let uri = "/graphql?query=query+A($n:String!){user(by:{username:$n}){username}}query+B{__typename}\
               &operationName=A&variables=%7B%22n%22%3A%22ann0%22%7D&extensions=%7B%7D&more=1";
    let (status, _, response) = get(uri, &[]).await;
    assert_eq!((status, response), (StatusCode::OK, json!({ "data": { "user": { "username": "ann0" } } })));
    let token = format!("Bearer {}", people[0].token);
    let (status, headers, response) =
        get("/graphql?query=mutation{logout{userErrors{code}}}", &[("authorization", &token)]).await;
    assert_eq!((status, headers["allow"].to_str().unwrap()), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
    assert_eq!(codes(&response), ["BAD_REQUEST"]);
    let viewer = world.data(Some(&people[0].token), "{ viewer { user { username } } }", Value::Null).await;
    assert_eq!(viewer["viewer"]["user"]["username"], "ann0", "the session has not ended");
    for uri in [
        "/graphql",
        "/graphql?query=",
        "/graphql?query={__typename}&query={__typename}",
        "/graphql?query={__typename}&variables=x",
        "/graphql?query={__typename}&variables=[]",
        "/graphql?query={__typename}&extensions=7",
    ] {
        let (status, _, response) = get(uri, &[("accept", "application/graphql-response+json")]).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{uri} {response}");
    }
    let (status, ..) = get("/graphql?query={__typename}&operationName=&variables=", &[]).await;
    assert_eq!(status, StatusCode::OK);
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let (status, headers, response) = send(&world, method, "/graphql", &[JSON], QUERY).await;
        assert_eq!((status, codes(&response)), (StatusCode::METHOD_NOT_ALLOWED, vec!["BAD_REQUEST"]));
        assert!(headers.contains_key("allow"));
    }
}

#[tokio::test]
async fn the_response_has_the_preferred_form() {
    let world = World::new().await;
    let graphql = "application/graphql-response+json; charset=utf-8";
    let plain = "application/json; charset=utf-8";
    for (accept, form) in [
        ("", plain),
        ("*/*", plain),
        ("application/*", plain),
        ("application/json", plain),
        ("application/graphql-response+json", graphql),
        ("application/graphql-response+json, application/json", graphql),
        ("application/json, application/graphql-response+json", graphql),
        ("application/json, application/graphql-response+json;q=0.9", plain),
        ("application/graphql-response+json;q=0.1, */*;q=0.2", plain),
        ("application/json;q=0, */*", graphql),
        ("text/html, application/xhtml+xml, */*;q=0.8", plain),
        ("APPLICATION/GRAPHQL-RESPONSE+JSON; CHARSET=UTF-8", graphql),
        ("application/json; charset=\"utf-8\"", plain),
        ("application/json, application/json;charset=iso-8859-1", plain),
    ] {
        let (status, headers, _) =
            send(&world, Method::POST, "/graphql", &[JSON, ("accept", accept)], QUERY).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (StatusCode::OK, form), "{accept:?}");
    }
    for accept in ["text/html", "image/*", "application/json;q=0", "application/json; charset=latin1"] {
        let (status, headers, response) =
            send(&world, Method::POST, "/graphql", &[JSON, ("accept", accept)], QUERY).await;
        let rejected = (status, codes(&response), headers["content-type"].to_str().unwrap());
        assert_eq!(rejected, (StatusCode::NOT_ACCEPTABLE, vec!["BAD_REQUEST"], plain), "{accept:?}");
    }
}

#[tokio::test]
async fn events_are_accepted_by_the_same_rules_as_other_forms() {
    let world = World::new().await;
    let ask = async |accept| send(&world, Method::POST, "/graphql", &[JSON, ("accept", accept)], QUERY).await;
    for accept in [
        "text/event-stream",
        "TEXT/Event-Stream; Charset=UTF-8",
        "text/html, text/event-stream;q=0.001",
        "text/event-stream;note=\"a;q=0;b\"",
        "text/event-stream;note=\"a\\\";q=0;b\"",
        "text/event-stream, text/event-stream;charset=latin1",
    ] {
        let (status, headers, _) = ask(accept).await;
        let found = (status, headers["content-type"].to_str().unwrap());
        assert_eq!(found, (StatusCode::OK, "text/event-stream"), "{accept}");
    }
    for accept in [
        "text/event-stream;q=0",
        "text/event-stream; Q=0.000",
        "text/html, text/event-stream;q=2",
        "text/event-stream;charset=latin1",
        "text/*",
        "text/html;note=\"a,text/event-stream,b\"",
    ] {
        assert_eq!(ask(accept).await.0, StatusCode::NOT_ACCEPTABLE, "{accept}");
    }
    let (_, headers, _) = ask("application/json;note=\"a, b;q=0\", text/event-stream").await;
    assert_eq!(headers["content-type"], "application/json; charset=utf-8");
}

#[tokio::test]
async fn bodies_that_are_not_json_in_utf8_are_rejected() {
    let world = World::new().await;
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin1",
        "application/graphql",
        "",
    ] {
        let (status, _, response) =
            send(&world, Method::POST, "/graphql", &[("content-type", content_type)], REGISTER).await;
        assert_eq!(
            (status, codes(&response)),
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, vec!["BAD_REQUEST"]),
            "{content_type}"
        );
    }
    for content_type in ["application/json;charset=utf-8", "Application/JSON; Charset=\"UTF-8\"; x=y"] {
        let (status, ..) =
            send(&world, Method::POST, "/graphql", &[("content-type", content_type)], QUERY).await;
        assert_eq!(status, StatusCode::OK, "{content_type}");
    }
    assert_eq!(
        world.data(None, "{ user(by: { username: \"eve\" }) { id } }", Value::Null).await["user"],
        json!(null)
    );
}

#[tokio::test]
async fn pages_of_other_sites_may_not_send_requests_unless_they_are_allowed() {
    let (host, here) = (("host", "feed.example.org"), ("host", "localhost:8080"));
    let open = World::with(&[
        "--http-listen",
        "0.0.0.0:8080",
        "--http-cors-origins",
        "https://app.example.org,https://b.example",
    ])
    .await;
    let local = World::new().await;
    let cases = [
        (&open, "https://feed.example.org", true, false),
        (&open, "https://app.example.org", true, true),
        (&open, "https://b.example", true, true),
        (&open, "https://evil.example", false, false),
        (&open, "https://app.example.org.evil.example", false, false),
        (&open, "http://app.example.org", false, false),
        (&open, "http://localhost:3000", false, false),
        (&open, "null", false, false),
        (&local, "http://localhost:3000", true, true),
        (&local, "http://127.0.0.1:5173", true, true),
        (&local, "http://[::1]:5173", true, true),
        (&local, "https://localhost.evil.example", false, false),
        (&local, "https://evil.example", false, false),
    ];
    for (world, origin, is_taken, is_foreign) in cases {
        let host = if origin.contains("example") || origin == "null" { host } else { here };
        let (status, headers, response) =
            send(world, Method::POST, "/graphql", &[JSON, host, ("origin", origin)], QUERY).await;
        let allowed = headers.get("access-control-allow-origin").map(|value| value.to_str().unwrap());
        assert_eq!(allowed, is_foreign.then_some(origin), "{origin}");
        assert_eq!(headers["vary"], "accept, authorization, origin", "{origin}");
        assert_eq!(headers["cache-control"], "no-store", "{origin}");
        if is_taken {
            assert_eq!(status, StatusCode::OK, "{origin}");
        } else {
            assert_eq!((status, codes(&response)), (StatusCode::FORBIDDEN, vec!["FORBIDDEN"]), "{origin}");
            let (status, ..) =
                send(world, Method::POST, "/graphql", &[JSON, host, ("origin", origin)], REGISTER).await;
            assert_eq!(status, StatusCode::FORBIDDEN);
        }
        let asks = [
            host,
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type"),
        ];
        let (status, headers, _) = send(world, Method::OPTIONS, "/graphql", &asks, "").await;
        assert_eq!(status, if is_taken { StatusCode::NO_CONTENT } else { StatusCode::FORBIDDEN }, "{origin}");
        assert_eq!(headers.contains_key("access-control-allow-headers"), is_taken);
    }
    // A foreign name that resolves to this machine is none of its own, with or without an origin.
    for origin in [&[][..], &[("origin", "http://evil.example:8080")]] {
        let headers = [&[JSON, ("host", "evil.example:8080")], origin].concat();
        let (status, ..) = send(&local, Method::POST, "/graphql", &headers, QUERY).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{origin:?}");
    }
    for name in
        ["localhost", "LOCALHOST:8080", "app.localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.0.7"]
    {
        let (status, ..) = send(&local, Method::POST, "/graphql", &[JSON, ("host", name)], QUERY).await;
        assert_eq!(status, StatusCode::OK, "{name}");
    }
    let proxied = World::with(&["--http-cors-origins", " HTTPS://Feed.example.org/ "]).await;
    let (status, ..) = send(
        &proxied,
        Method::POST,
        "/graphql",
        &[JSON, host, ("origin", "https://feed.example.org")],
        QUERY,
    )
    .await;
    assert_eq!(status, StatusCode::OK);
    let twice = [JSON, here, ("origin", "http://localhost:8080"), ("origin", "https://evil.example")];
    assert_eq!(send(&local, Method::POST, "/graphql", &twice, QUERY).await.0, StatusCode::FORBIDDEN);
    // A browser that sends no more than that it is another site.
    let site = ("sec-fetch-site", "cross-site");
    let (status, ..) = send(&local, Method::GET, "/graphql?query={__typename}", &[site], "").await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    for site in ["same-origin", "same-site", "none"] {
        let (status, ..) =
            send(&local, Method::GET, "/graphql?query={__typename}", &[("sec-fetch-site", site)], "").await;
        assert_eq!(status, StatusCode::OK, "{site}");
    }
    for world in [&open, &local] {
        let data = world.data(None, "{ user(by: { username: \"eve\" }) { id } }", Value::Null).await;
        assert_eq!(data["user"], json!(null), "nothing was done");
    }
}

#[tokio::test]
async fn a_server_that_knows_its_names_responds_under_no_other() {
    let hosts = ["--http-hosts", "feed.example.org,localhost:8080"];
    for listen in ["127.0.0.1:8080", "0.0.0.0:8080"] {
        let world = World::with(&[&hosts[..], &["--http-listen", listen]].concat()).await;
        for (host, is_known) in [
            ("feed.example.org", true),
            ("FEED.example.org:443", true),
            ("localhost:8080", true),
            ("localhost", false),
            ("127.0.0.1:8080", false),
            ("evil.example", false),
            ("feed.example.org.evil.example", false),
        ] {
            let host = ("host", host);
            let (status, _, response) = send(&world, Method::POST, "/graphql", &[JSON, host], QUERY).await;
            if is_known {
                assert_eq!(status, StatusCode::OK, "{host:?}");
            } else {
                assert_eq!(
                    (status, codes(&response)),
                    (StatusCode::MISDIRECTED_REQUEST, vec!["BAD_REQUEST"]),
                    "{host:?}"
                );
            }
            for path in ["/", "/demo", "/schema.graphql", "/nothing", "/healthz"] {
                let (status, ..) = send(&world, Method::GET, path, &[host], "").await;
                let is_rejected = status == StatusCode::MISDIRECTED_REQUEST;
                assert_eq!(is_rejected, !is_known, "{host:?} {path} {status}");
            }
        }
        // Pages of its own may send requests, under any of its names.
        let own = [JSON, ("host", "feed.example.org"), ("origin", "https://feed.example.org")];
        assert_eq!(send(&world, Method::POST, "/graphql", &own, QUERY).await.0, StatusCode::OK);
        let (status, ..) = send(&world, Method::POST, "/graphql", &[JSON], QUERY).await;
        assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "no host at all");
    }
}

#[tokio::test]
async fn large_responses_are_compressed_for_clients_that_accept_it() {
    let world = World::new().await;
    let large = "{\"query\":\"{ countries { code name } }\"}";
    for (accept, encoding) in
        [("gzip", "gzip"), ("zstd", "zstd"), ("gzip;q=0, zstd", "zstd"), ("br, gzip", "gzip")]
    {
        let headers = [JSON, ("accept-encoding", accept)];
        let (status, headers, _) = send(&world, Method::POST, "/graphql", &headers, large).await;
        assert_eq!((status, headers["content-encoding"].to_str().unwrap()), (StatusCode::OK, encoding));
        assert!(headers.get_all("vary").iter().any(|vary| vary == "accept-encoding"));
    }
    for (body, accept) in [(large, "identity"), (large, ""), (large, "br"), (QUERY, "gzip, br, zstd")] {
        let headers = [JSON, ("accept-encoding", accept)];
        let (_, headers, response) = send(&world, Method::POST, "/graphql", &headers, body).await;
        assert!(!headers.contains_key("content-encoding") && response["data"].is_object(), "{accept}");
    }
}

#[tokio::test]
async fn an_operation_that_takes_too_long_is_reported() {
    let world = World::own(&["--graphql-query-timeout", "1", "--graphql-mutation-timeout", "1"]).await;
    let people = world.people(1).await;
    world.redis.pause(true);
    let query = "{\"query\":\"{ user(by: { username: \\\"ann0\\\" }) { bio } }\"}";
    let (status, _, response) = send(&world, Method::POST, "/graphql", &[JSON], query).await;
    assert_eq!((status, codes(&response)), (StatusCode::SERVICE_UNAVAILABLE, vec!["TIMEOUT"]));
    assert_eq!(response["errors"][0]["message"], "The operation took longer than 1 second.");
    let (status, _, response) = send(&world, Method::POST, "/graphql", &[JSON], REGISTER).await;
    assert_eq!((status, codes(&response)), (StatusCode::SERVICE_UNAVAILABLE, vec!["TIMEOUT"]));
    let message = "The operation took longer than 1 second. It is still running and may yet take effect.";
    assert_eq!(response["errors"][0]["message"], message);
    world.redis.pause(false);
    // No client waits for it any more, but it is not half done.
    let ask = "{ user(by: { username: \"eve\" }) { username } }";
    let is_registered = async || world.ask(None, ask, Value::Null).await["data"]["user"]["username"] == "eve";
    assert!(eventually_async(is_registered).await);
    world.data(Some(&people[0].token), "{ viewer { user { id } } }", Value::Null).await;
}
