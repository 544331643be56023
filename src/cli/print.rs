//! Formats of what the commands print.

use crate::model::clock::Timestamp;

/// Formats an instant, in whole seconds.
pub(super) fn print_time(time: Timestamp) -> String {
    let instant = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    format!("{instant:.0}")
}
