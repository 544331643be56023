//! Exports of an account's data.

mod access;
mod complete;
mod download;
mod model;
mod random;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::harness::world::{PASSWORD, Person, World};

const EXPORT: &str = "mutation ($password: String) { exportAccount(input: { currentPassword: $password }) {
    exportPath expiresAt userErrors { code message field } } }";

async fn export(world: &World, person: &Person) -> String {
    let mut data = world.data(Some(&person.token), EXPORT, json!({ "password": PASSWORD })).await;
    assert_eq!(data["exportAccount"]["userErrors"], json!([]));
    data["exportAccount"]["exportPath"].take().as_str().unwrap().to_owned()
}

async fn get(world: &World, path: &str) -> (StatusCode, HeaderMap, String) {
    let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
    let (status, headers, body) = world.send(request).await;
    (status, headers, String::from_utf8(body).unwrap())
}

async fn download(world: &World, path: &str, after: Option<&str>) -> String {
    let query = after.map_or_else(String::new, |after| format!("?after={after}"));
    let (status, _, body) = get(world, &format!("{path}{query}")).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

fn parse(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

async fn is_gone(world: &World, path: &str) -> bool {
    let (status, headers, body) = get(world, path).await;
    if status == StatusCode::OK {
        return false;
    }
    let body: Value = serde_json::from_str(&body).unwrap();
    assert!(body["errors"][0]["message"].as_str().unwrap().starts_with("There is no such export."));
    assert_eq!((status, &headers["cache-control"]), (StatusCode::NOT_FOUND, &"no-store".parse().unwrap()));
    true
}
