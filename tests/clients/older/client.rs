//! A client of an earlier version of the API: shows the relation to a user, and the events of the timeline after a cursor
//! until a post is added.

use std::error::Error;
use std::io::{BufRead as _, BufReader};

use graphql_client::{GraphQLQuery, Response};

#[derive(GraphQLQuery)]
#[graphql(
    schema_path = "tests/clients/older/schema.graphql",
    query_path = "tests/clients/older/documents.graphql"
)]
struct RelationTo;

// A kind of event without a variant becomes `Unknown`. Values of enums become `Other` without an attribute.
#[derive(GraphQLQuery)]
#[graphql(
    schema_path = "tests/clients/older/schema.graphql",
    query_path = "tests/clients/older/documents.graphql",
    fragments_other_variant = "true"
)]
struct Timeline;

/// Returns the label of a relation.
fn label_of(status: &relation_to::RelationStatus) -> &'static str {
    use relation_to::RelationStatus;
    match status {
        RelationStatus::NONE => "a stranger",
        RelationStatus::FOLLOWING => "followed",
        RelationStatus::FOLLOWER => "a follower",
        RelationStatus::Other(_) => "a relation unknown to this client",
    }
}

fn describe(event: &timeline::TimelineTimelineOn) -> String {
    use timeline::TimelineTimelineOn as Event;
    match event {
        Event::PostAdded(added) => format!("came: {}", added.edge.node.content),
        Event::PostRemoved(removed) => format!("went: {}", removed.post_id),
        Event::RepostRemoved | Event::Unknown => "something else happened".to_owned(),
    }
}

/// Requests a document, which the server responds to with this media type.
fn request(
    url: &str,
    token: &str,
    media_type: &str,
    body: &impl serde::Serialize,
) -> Result<minreq::Request, Box<dyn Error>> {
    let request = minreq::post(url).with_header("Accept", media_type);
    Ok(request.with_header("Authorization", format!("Bearer {token}")).with_json(body)?)
}

/// Returns the label of the relation to a user; `None` if the viewer has none.
pub(crate) fn read_relation(
    url: &str,
    token: &str,
    username: &str,
) -> Result<Option<&'static str>, Box<dyn Error>> {
    let query = RelationTo::build_query(relation_to::Variables { username: username.to_owned() });
    let response = request(url, token, "application/graphql-response+json", &query)?.send()?;
    let Response { data, errors, .. } = response.json::<Response<relation_to::ResponseData>>()?;
    let data = data.ok_or_else(|| format!("rejected: {errors:?}"))?;
    Ok(data.user.and_then(|user| user.relation).map(|relation| label_of(&relation.status)))
}

/// Passes a description of each event of the timeline after a cursor to `show`, until a post is added.
pub(crate) fn watch_timeline(
    url: &str,
    token: &str,
    after: &str,
    mut show: impl FnMut(String),
) -> Result<(), Box<dyn Error>> {
    let query = Timeline::build_query(timeline::Variables { after: Some(after.to_owned()) });
    let response = request(url, token, "text/event-stream", &query)?.send_lazy()?;
    for line in BufReader::new(response).lines() {
        let line = line?;
        let Some(event) = line.strip_prefix("data: ") else { continue };
        let Response { data, errors, .. } = serde_json::from_str::<Response<timeline::ResponseData>>(event)?;
        let event = data.ok_or_else(|| format!("the subscription has ended: {errors:?}"))?.timeline;
        show(describe(&event.on));
        if matches!(event.on, timeline::TimelineTimelineOn::PostAdded(_)) {
            return Ok(());
        }
    }
    Err("the server has closed the connection".into())
}
