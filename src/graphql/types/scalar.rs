//! Scalars of our own.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use crate::model::clock::Timestamp;

/// A time as clients see it.
pub(in crate::graphql) struct DateTime(pub(in crate::graphql) Timestamp);

/// An instant in UTC with milliseconds, such as 2026-11-20T08:30:00.123Z.
#[Scalar(specified_by_url = "https://scalars.graphql.org/andimarek/date-time")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else {
            return Err(InputValueError::expected_type(value));
        };
        let instant: jiff::Timestamp = text.parse().map_err(InputValueError::custom)?;
        Ok(Self(Timestamp::from_millis(instant.as_millisecond())))
    }

    fn to_value(&self) -> Value {
        Value::String(print(self.0))
    }
}

/// Times beyond what a calendar can say print as its last instant.
fn print(time: Timestamp) -> String {
    let instant = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    format!("{instant:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_has_three_digits_of_a_second() {
        let printed = |millis| print(Timestamp::from_millis(millis));
        assert_eq!(printed(1_795_163_400_123), "2026-11-20T08:30:00.123Z");
        assert_eq!(printed(1_795_163_400_000), "2026-11-20T08:30:00.000Z");
        assert_eq!(printed(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(printed(i64::MAX), "9999-12-30T22:00:00.999Z");
    }
}
