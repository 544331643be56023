//! Signs in and reads a feed. The types of what is sent and answered are derived from the schema and from
//! `documents.graphql` when this is compiled.

use std::error::Error;

use graphql_client::{GraphQLQuery, Response};

/// A DateTime is kept as it is written.
type DateTime = String;

#[derive(GraphQLQuery)]
#[graphql(schema_path = "schema.graphql", query_path = "tests/clients/rust/documents.graphql")]
struct SignIn;

#[derive(GraphQLQuery)]
#[graphql(schema_path = "schema.graphql", query_path = "tests/clients/rust/documents.graphql")]
struct Feed;

/// Where a document is sent, and who sends it.
struct Server<'a> {
    url: &'a str,
    token: Option<String>,
}

impl Server<'_> {
    /// All of the answer, or else an error.
    fn ask<Document: GraphQLQuery>(
        &self,
        variables: Document::Variables,
    ) -> Result<Document::ResponseData, Box<dyn Error>> {
        let mut request = minreq::post(self.url).with_header("Accept", "application/graphql-response+json");
        if let Some(token) = &self.token {
            request = request.with_header("Authorization", format!("Bearer {token}"));
        }
        let answer = request.with_json(&Document::build_query(variables))?.send()?;
        match answer.json::<Response<Document::ResponseData>>()? {
            Response { data: Some(data), errors: None, .. } => Ok(data),
            Response { errors, .. } => Err(format!("refused: {errors:?}").into()),
        }
    }
}

/// The token of whoever has this name and password, or why they were refused.
fn sign_in(server: &Server, username: &str, password: &str) -> Result<String, Box<dyn Error>> {
    let (username, password) = (username.to_owned(), password.to_owned());
    let input = sign_in::LoginInput { username, password, label: Some("graphql_client".to_owned()) };
    let login = server.ask::<SignIn>(sign_in::Variables { input })?.login.ok_or("there is no answer")?;
    login.token.ok_or_else(|| {
        let refusals = login.user_errors.into_iter().map(|error| match error.code {
            sign_in::UserErrorCode::WRONG_CREDENTIALS => "These are no name and password.".to_owned(),
            _ => error.message,
        });
        refusals.collect::<Vec<_>>().join(" ").into()
    })
}

/// A post of a feed as a line.
fn line(post: feed::FeedViewerTimelineNodes) -> String {
    use feed::RelationStatus;
    let author = post.author;
    let standing = match author.relation.map(|relation| relation.status) {
        None => "the viewer",
        Some(RelationStatus::NONE) => "a stranger",
        Some(RelationStatus::FOLLOWING) => "followed",
        Some(RelationStatus::FOLLOWER) => "a follower",
        Some(RelationStatus::MUTUAL) => "followed both ways",
        Some(RelationStatus::Other(_)) => "in a way that is newer than this client",
    };
    let mutuals: Vec<String> = author.mutuals.nodes.into_iter().map(|user| user.username).collect();
    format!("{} ({standing}; mutuals: {}): {}", author.username, mutuals.join(" "), post.content)
}

/// The newest posts of the feed of whoever has this name and password, a line each.
pub(crate) fn read_feed(url: &str, username: &str, password: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let token = sign_in(&Server { url, token: None }, username, password)?;
    let server = Server { url, token: Some(token) };
    let viewer = server.ask::<Feed>(feed::Variables { first: 10 })?.viewer.ok_or("nobody is signed in")?;
    Ok(viewer.timeline.nodes.into_iter().map(line).collect())
}
