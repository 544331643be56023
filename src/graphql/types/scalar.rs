//! The schema's custom scalars, `DateTime` and `Date`.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

use crate::graphql::preloaded::{Json, Leaf};
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

impl Leaf for DateTime {
    fn write(self, json: &mut Json) -> Option<()> {
        json.scalar(&self)
    }
}

/// Parses an instant in the form of RFC 3339, of the years 0 to 9999: with an offset of hours and minutes, and up to
/// nine digits of a fraction. A fraction of a millisecond is rounded up. A leap second is the first one after it.
pub(in crate::graphql) fn parse_instant(text: &str) -> Option<Timestamp> {
    let (date, rest) = text.split_at_checked("2026-11-20".len())?;
    let date = parse_day(&Value::from(date))?;
    let rest = rest.strip_prefix(['T', 't'])?;
    let (time, rest) = rest.split_at_checked("08:30:00".len())?;
    let [hour, minute, second] = numbers(time, [23, 59, 60])?;
    let (fraction, offset) = match rest.strip_prefix('.') {
        Some(rest) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (fraction, offset) = rest.split_at(digits);
            (milliseconds(fraction)?, offset)
        }
        None => (0, rest),
    };
    let seconds = hour * 3_600 + minute * 60 + second - offset_seconds(offset)?;
    Some(Timestamp::from_millis(date.start().as_millis() + seconds * 1_000 + fraction))
}

/// Parses numbers of two digits that are separated by colons, each up to its maximum.
fn numbers<const COUNT: usize>(text: &str, most: [i64; COUNT]) -> Option<[i64; COUNT]> {
    let mut parts = text.split(':');
    let mut found = [0; COUNT];
    for (number, most) in found.iter_mut().zip(most) {
        let part = parts
            .next()
            .filter(|part| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit()))?;
        *number = part.parse().ok().filter(|number| *number <= most)?;
    }
    parts.next().is_none().then_some(found)
}

/// Returns the milliseconds in the digits of a fraction of a second, rounded up.
fn milliseconds(digits: &str) -> Option<i64> {
    if !(1..=9).contains(&digits.len()) {
        return None;
    }
    let nanoseconds: i64 = format!("{digits:0<9}").parse().ok()?;
    Some(-(-nanoseconds).div_euclid(1_000_000))
}

/// Returns the seconds by which an offset is ahead of UTC.
fn offset_seconds(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) =
        text.strip_prefix('+').map(|rest| (1, rest)).or(text.strip_prefix('-').map(|rest| (-1, rest)))?;
    let [hours, minutes] = numbers(rest, [23, 59])?;
    Some(sign * (hours * 3_600 + minutes * 60))
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
/// The first day that RFC 3339 can name.
const FIRST: jiff::civil::Date = jiff::civil::date(0, 1, 1);

/// Parses a day. Accepts only the format that `print_day` returns.
fn parse_day(value: &Value) -> Option<Day> {
    let Value::String(text) = value else { return None };
    let date: jiff::civil::Date = text.parse().ok()?;
    let days = date.since(EPOCH).ok()?.get_days();
    let day = Day::from_number(days.into());
    (print_day(day) == *text).then_some(day)
}

/// Formats a day. A day outside the years 0 to 9999 is formatted as the first or the last day of these.
fn print_day(day: Day) -> String {
    let date = jiff::Span::new().try_days(day.number()).and_then(|days| EPOCH.checked_add(days));
    let outermost = if day.number() < 0 { FIRST } else { jiff::civil::Date::MAX };
    date.unwrap_or(outermost).max(FIRST).to_string()
}

/// Formats an instant. An instant outside the years 0 to 9999 is formatted as the first or the last instant of these.
fn print(time: Timestamp) -> String {
    const DAY: i64 = 86_400_000;
    let first = i64::from(FIRST.since(EPOCH).map_or(0, |span| span.get_days())) * DAY;
    let last =
        (i64::from(jiff::civil::Date::MAX.since(EPOCH).map_or(0, |span| span.get_days())) + 1) * DAY - 1;
    let millis = time.as_millis().clamp(first, last);
    let (day, rest) = (print_day(Day::from_number(millis.div_euclid(DAY))), millis.rem_euclid(DAY));
    let (seconds, millis) = (rest / 1_000, rest % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
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
        assert_eq!(printed(i64::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(printed(i64::MIN), "0000-01-01T00:00:00.000Z");
    }

    #[test]
    fn an_instant_has_a_form_of_rfc_3339() {
        let parsed = |text: &str| parse_instant(text).map(Timestamp::as_millis);
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1970-01-01T00:00:00.000000001Z", 1),
            ("1970-01-01T00:00:01.5+00:00", 1_500),
            ("1969-12-31T23:59:59.999Z", -1),
            ("1970-01-01T23:59:59+23:59", 59_000),
            ("1969-12-31T00:01:00-23:59", 0),
            ("1990-12-31T23:59:60Z", 662_688_000_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ] {
            assert_eq!(parsed(text), Some(millis), "{text}");
        }
        for text in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01 00:00:00Z",
            "1970-01-01T00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T00:00:61Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.0000000001Z",
            "1970-01-01T00:00:00+24:00",
            "1970-01-01T00:00:00+00:60",
            "1970-01-01T00:00:00+0900",
            "1970-01-01T00:00:00+09",
            "1970-01-01T00:00:00Z ",
            "1970-01-01T0:00:000Z",
            "1970-02-30T00:00:00Z",
            "+1970-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z",
            "1970-01-01T00:00:00é",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn an_instant_is_read_as_it_was_printed(millis in -62_167_219_200_000_i64..253_402_300_800_000) {
            let time = Timestamp::from_millis(millis);
            proptest::prop_assert_eq!(parse_instant(&print(time)), Some(time));
        }
    }
}
