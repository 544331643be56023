//! The forms of response that a client accepts, by the headers of its request (RFC 9110, section 12.5).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::http::list;

/// The media type of server-sent events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// The media types of responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaType {
    /// `application/json`: the older one; a rejected document still has the status 200.
    Json,
    /// `application/graphql-response+json`: the status shows if the request was executed.
    GraphqlResponse,
}

impl MediaType {
    /// Returns the media type that the client prefers, after RFC 9110: JSON if it states no preference; `None` if it
    /// accepts neither.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let ranges = ranges(headers, &header::ACCEPT);
        if ranges.is_empty() {
            return Some(Self::Json);
        }
        // If it prefers neither, the one that it names explicitly; if it names both, the newer one.
        let liked = [Self::Json, Self::GraphqlResponse].map(|one| (one, one.liking(&ranges)));
        let liked = liked.into_iter().filter(|(_, (quality, _))| *quality > 0);
        liked
            .max_by_key(|(one, liking)| (*liking, (*one == Self::GraphqlResponse) == liking.1))
            .map(|(one, _)| one)
    }

    /// Returns the quality of the media type, and true if it is named explicitly.
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

/// Returns true if a client accepts events. It must name them: a client that accepts anything expects a response that
/// ends.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    ranges(headers, &header::ACCEPT).iter().any(|range| range.name == EVENT_STREAM && range.quality > 0)
}

/// Returns true if the client accepts gzip.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let ranges = ranges(headers, &header::ACCEPT_ENCODING);
    let named = ranges.iter().find(|range| range.name == "gzip");
    named.or_else(|| ranges.iter().find(|range| range.name == "*")).is_some_and(|range| range.quality > 0)
}

/// Returns the ranges that a client accepts according to this header.
fn ranges(headers: &HeaderMap, name: &HeaderName) -> Vec<Range> {
    list::elements(headers, name).filter_map(Range::parse).collect()
}

/// A range of media types, or a coding, that a client accepts.
struct Range {
    name: String,
    /// The quality in thousandths; 0 if it is not accepted.
    quality: u16,
}

impl Range {
    /// Parses a range. A charset other than UTF-8 has quality 0.
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

/// Parses a number from 0 to 1 with up to three decimal places, in thousandths.
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
