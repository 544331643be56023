//! Replies as Redis sends them: finds their ends in the received bytes, and reads them without copies.
//!
//! The format is RESP2, and the types of RESP3 that a server may send as well
//! (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).
//!
//! Not here: receiving (`driver::wire`), or what a command's reply means (the domain modules).

use std::ops::Range;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, Value};

/// Maximum nesting depth of a reply.
const MOST_DEPTH: usize = 100;
/// Maximum length of a string in a reply, in bytes: the limit that Redis has by default.
const MOST_BYTES: usize = 512 << 20;
/// Maximum number of elements of an array in a reply.
const MOST_ELEMENTS: usize = 1 << 30;

/// Returns the size of a text of this length, or of a null, as [`Replies::size`] counts it.
pub(crate) fn size_of_text(length: Option<usize>) -> u64 {
    let bytes = match length {
        Some(length) => length + digits(length) + "$\r\n\r\n".len(),
        None => "$-1\r\n".len(),
    };
    (bytes + size_of::<Value>()) as u64
}

/// Returns the number of digits of a number.
fn digits(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Finds the ends of replies in bytes that arrive piece by piece. Reads each element once.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// Position of the next element.
    position: usize,
    /// Number of elements left in each open array, outermost first.
    open: Vec<usize>,
    /// Number of elements read so far.
    elements: u64,
}

impl Scanner {
    /// Returns the end of the next reply; `None` if the bytes end before it. The bytes must start with those of the
    /// previous call.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, RedisError> {
        loop {
            let Some(element) = Element::at(bytes, self.position)? else { return Ok(None) };
            self.position = element.end;
            self.elements += 1;
            match element.children {
                0 => self.close(),
                children if self.open.len() < MOST_DEPTH => self.open.push(children),
                _ => return Err(malformed("it is nested too deeply")),
            }
            if self.open.is_empty() {
                return Ok(Some(self.position));
            }
        }
    }

    /// Counts an element whose parts are complete, and the arrays that it completes.
    fn close(&mut self) {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return;
            }
            self.open.pop();
        }
    }

    /// Forgets the last `length` bytes, the last reply.
    pub(super) fn skip(&mut self, length: usize) {
        self.position -= length;
    }

    /// Forgets the bytes before `end`, the end of a reply. Returns the number of elements in them.
    pub(super) fn advance(&mut self, end: usize) -> u64 {
        self.position -= end;
        std::mem::take(&mut self.elements)
    }
}

/// The first line of an element, and its string if it is one.
#[derive(Clone, Copy, Debug)]
struct Element<'a> {
    kind: u8,
    /// The string's bytes or, for other types, the line without the type.
    content: &'a [u8],
    /// Number of elements that follow as parts of this one.
    children: usize,
    /// True if the element is a null.
    is_null: bool,
    end: usize,
}

impl<'a> Element<'a> {
    /// Reads the element at a position; `None` if the bytes end before the element.
    fn at(bytes: &'a [u8], position: usize) -> Result<Option<Self>, RedisError> {
        let Some((&kind, rest)) = bytes.get(position..).and_then(<[u8]>::split_first) else {
            return Ok(None);
        };
        if let b'$' | b'*' = kind
            && let Some((length, line)) = short_length(rest)
        {
            let head = Self { kind, content: &[], children: 0, is_null: false, end: position + 1 + line };
            return match length {
                None => Ok(Some(Self { is_null: true, ..head })),
                Some(children) if kind == b'*' => Ok(Some(Self { children, ..head })),
                Some(length) => head.string_of(length, bytes),
            };
        }
        let Some(length) = rest.iter().position(|byte| *byte == b'\r') else {
            return Self::check_kind(kind).map(|()| None);
        };
        let (line, end) = (&rest[..length], position + 1 + length + 2);
        match rest.get(length + 1) {
            Some(b'\n') => {}
            Some(_) => return Err(malformed("a line does not end with CR LF")),
            None => return Ok(None),
        }
        let element = Self { kind, content: line, children: 0, is_null: false, end };
        let element = match kind {
            b'+' | b'-' | b':' | b'#' | b',' | b'(' => element,
            b'_' => Self { is_null: true, ..element },
            b'$' | b'=' | b'!' => return element.string(bytes),
            b'*' | b'~' | b'>' => element.array(1, 0)?,
            b'%' => element.array(2, 0)?,
            // Attributes precede the element that they belong to.
            b'|' => element.array(2, 1)?,
            _ => return Err(malformed("it has an unknown type")),
        };
        Ok(Some(element))
    }

    /// Returns the end of the element's last part; its own end if it has none. The parts must have been scanned, which
    /// limits their depth.
    fn end_of_parts(&self, bytes: &'a [u8]) -> Option<usize> {
        (0..self.children).try_fold(self.end, |end, _| Self::at(bytes, end).ok()??.end_of_parts(bytes))
    }

    /// Rejects a line of unlimited length that is no reply.
    fn check_kind(kind: u8) -> Result<(), RedisError> {
        if b"+-:#,(_$=!*~>%|".contains(&kind) { Ok(()) } else { Err(malformed("it has an unknown type")) }
    }

    /// Returns the element with its string; `None` if the bytes end before the string's end.
    fn string(self, bytes: &'a [u8]) -> Result<Option<Self>, RedisError> {
        match self.length(MOST_BYTES)? {
            Some(length) => self.string_of(length, bytes),
            None => Ok(Some(Self { is_null: true, ..self })),
        }
    }

    fn string_of(self, length: usize, bytes: &'a [u8]) -> Result<Option<Self>, RedisError> {
        let (start, end) = (self.end, self.end + length);
        match bytes.get(end..end + 2) {
            Some(b"\r\n") => Ok(Some(Self { content: &bytes[start..end], end: end + 2, ..self })),
            Some(_) => Err(malformed("a string is longer than stated")),
            None => Ok(None),
        }
    }

    fn array(self, width: usize, extra: usize) -> Result<Self, RedisError> {
        Ok(match self.length(MOST_ELEMENTS)? {
            Some(length) => Self { children: length * width + extra, ..self },
            None => Self { is_null: true, ..self },
        })
    }

    /// Returns the stated length; `None` if it is negative, which marks a null.
    fn length(&self, most: usize) -> Result<Option<usize>, RedisError> {
        let length = integer(self.content).ok_or_else(|| malformed("a length is not a number"))?;
        match usize::try_from(length) {
            Ok(length) if length > most => Err(malformed("a length exceeds the limit")),
            Ok(length) => Ok(Some(length)),
            Err(_) => Ok(None),
        }
    }
}

/// Reads a line that states a length of up to three digits or a null, as nearly all lines of strings and arrays do.
/// Returns the length, `None` for a null, and the line's own length with its end; `None` for other lines, and if the
/// bytes end before the line's end.
fn short_length(bytes: &[u8]) -> Option<(Option<usize>, usize)> {
    let number =
        |digits: &[u8]| digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    match bytes {
        [b'-', b'1', b'\r', b'\n', ..] => Some((None, 4)),
        [b'0'..=b'9', b'\r', b'\n', ..] => Some((Some(number(&bytes[..1])), 3)),
        [b'0'..=b'9', b'0'..=b'9', b'\r', b'\n', ..] => Some((Some(number(&bytes[..2])), 4)),
        [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9', b'\r', b'\n', ..] => Some((Some(number(&bytes[..3])), 5)),
        _ => None,
    }
}

/// Parses a decimal number, as Redis writes it.
fn integer(text: &[u8]) -> Option<i64> {
    /// Number of digits of a number that certainly fits.
    const FITS: usize = 18;
    let (is_negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > FITS + 1 {
        return None;
    }
    if digits.len() <= FITS {
        let (mut number, mut is_number) = (0_i64, true);
        for digit in digits {
            let digit = digit.wrapping_sub(b'0');
            is_number &= digit < 10;
            // Overflows only if some of the bytes are not digits.
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
        }
        return is_number.then_some(if is_negative { -number } else { number });
    }
    let add = |number: i64, digit: &u8| {
        let digit = i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        // Built up as a negative number, since the least number has no positive counterpart.
        number.checked_mul(10)?.checked_sub(digit)
    };
    let negative = digits.iter().try_fold(0, add)?;
    if is_negative { Some(negative) } else { negative.checked_neg() }
}

fn malformed(detail: &'static str) -> RedisError {
    (ErrorKind::Parse, "a reply is malformed", detail.to_owned()).into()
}

/// Replies to one pipeline, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replies {
    received: Arc<Received>,
    /// Number of elements in all replies.
    elements: u64,
}

/// The bytes of replies.
#[derive(Debug, Default)]
struct Received {
    bytes: Vec<u8>,
    /// The end of each reply.
    ends: Vec<usize>,
}

impl Received {
    /// Returns a reply; `None` if there are fewer.
    fn reply(&self, index: usize) -> Option<Reply<'_>> {
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        Some(Reply::new(&self.bytes[start..*self.ends.get(index)?]))
    }
}

impl Replies {
    /// Creates replies from their bytes and ends.
    pub(super) fn new(bytes: Vec<u8>, ends: Vec<usize>, elements: u64) -> Self {
        Self { received: Arc::new(Received { bytes, ends }), elements }
    }

    /// Collects replies that were received apart from each other, with this number of elements in all.
    pub(super) fn gather<'a>(replies: impl Iterator<Item = Reply<'a>>, elements: u64) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for reply in replies {
            bytes.extend_from_slice(reply.bytes);
            ends.push(bytes.len());
        }
        Self::new(bytes, ends, elements)
    }

    /// Returns the number of replies.
    pub(super) fn len(&self) -> usize {
        self.received.ends.len()
    }

    /// Returns the number of elements in all replies.
    pub(crate) fn elements(&self) -> u64 {
        self.elements
    }

    /// Returns true if both were received together.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.received, &other.received)
    }

    /// Returns some of the replies, one after another.
    pub(super) fn range(&self, range: Range<usize>) -> impl Iterator<Item = Reply<'_>> {
        range.map(|index| self.received.reply(index).unwrap_or_default())
    }

    /// Returns the replies' size in memory, in bytes, once they are decoded.
    pub(crate) fn size(&self) -> u64 {
        self.received.bytes.len() as u64 + self.elements * size_of::<Value>() as u64
    }

    /// Returns one reply; `None` if there are fewer.
    pub(crate) fn one(&self, index: usize) -> Option<Answer> {
        self.answer(index..index + 1, false)
    }

    /// Returns `count` replies from `first` on, as a list; `None` if there are fewer.
    pub(crate) fn list(&self, first: usize, count: usize) -> Option<Answer> {
        self.answer(first..first + count, true)
    }

    fn answer(&self, replies: Range<usize>, is_list: bool) -> Option<Answer> {
        let is_complete = replies.end <= self.received.ends.len();
        is_complete.then(|| Answer { received: Arc::clone(&self.received), replies, is_list })
    }

    /// Returns the replies that are errors.
    pub(super) fn errors(&self) -> impl Iterator<Item = Reply<'_>> {
        let starts = std::iter::once(0).chain(self.received.ends.iter().copied());
        let is_error = |start: &usize| matches!(self.received.bytes.get(*start), Some(b'-' | b'!'));
        starts
            .zip(0..)
            .filter(move |(start, _)| is_error(start))
            .filter_map(|(_, index)| self.received.reply(index))
    }

    /// Returns all replies, one after another.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Reply<'_>> {
        self.range(0..self.len())
    }
}

/// What Redis answered to a command, or to several commands as one.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    received: Arc<Received>,
    /// The positions of the replies among those received together.
    replies: Range<usize>,
    /// True if the replies form a list, even if there is only one.
    is_list: bool,
}

impl Answer {
    /// Returns the replies, one after another.
    pub(crate) fn replies(&self) -> impl ExactSizeIterator<Item = Reply<'_>> {
        self.replies.clone().map(|index| self.received.reply(index).unwrap_or_default())
    }

    /// Returns the first reply.
    pub(crate) fn reply(&self) -> Reply<'_> {
        self.received.reply(self.replies.start).unwrap_or_default()
    }

    /// Returns true if the replies form a list.
    pub(crate) fn is_list(&self) -> bool {
        self.is_list
    }

    /// Returns the replies' part of [`Replies::size`].
    pub(crate) fn size(&self) -> u64 {
        self.replies().map(Reply::size).sum()
    }

    /// Returns the answer as a tree of values: several replies form an array.
    pub(crate) fn value(&self) -> Result<Value, RedisError> {
        if self.is_list {
            self.replies().map(Reply::value).collect::<Result<_, _>>().map(Value::Array)
        } else {
            self.reply().value()
        }
    }
}

/// One complete reply, or an element of one. The default is an empty reply, which has no type.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reply<'a> {
    bytes: &'a [u8],
    /// The reply's outermost element, which is read once.
    element: Option<Element<'a>>,
}

impl<'a> Reply<'a> {
    /// Reads a complete reply.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, element: Element::at(bytes, 0).ok().flatten() }
    }

    /// Returns the code of an error reply, such as `WRONGTYPE`; `None` if the reply is no error.
    pub(crate) fn error_code(self) -> Option<&'a [u8]> {
        self.error()?.split(|byte| *byte == b' ').next()
    }

    /// Returns the message of an error reply, which begins with its code; `None` if the reply is no error.
    pub(super) fn error(self) -> Option<&'a [u8]> {
        let element = self.element.filter(|element| matches!(element.kind, b'-' | b'!'))?;
        Some(rejection_in_script(element.content).unwrap_or(element.content))
    }

    /// Returns the error if the reply is one.
    pub(crate) fn check(self) -> Result<(), RedisError> {
        if self.error_code().is_none() {
            return Ok(());
        }
        match self.value()? {
            Value::ServerError(error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns a string's bytes; `None` for other types.
    pub(crate) fn string(self) -> Option<&'a [u8]> {
        let element =
            self.element.filter(|element| matches!(element.kind, b'$' | b'+') && !element.is_null)?;
        Some(element.content)
    }

    /// Returns a string as text; `None` if it is not UTF-8, and for other types.
    pub(crate) fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.string()?).ok()
    }

    /// Returns a number, or the number that a string contains; `None` for everything else.
    pub(crate) fn integer(self) -> Option<i64> {
        let element =
            self.element.filter(|element| matches!(element.kind, b':' | b'$') && !element.is_null)?;
        integer(element.content)
    }

    /// Returns a number that is not negative, or one that a string contains; `None` for everything else.
    pub(crate) fn count(self) -> Option<u64> {
        self.integer()?.try_into().ok()
    }

    /// Returns true for a null.
    pub(crate) fn is_null(self) -> bool {
        self.element.is_some_and(|element| element.is_null)
    }

    /// Returns the elements of an array, or of a pushed message; `None` for other types.
    pub(crate) fn elements(self) -> Option<Elements<'a>> {
        let array = self.element.filter(|element| matches!(element.kind, b'*' | b'>') && !element.is_null)?;
        Some(Elements { bytes: &self.bytes[array.end..], left: array.children })
    }

    /// Returns the reply's part of [`Replies::size`].
    fn size(self) -> u64 {
        let (mut elements, mut position) = (0, 0);
        while let Ok(Some(element)) = Element::at(self.bytes, position) {
            (elements, position) = (elements + 1, element.end);
        }
        self.bytes.len() as u64 + elements * size_of::<Value>() as u64
    }

    /// Returns the reply as a tree of values.
    pub(crate) fn value(self) -> Result<Value, RedisError> {
        let mut elements = Elements { bytes: self.bytes, left: 1 };
        elements.value().unwrap_or_else(|| Err(malformed("it is empty")))
    }
}

/// Returns the error of a command that Redis 6.2 rejected in a script, such as `READONLY`; `None` for other messages.
/// Newer versions reply with the error itself.
fn rejection_in_script(message: &[u8]) -> Option<&[u8]> {
    let rest = message.strip_prefix(b"ERR Error running script")?;
    let start = rest.windows(3).position(|window| window == b": -")?;
    Some(&rest[start + 3..])
}

/// The elements of an array, or replies one after another.
#[derive(Clone, Debug)]
pub(crate) struct Elements<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl Elements<'_> {
    /// Returns the next element as a tree of values; `None` at the end.
    fn value(&mut self) -> Option<Result<Value, RedisError>> {
        let element = match Element::at(self.bytes, 0) {
            Ok(element) => element.filter(|_| self.left > 0)?,
            Err(error) => return Some(Err(error)),
        };
        let value = match element.kind {
            _ if element.is_null => Ok(Value::Nil),
            b'$' => Ok(Value::BulkString(element.content.to_vec())),
            b':' if let Some(number) = integer(element.content) => Ok(Value::Int(number)),
            b'*' => {
                let mut children = Elements { bytes: &self.bytes[element.end..], left: element.children };
                let values = std::iter::from_fn(|| children.value()).collect::<Result<_, _>>();
                (self.bytes, self.left) = (children.bytes, self.left - 1);
                return Some(values.map(Value::Array));
            }
            b'-' if let Some(message) = rejection_in_script(element.content) => {
                redis::parse_redis_value(&[b"-", message, b"\r\n"].concat())
            }
            // Rare in RESP2.
            _ => return self.next().map(|reply| redis::parse_redis_value(reply.bytes)),
        };
        (self.bytes, self.left) = (&self.bytes[element.end..], self.left - 1);
        Some(value)
    }
}

impl ExactSizeIterator for Elements<'_> {}

impl<'a> Iterator for Elements<'a> {
    type Item = Reply<'a>;

    fn next(&mut self) -> Option<Reply<'a>> {
        self.left = self.left.checked_sub(1)?;
        let element = Element::at(self.bytes, 0).ok().flatten()?;
        let end = if element.children == 0 { element.end } else { element.end_of_parts(self.bytes)? };
        let (bytes, rest) = self.bytes.split_at(end);
        self.bytes = rest;
        Some(Reply { bytes, element: Some(element) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Replies as Redis may send them, with nulls, errors and the types of RESP3.
    fn reply() -> impl Strategy<Value = Vec<u8>> {
        let line = |kind: char| "[ -~]{0,12}".prop_map(move |text| format!("{kind}{text}\r\n").into_bytes());
        let leaf = prop_oneof![
            any::<i64>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
            prop::collection::vec(any::<u8>(), 0..40)
                .prop_map(|bytes| { [format!("${}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat() }),
            line('+'),
            "[A-Z]{2,8}( [a-z ]{0,9})?".prop_map(|text| format!("-{text}\r\n").into_bytes()),
            Just(b"$-1\r\n".to_vec()),
            Just(b"*-1\r\n".to_vec()),
            Just(b"_\r\n".to_vec()),
            Just(b"#t\r\n".to_vec()),
            Just(b",1.5\r\n".to_vec()),
        ];
        leaf.prop_recursive(4, 60, 8, |inner| {
            let array = |kind: char, width: usize| {
                prop::collection::vec(inner.clone(), 0..6).prop_map(move |parts| {
                    let parts = &parts[..parts.len() / width * width];
                    [format!("{kind}{}\r\n", parts.len() / width).as_bytes(), &parts.concat()].concat()
                })
            };
            prop_oneof![4 => array('*', 1), 1 => array('~', 1), 1 => array('%', 2)]
        })
    }

    /// Finds the ends of all replies in bytes that arrive in pieces of these sizes.
    fn ends(bytes: &[u8], pieces: &[usize]) -> Result<Vec<usize>, RedisError> {
        let (mut scanner, mut ends, mut arrived) = (Scanner::default(), Vec::new(), 0);
        for piece in pieces.iter().chain([&bytes.len()]) {
            arrived = bytes.len().min(arrived + piece);
            while let Some(end) = scanner.end(&bytes[..arrived])? {
                ends.push(end);
            }
        }
        Ok(ends)
    }

    proptest! {
        #[test]
        fn replies_in_pieces_are_read_as_the_redis_crate_reads_them(
            replies in prop::collection::vec(reply(), 1..5),
            pieces in prop::collection::vec(0..9_usize, 0..60),
        ) {
            let bytes = replies.concat();
            let ends = ends(&bytes, &pieces).unwrap();
            let all = Replies::new(bytes.clone(), ends, 0);
            prop_assert_eq!(all.iter().count(), replies.len());
            let elements = Elements { bytes: &bytes, left: replies.len() };
            for ((one, expected), received) in all.iter().zip(&replies).zip(elements) {
                prop_assert_eq!(one.bytes, &expected[..]);
                prop_assert_eq!(one.bytes, received.bytes);
                let value = redis::parse_redis_value(expected).unwrap();
                prop_assert_eq!(one.value().unwrap(), value.clone());
                if let Value::Array(values) = value {
                    let parts: Vec<Value> = one.elements().unwrap().map(|part| part.value().unwrap()).collect();
                    prop_assert_eq!(&parts, &values);
                }
            }
        }

        #[test]
        fn arbitrary_bytes_are_rejected_or_read_as_the_redis_crate_reads_them(
            mut bytes in prop::collection::vec(reply(), 1..3).prop_map(|replies| replies.concat()),
            changes in prop::collection::vec((any::<prop::sample::Index>(), special_byte()), 0..4),
        ) {
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let mut scanner = Scanner::default();
            if let Ok(Some(end)) = scanner.end(&bytes)
                && let Ok(value) = Reply::new(&bytes[..end]).value()
                && let Ok(expected) = redis::parse_redis_value(&bytes[..end])
            {
                prop_assert_eq!(value, expected);
            }
        }
    }

    /// Generates a byte that means something in replies.
    fn special_byte() -> impl Strategy<Value = u8> {
        prop::sample::select(b"\r\n$*:+-09%~_x".to_vec())
    }

    #[test]
    fn malformed_replies_are_rejected() {
        let deep = [b"*1\r\n".repeat(MOST_DEPTH + 1), b":1\r\n".to_vec()].concat();
        for malformed in
            [&b"x"[..], b"HTTP/1.1 400", b"$3\r\nabcd\r\n", b"*x\r\n", b"$99999999999\r\n", b"+a\rb", &deep]
        {
            assert!(Scanner::default().end(malformed).is_err(), "{malformed:?}");
        }
        for partial in [&b""[..], b"+", b"+OK", b"+OK\r", b"$3\r\nab", b"$3\r\nabc\r", b"*2\r\n:1\r\n"] {
            assert_eq!(Scanner::default().end(partial).unwrap(), None, "{partial:?}");
        }
    }

    #[test]
    fn numbers_are_read_up_to_their_limits() {
        for number in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(integer(number.to_string().as_bytes()), Some(number));
        }
        for text in
            ["", "-", "1a", " 1", "9223372036854775808", "-9223372036854775809", "1.5", "//////////////////"]
        {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn accessors_read_their_type_only() {
        let [number, text, null, error] =
            [&b":7\r\n"[..], b"$2\r\n12\r\n", b"$-1\r\n", b"-WRONGTYPE x\r\n"].map(Reply::new);
        assert_eq!((number.integer(), text.integer(), null.integer()), (Some(7), Some(12), None));
        assert_eq!((number.text(), text.text(), null.text()), (None, Some("12"), None));
        assert_eq!((null.is_null(), text.is_null()), (true, false));
        assert_eq!((error.error_code(), text.error_code()), (Some(&b"WRONGTYPE"[..]), None));
    }

    #[test]
    fn an_error_in_a_script_of_an_old_version_has_the_code_of_its_command() {
        let script = "-ERR Error running script (call to f_897a): @user_script:1:";
        for (rest, code) in [
            (" @user_script: 1: -READONLY You can't write against a read only replica.", "READONLY"),
            (" @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.", "OOM"),
            (" WRONGTYPE Operation against a key holding the wrong kind of value", "ERR"),
        ] {
            let bytes = format!("{script}{rest}\r\n");
            let reply = Reply::new(bytes.as_bytes());
            assert_eq!(reply.error_code(), Some(code.as_bytes()));
            assert_eq!(reply.check().unwrap_err().code(), Some(code), "{rest}");
        }
    }
}
