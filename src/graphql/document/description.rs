//! Removes the descriptions of operations, fragments and variables, which the specification of September 2025 allows
//! and the parser does not know. They do not change what a document does.
//!
//! Spaces take their place, so that errors have the locations of the document as sent. A description elsewhere stays
//! where it is, and the parser rejects it.

use std::borrow::Cow;
use std::ops::Range;

use crate::graphql::document::lexer;

/// Returns a document that has passed the size checks, with spaces in place of its descriptions.
pub(super) fn without_descriptions(document: &str) -> Cow<'_, str> {
    let descriptions = descriptions(document);
    if descriptions.is_empty() {
        return Cow::Borrowed(document);
    }
    let mut text = String::with_capacity(document.len());
    let mut end = 0;
    for description in descriptions {
        text.push_str(&document[end..description.start]);
        // Positions are lines and characters, so a character becomes a space, whatever its length in bytes.
        text.extend(document[description.clone()].chars().map(|character| match character {
            '\n' | '\r' => character,
            _ => ' ',
        }));
        end = description.end;
    }
    text.push_str(&document[end..]);
    Cow::Owned(text)
}

/// Returns the places of the descriptions in a document, in order.
fn descriptions(document: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut nesting = Nesting::default();
    let mut described = None;
    // A document begins as it goes on after a definition.
    let mut before: &[u8] = b"}";
    for range in lexer::tokens(document) {
        let token = &document.as_bytes()[range.clone()];
        if let Some(description) = described.take()
            && nesting.has_described(token)
        {
            found.push(description);
        }
        if token.starts_with(b"\"") && nesting.admits_description(before) {
            described = Some(range.clone()).filter(|range| has_valid_escapes(&document[range.clone()]));
        }
        nesting.follow(token);
        before = token;
    }
    found
}

/// What is open between two tokens.
#[derive(Default)]
struct Nesting {
    /// Number of open brackets, braces and parentheses.
    depth: usize,
    /// True in parentheses outside of selections: variable definitions, or arguments of a directive.
    is_in_header: bool,
}

impl Nesting {
    /// Returns true if a description may be here, after this token: before a definition, or before a variable. After
    /// `=` and `:`, a string is a value.
    fn admits_description(&self, before: &[u8]) -> bool {
        match self.depth {
            0 => before == b"}",
            1 => self.is_in_header && !matches!(before, b"=" | b":"),
            _ => false,
        }
    }

    /// Returns true if a description here may describe what begins with this token. The shorthand `{ … }` has none.
    fn has_described(&self, token: &[u8]) -> bool {
        match self.depth {
            0 => matches!(token, b"query" | b"mutation" | b"subscription" | b"fragment"),
            _ => token == b"$",
        }
    }

    fn follow(&mut self, token: &[u8]) {
        match token {
            b"(" | b"[" | b"{" => {
                self.is_in_header |= self.depth == 0 && token == b"(";
                self.depth += 1;
            }
            b")" | b"]" | b"}" => {
                self.depth = self.depth.saturating_sub(1);
                self.is_in_header &= self.depth > 0;
            }
            _ => {}
        }
    }
}

/// Returns true if all escape sequences of a string are valid. The parser reports those that are not.
fn has_valid_escapes(string: &str) -> bool {
    let is_block = string.len() > 2 && string.starts_with("\"\"\"");
    let mut rest = if is_block { "" } else { string };
    while let Some((_, escape)) = rest.split_once('\\') {
        let Some(after) = after_escape(escape) else { return false };
        rest = after;
    }
    true
}

/// Returns the text after an escape sequence whose backslash has been read; `None` if it is malformed.
fn after_escape(text: &str) -> Option<&str> {
    let Some(code) = text.strip_prefix('u') else {
        return text.strip_prefix(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']);
    };
    if let Some(code) = code.strip_prefix('{') {
        let (digits, after) = code.split_once('}')?;
        return char::from_u32(hexadecimal(digits)?).map(|_| after);
    }
    let (first, after) = code_unit(code)?;
    if char::from_u32(first.into()).is_some() {
        return Some(after);
    }
    let (second, after) = code_unit(after.strip_prefix("\\u")?)?;
    char::decode_utf16([first, second]).next()?.ok().map(|_| after)
}

/// Returns the number in the first four digits, and the text after them.
fn code_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, after) = text.split_at_checked(4)?;
    Some((u16::try_from(hexadecimal(digits)?).ok()?, after))
}

fn hexadecimal(digits: &str) -> Option<u32> {
    // The standard library accepts a sign.
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spaces(count: usize) -> String {
        " ".repeat(count)
    }

    #[test]
    fn spaces_take_the_place_of_descriptions() {
        for (document, expected) in [
            ("\"x\" query { a }", "    query { a }"),
            ("\"\"subscription{a}", "  subscription{a}"),
            ("\"é🦀\"mutation{a}", "    mutation{a}"),
            (
                "\"\"\"é\n\r\n \\\"\"\" \"\"\"\nquery Q { a }",
                &format!("    \n\r\n{}\nquery Q {{ a }}", spaces(9)),
            ),
            ("{ a } # b\n\"x\" fragment F on T { a }", "{ a } # b\n    fragment F on T { a }"),
            ("query(\"x\"$a: A){a}", "query(   $a: A){a}"),
            (
                "query($a: A = \"y\", \"x\" $b: [B!]! \"x\" $c: C){a}",
                "query($a: A = \"y\",     $b: [B!]!     $c: C){a}",
            ),
            (
                "query($a: A = {b: \"y\"} \"x\" $b: B @c(d: \"y\") \"x\" $e: E){a}",
                "query($a: A = {b: \"y\"}     $b: B @c(d: \"y\")     $e: E){a}",
            ),
            (r#""\n\"\u00e9\uD83E\uDD80\u{1F980}" query { a }"#, &format!("{} query {{ a }}", spaces(33))),
        ] {
            assert_eq!(without_descriptions(document), expected);
        }
    }

    #[test]
    fn strings_elsewhere_stay() {
        for document in [
            "{ a }",
            "\"x\" { a }",
            "{ \"x\" a }",
            "{ a \"x\" }",
            "{ a } \"x\"",
            "{ a(b: \"x\") }",
            "{ a(b: \"x\" $c: 1) }",
            "{ a(\"x\" $b) }",
            "{ a } \"x\" type A { b: C }",
            "\"x\" a query { b }",
            "\"x\" \"y\" query { a }",
            "query \"x\" query { a }",
            "query Q \"x\" { a }",
            "query Q @a(b: \"x\") { a }",
            "query Q @a(b: \"x\" $c) { a }",
            "query ($a: A = \"x\" $b: B) { a }",
            "query ($a: \"x\" $b: B) { a }",
            "query ($a: A = [\"x\" $b]) { a }",
            "query ($a: A) \"x\" { a }",
            "query ($a: A) \"x\" query { a }",
            "query (\"x\") { a }",
            "fragment F on T \"x\" { a }",
            r#""\q" query { a }"#,
            r#""\u12" query { a }"#,
            r#""\u+123" query { a }"#,
            r#""\u{+1}" query { a }"#,
            r#""\u{110000}" query { a }"#,
            r#""\u{}" query { a }"#,
            r#""\uD83E" query { a }"#,
            r#""\uDD80\uD83E" query { a }"#,
            r#""\uD83E\n" query { a }"#,
        ] {
            assert_eq!(without_descriptions(document), document);
        }
    }
}
