//! Content negotiation: the forms of response that a client accepts, per its request headers (RFC 9110, section 12.5).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::http::list;

/// The media type of server-sent events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// A media type of GraphQL responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaType {
    /// `application/json`: the older media type. Even a rejected document gets the status 200.
    Json,
    /// `application/graphql-response+json`: the newer media type. The status shows whether the request was executed.
    GraphqlResponse,
}

impl MediaType {
    /// Returns the media type that the client prefers, per RFC 9110. A client without an `Accept` header gets JSON.
    /// Returns `None` if the client accepts neither media type.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let ranges = ranges(headers, &header::ACCEPT);
        if ranges.is_empty() {
            return Some(Self::Json);
        }
        // At equal quality, an explicitly named media type wins. If both are named, the newer wins; if neither, JSON.
        let liked = [Self::Json, Self::GraphqlResponse].map(|one| (one, one.liking(&ranges)));
        let liked = liked.into_iter().filter(|(_, (quality, _))| *quality > 0);
        liked
            .max_by_key(|(one, liking)| (*liking, (*one == Self::GraphqlResponse) == liking.1))
            .map(|(one, _)| one)
    }

    /// Returns the quality of the media type, and true if a range names it explicitly.
    fn liking(self, ranges: &[Range]) -> (u16, bool) {
        let exactness = |range: &&Range| match range.name.as_str() {
            name if name == self.name() => Some(2),
            "application/*" => Some(1),
            "*/*" => Some(0),
            _ => None,
        };
        let fitting = ranges.iter().filter_map(|range| Some((exactness(&range)?, range)));
        fitting
            .max_by_key(|(exactness, range)| (*exactness, range.quality))
            .map_or((0, false), |(exactness, range)| (range.quality, exactness == 2))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::GraphqlResponse => "application/graphql-response+json",
        }
    }

    pub(super) fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json; charset=utf-8",
            Self::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
        })
    }
}

/// Returns true if a client accepts event streams. The client must name `text/event-stream`, since a client that sends
/// `*/*` expects a response that ends.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    ranges(headers, &header::ACCEPT).iter().any(|range| range.name == EVENT_STREAM && range.quality > 0)
}

/// Returns true if the client accepts gzip.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let ranges = ranges(headers, &header::ACCEPT_ENCODING);
    let named = ranges.iter().find(|range| range.name == "gzip");
    named.or_else(|| ranges.iter().find(|range| range.name == "*")).is_some_and(|range| range.quality > 0)
}

/// Returns the ranges in a header, in the client's order. Invalid ranges are left out.
fn ranges(headers: &HeaderMap, name: &HeaderName) -> Vec<Range> {
    list::elements(headers, name).filter_map(Range::parse).collect()
}

/// A media range or content coding that a client accepts.
struct Range {
    name: String,
    /// The quality in thousandths; 0 if the range is not accepted.
    quality: u16,
}

impl Range {
    /// Parses a range. A range with a charset other than UTF-8 has quality 0.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = list::split(text, ';').map(str::trim);
        let name = parts.next()?.to_ascii_lowercase();
        let mut quality = 1_000;
        for (parameter, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match parameter.trim().to_ascii_lowercase().as_str() {
                "q" => quality = thousandths(value)?,
                "charset" if !matches!(value.to_ascii_lowercase().as_str(), "utf-8" | "utf8") => {
                    return Some(Self { name, quality: 0 });
                }
                _ => {}
            }
        }
        (!name.is_empty()).then_some(Self { name, quality })
    }
}

/// Parses a number from 0 to 1 with up to three decimal places. Returns it in thousandths.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    if rest.len() > 3 || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let rest: u16 = format!("{rest:0<3}").parse().ok()?;
    match whole {
        "0" => Some(rest),
        "1" if rest == 0 => Some(1_000),
        _ => None,
    }
}
