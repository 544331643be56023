//! The schema's custom scalars, `DateTime` and `Date`.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use crate::model::clock::{Day, Timestamp};

/// An instant as clients see it.
pub(in crate::graphql) struct DateTime(pub(in crate::graphql) Timestamp);

/// An instant in UTC with millisecond precision, such as 2026-11-20T08:30:00.123Z.
#[Scalar(specified_by_url = "https://scalars.graphql.org/andimarek/date-time")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::String(text) => {
                parse_instant(text).map(Self).ok_or_else(|| InputValueError::expected_type(value))
            }
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(print(self.0))
    }
}

/// Parses an instant in the form of RFC 3339. A fraction of a millisecond is rounded up.
pub(in crate::graphql) fn parse_instant(text: &str) -> Option<Timestamp> {
    let instant: jiff::Timestamp = text.parse().ok()?;
    let millis = -(-instant.as_nanosecond()).div_euclid(1_000_000);
    Some(Timestamp::from_millis(millis.try_into().ok()?))
}

/// A day as clients see it.
pub(in crate::graphql) struct Date(pub(in crate::graphql) Day);

/// A calendar day in UTC, such as 2026-11-20.
#[Scalar(specified_by_url = "https://scalars.graphql.org/andimarek/local-date")]
impl ScalarType for Date {
    fn parse(value: Value) -> InputValueResult<Self> {
        parse_day(&value).map(Self).ok_or_else(|| InputValueError::expected_type(value))
    }

    fn is_valid(value: &Value) -> bool {
        parse_day(value).is_some()
    }

    fn to_value(&self) -> Value {
        Value::String(print_day(self.0))
    }
}

/// Returns true if a string is a valid day.
pub(in crate::graphql) fn is_date(text: &str) -> bool {
    parse_day(&Value::from(text)).is_some()
}

const EPOCH: jiff::civil::Date = jiff::civil::date(1970, 1, 1);

/// Parses a day. Accepts only the format that `print_day` returns.
fn parse_day(value: &Value) -> Option<Day> {
    let Value::String(text) = value else { return None };
    let date: jiff::civil::Date = text.parse().ok()?;
    let days = date.since(EPOCH).ok()?.get_days();
    let day = Day::from_number(days.into());
    (print_day(day) == *text).then_some(day)
}

/// Formats a day. A day outside the calendar's range is formatted as the calendar's last day.
fn print_day(day: Day) -> String {
    let date = jiff::Span::new().try_days(day.number()).and_then(|days| EPOCH.checked_add(days));
    date.unwrap_or(jiff::civil::Date::MAX).to_string()
}

/// Formats an instant. An instant outside the calendar's range is formatted as the calendar's last instant.
fn print(time: Timestamp) -> String {
    let instant = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or(jiff::Timestamp::MAX);
    format!("{instant:.3}")
}

/// Converts a count to the schema's `Int`, saturating at the maximum.
pub(in crate::graphql) fn number(count: u64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_form() {
        for (number, text) in
            [(0, "1970-01-01"), (20_777, "2026-11-20"), (-1, "1969-12-31"), (11_016, "2000-02-29")]
        {
            assert_eq!(print_day(Day::from_number(number)), text);
            assert_eq!(parse_day(&Value::from(text)), Some(Day::from_number(number)));
        }
        assert_eq!(print_day(Day::from_number(i64::MAX)), "9999-12-31");
        let wrong = [
            "",
            "2026-11-20T08:30:00Z",
            "2026-11-20 ",
            "20261120",
            "2026-02-30",
            "2026-1-1",
            "+002026-11-20",
            "x",
        ];
        for text in wrong {
            assert_eq!(parse_day(&Value::from(text)), None, "{text:?}");
        }
        assert_eq!(parse_day(&Value::from(20_777)), None);
    }

    #[test]
    fn an_instant_has_three_digits_of_a_second() {
        let printed = |millis| print(Timestamp::from_millis(millis));
        assert_eq!(printed(1_795_163_400_123), "2026-11-20T08:30:00.123Z");
        assert_eq!(printed(1_795_163_400_000), "2026-11-20T08:30:00.000Z");
        assert_eq!(printed(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(printed(i64::MAX), "9999-12-30T22:00:00.999Z");
    }
}
