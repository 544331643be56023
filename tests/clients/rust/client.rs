//! Signs in and reads a feed. The types of requests and responses are derived from the schema and from
//! `documents.graphql` at compile time.

use std::error::Error;

use graphql_client::{GraphQLQuery, Response};

/// A `DateTime`, not parsed.
type DateTime = String;

#[derive(GraphQLQuery)]
#[graphql(schema_path = "schema.graphql", query_path = "tests/clients/rust/documents.graphql")]
struct SignIn;

#[derive(GraphQLQuery)]
#[graphql(schema_path = "schema.graphql", query_path = "tests/clients/rust/documents.graphql")]
struct Feed;

/// A server, and a session on it.
struct Server<'a> {
    url: &'a str,
    token: Option<String>,
}

impl Server<'_> {
    /// Executes a document, and returns its data, in which each failed field is `None`; fails if there is no data.
    fn execute<Document: GraphQLQuery>(
        &self,
        variables: Document::Variables,
    ) -> Result<Document::ResponseData, Box<dyn Error>> {
        let mut request = minreq::post(self.url).with_header("Accept", "application/graphql-response+json");
        if let Some(token) = &self.token {
            request = request.with_header("Authorization", format!("Bearer {token}"));
        }
        let response = request.with_json(&Document::build_query(variables))?.send()?;
        let Response { data, errors, .. } = response.json::<Response<Document::ResponseData>>()?;
        let data = data.ok_or_else(|| format!("rejected: {errors:?}"))?;
        errors.iter().flatten().for_each(log);
        Ok(data)
    }
}

#[expect(clippy::print_stderr, reason = "a program for a terminal")]
fn log(error: &graphql_client::Error) {
    eprintln!("{error}");
}

/// Signs in, and returns the session token; the messages of the user errors on failure.
fn sign_in(server: &Server, username: &str, password: &str) -> Result<String, Box<dyn Error>> {
    let (username, password) = (username.to_owned(), password.to_owned());
    let input = sign_in::LoginInput { username, password, label: Some("graphql_client".to_owned()) };
    let login = server.execute::<SignIn>(sign_in::Variables { input })?.login.ok_or("no payload")?;
    login.token.ok_or_else(|| {
        let messages = login.user_errors.into_iter().map(|error| match error.code {
            sign_in::UserErrorCode::WRONG_CREDENTIALS => "These are no name and password.".to_owned(),
            _ => error.message,
        });
        messages.collect::<Vec<_>>().join(" ").into()
    })
}

/// Describes the reposts and edits of a post; empty if there are none.
fn marks(entry: &feed::FeedViewerTimelineEdges) -> String {
    let post = &entry.node;
    let mut marks: Vec<String> =
        entry.reposted_by.iter().map(|user| format!("reposted by {}", user.username)).collect();
    if post.repost_count > 0 {
        marks.push(format!("reposts: {}", post.repost_count));
    }
    if post.viewer_has_reposted == Some(true) {
        marks.push("reposted by the viewer".to_owned());
    }
    if post.edited_at.is_some() {
        marks.push("edited".to_owned());
    }
    if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join("; ")) }
}

/// Formats an entry of a feed as a line, followed by one for each reply.
fn lines(entry: feed::FeedViewerTimelineEdges) -> Vec<String> {
    use feed::RelationStatus;
    let marks = marks(&entry);
    let post = entry.node;
    let author = post.author;
    let label = match author.relation.map(|relation| relation.status) {
        None => "the viewer",
        Some(RelationStatus::NONE) => "a stranger",
        Some(RelationStatus::FOLLOWING) => "followed",
        Some(RelationStatus::FOLLOWER) => "a follower",
        Some(RelationStatus::MUTUAL) => "followed both ways",
        Some(RelationStatus::Other(_)) => "a relation unknown to this client",
    };
    let mutuals = author.mutuals.map(|mutuals| {
        let names: Vec<String> = mutuals.nodes.into_iter().map(|user| user.username).collect();
        names.join(" ")
    });
    let mutuals = mutuals.as_deref().unwrap_or("not loaded");
    let parent = post.in_reply_to.map(|parent| format!(" to {}", parent.author.username)).unwrap_or_default();
    let line = format!("{} ({label}; mutuals: {mutuals}){parent}{marks}: {}", author.username, post.content);
    let replies = post.replies.into_iter().flat_map(|replies| replies.nodes);
    let below = replies.map(|reply| format!("  {}: {}", reply.author.username, reply.content));
    std::iter::once(line).chain(below).collect()
}

/// Signs in, and returns the newest posts of the user's feed with their replies, one line each.
pub(crate) fn read_feed(url: &str, username: &str, password: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let token = sign_in(&Server { url, token: None }, username, password)?;
    let server = Server { url, token: Some(token) };
    let viewer = server.execute::<Feed>(feed::Variables { first: 10 })?.viewer.ok_or("not signed in")?;
    let timeline = viewer.timeline.ok_or("the timeline is temporarily unavailable")?;
    Ok(timeline.edges.into_iter().flat_map(lines).collect())
}
