//! Checks that a document is small and flat enough for the parser.
//!
//! The parser and all code that walks its trees recurse as deeply as the document nests, and some of that code takes
//! superlinear time. This check therefore rejects documents far larger than any legitimate document, in one pass over
//! the bytes, without recursion or allocation.
//!
//! Not here: well-formedness. The parser reports malformed documents, with better messages.

use std::fmt;
use std::iter;
use std::ops::Range;

/// Maximum number of tokens in a document.
const MOST_TOKENS: usize = 2_000;
/// Maximum nesting depth of brackets, braces and parentheses.
const DEEPEST: usize = 24;
/// Maximum number of fields with an alias.
const MOST_ALIASES: usize = 30;
/// Maximum number of fragment definitions.
const MOST_FRAGMENTS: usize = 100;
/// Maximum number of directives in a document.
const MOST_DIRECTIVES: usize = 50;
/// Maximum number of directives on one field, fragment or operation.
const MOST_DIRECTIVES_OF_ONE: usize = 3;

/// The reason that a document is rejected before parsing. Displays as a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::graphql) enum LexError {
    /// The document exceeds a limit.
    Excess { what: &'static str, limit: usize },
    /// The document has an unterminated string.
    OpenString,
}

impl fmt::Display for LexError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excess { what, limit } => {
                write!(formatter, "The document is too complex: it has more than {limit} {what}.")
            }
            Self::OpenString => {
                formatter.write_str("The document cannot be parsed: it has an unterminated string.")
            }
        }
    }
}

/// Checks a document against the limits.
pub(in crate::graphql) fn guard(document: &str) -> Result<(), LexError> {
    let mut counts = Counts::default();
    let mut rest = document.as_bytes();
    while let Some((token, after)) = next(rest)? {
        counts.add(token)?;
        rest = after;
    }
    Ok(())
}

/// Returns the tokens of a document that has passed the guard, as ranges of its bytes.
pub(super) fn tokens(document: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = document.as_bytes();
    iter::from_fn(move || {
        let text = skip_ignored(rest);
        (_, rest) = next(text).ok()??;
        Some(document.len() - text.len()..document.len() - rest.len())
    })
}

/// A token, reduced to what the limits need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Open(u8),
    Close,
    Colon,
    At,
    Name(&'a [u8]),
    /// A string or any other punctuator.
    Other,
}

/// Returns the first token and the bytes after it; `None` at the end of the document.
fn next(text: &[u8]) -> Result<Option<(Token<'_>, &[u8])>, LexError> {
    let text = skip_ignored(text);
    let Some((first, after)) = text.split_first() else {
        return Ok(None);
    };
    Ok(Some(match first {
        b'(' | b'[' | b'{' => (Token::Open(*first), after),
        b')' | b']' | b'}' => (Token::Close, after),
        b':' => (Token::Colon, after),
        b'@' => (Token::At, after),
        b'"' => (Token::Other, after_string(after).ok_or(LexError::OpenString)?),
        _ if is_name(*first) => {
            let length = text.iter().take_while(|byte| is_name(**byte)).count();
            let (name, after) = text.split_at(length);
            (Token::Name(name), after)
        }
        _ => (Token::Other, after),
    }))
}

/// Returns true if a byte belongs to a name. Numbers count as names, so each number is one token.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Skips white space, commas and comments.
fn skip_ignored(mut text: &[u8]) -> &[u8] {
    loop {
        match text {
            [b' ' | b'\t' | b'\n' | b'\r' | b',', after @ ..] | [0xEF, 0xBB, 0xBF, after @ ..] => {
                text = after;
            }
            [b'#', after @ ..] => {
                let end = after.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                text = &after[end.unwrap_or(after.len())..];
            }
            _ => return text,
        }
    }
}

/// Returns the bytes after a string whose opening quotation mark has been read; `None` if the string is unterminated.
fn after_string(text: &[u8]) -> Option<&[u8]> {
    if let [b'"', b'"', block @ ..] = text {
        return after_block(block);
    }
    let mut rest = text;
    loop {
        match rest {
            [b'"', after @ ..] => return Some(after),
            [] | [b'\n' | b'\r', ..] | [b'\\', b'\n' | b'\r', ..] => return None,
            [b'\\', _, after @ ..] | [_, after @ ..] => rest = after,
        }
    }
}

fn after_block(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        match rest {
            [b'"', b'"', b'"', after @ ..] => return Some(after),
            [b'\\', b'"', b'"', b'"', after @ ..] | [_, after @ ..] => rest = after,
            [] => return None,
        }
    }
}

/// The counts up to the current token, to compare with the limits.
#[derive(Default)]
struct Counts {
    tokens: usize,
    depth: usize,
    /// Nesting depth of the outermost open parenthesis. Inside it, a colon does not indicate an alias.
    arguments: Option<usize>,
    aliases: usize,
    fragments: usize,
    directives: usize,
    /// Number of directives at the current position.
    directives_here: usize,
    place: DirectivePosition,
}

/// The position of the next token relative to a run of directives.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum DirectivePosition {
    /// A position outside any run of directives.
    #[default]
    Elsewhere,
    /// The position after an `@`.
    Name,
    /// The position after a directive at this depth. Arguments or another directive may follow.
    Named(usize),
    /// A position in the arguments of a directive at this depth.
    Arguments(usize),
}

impl Counts {
    fn add(&mut self, token: Token<'_>) -> Result<(), LexError> {
        count(&mut self.tokens, MOST_TOKENS, "tokens")?;
        self.follow_directives(token)?;
        match token {
            Token::Open(bracket) => {
                count(&mut self.depth, DEEPEST, "levels of nesting")?;
                if bracket == b'(' && self.arguments.is_none() {
                    self.arguments = Some(self.depth);
                }
            }
            Token::Close => {
                if self.arguments == Some(self.depth) {
                    self.arguments = None;
                }
                self.depth = self.depth.saturating_sub(1);
            }
            Token::Colon if self.arguments.is_none() => count(&mut self.aliases, MOST_ALIASES, "aliases")?,
            Token::Name(b"fragment") if self.depth == 0 => {
                count(&mut self.fragments, MOST_FRAGMENTS, "fragments")?;
            }
            Token::Colon | Token::At | Token::Name(_) | Token::Other => {}
        }
        Ok(())
    }

    /// Counts directives, in total and per position.
    fn follow_directives(&mut self, token: Token<'_>) -> Result<(), LexError> {
        self.place = match (self.place, token) {
            (DirectivePosition::Arguments(depth), Token::Close) if self.depth == depth + 1 => {
                DirectivePosition::Named(depth)
            }
            (DirectivePosition::Arguments(depth), _)
            | (DirectivePosition::Named(depth), Token::Open(b'(')) => DirectivePosition::Arguments(depth),
            (DirectivePosition::Name, Token::Name(_)) => DirectivePosition::Named(self.depth),
            (before, Token::At) => {
                if !matches!(before, DirectivePosition::Named(_)) {
                    self.directives_here = 0;
                }
                count(&mut self.directives, MOST_DIRECTIVES, "directives")?;
                count(&mut self.directives_here, MOST_DIRECTIVES_OF_ONE, "directives in one place")?;
                DirectivePosition::Name
            }
            _ => DirectivePosition::Elsewhere,
        };
        Ok(())
    }
}

fn count(counter: &mut usize, limit: usize, what: &'static str) -> Result<(), LexError> {
    *counter += 1;
    if *counter > limit { Err(LexError::Excess { what, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;
    use proptest::prelude::*;

    use super::*;

    fn rejected(document: &str) -> Option<&'static str> {
        match guard(document).err()? {
            LexError::Excess { what, .. } => Some(what),
            LexError::OpenString => Some("open string"),
        }
    }

    #[test]
    fn each_limit_is_exact() {
        type Case = (&'static str, fn(usize) -> String, usize);
        let cases: [Case; 7] = [
            ("tokens", |n| format!("{{{}}}", "a ".repeat(n - 2)), 2_000),
            ("levels of nesting", |n| format!("{}{}", "{a".repeat(n), "}".repeat(n)), 24),
            ("levels of nesting", |n| format!("{{a(b:{}{})}}", "[".repeat(n - 2), "]".repeat(n - 2)), 24),
            ("aliases", |n| format!("{{{}}}", "a:b ".repeat(n)), 30),
            ("fragments", |n| "fragment a on b{c}".repeat(n), 100),
            ("directives", |n| format!("{{{}}}", "a @b ".repeat(n)), 50),
            ("directives in one place", |n| format!("{{a {}}}", "@b(if:$c,d:[{e:1}]) ".repeat(n)), 3),
        ];
        for (what, document, limit) in cases {
            assert_eq!(rejected(&document(limit)), None, "{what}");
            assert_eq!(rejected(&document(limit + 1)), Some(what));
        }
    }

    #[test]
    fn the_content_of_strings_and_comments_does_not_count() {
        let many = "[{(@:".repeat(1_000);
        let document = format!(
            "# {many}\n{{ a(b: \"{many}\\\"{many}\", c: \"\"\"{many}\\\"\"\"{many}\"\"\") #{many}\r b }}"
        );
        assert_eq!(rejected(&document), None);
        // The colon of an argument makes no alias, even in objects and lists.
        let arguments = "a(b: 1, c: {d: [{e: 2}]}) ".repeat(40);
        assert_eq!(rejected(&format!("query ($f: Int = 1) {{{arguments}}}")), None);
    }

    #[test]
    fn a_document_that_is_far_too_large_is_rejected_at_once() {
        for mark in ["[", "{", "(", "{a:", "@a", "\"", "a:b", "...", "fragment a on b", "\u{1F980}"] {
            assert!(guard(&format!("{{ {}", mark.repeat(300_001))).is_err(), "{mark}");
        }
    }

    #[test]
    fn an_unterminated_string_hides_nothing() {
        let nested = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        for quote in ["\"\"\"", "\"\"\"\"", "\"", "\"\\", "\"\"\"\\\"\"\""] {
            for document in
                [format!("{{a(b:[{quote}x\" {nested} ])}}"), format!("{{a(b:[{quote}x\n{nested} ])}}")]
            {
                assert!(guard(&document).is_err(), "{quote}");
            }
        }
        assert_eq!(rejected("{a(b:\"\"\"x\" [1] )}"), Some("open string"));
    }

    proptest! {
        /// Every document that passes can be parsed on a small stack: no trick hides its depth.
        #[test]
        fn a_document_that_passes_is_parsed_on_a_small_stack(
            marks in proptest::collection::vec(prop::sample::select(vec![
                "{", "}", "(", ")", "[", "]", ":", "@", "\"", "\"\"\"", "\\\"\"\"", "\\", "#", "\n", " a ", "$b", "1",
                "...", "on", "fragment", "query", "\u{feff}", "!", "=", ",", "a(b:", "{a:", "[[[[[[[[",
            ]), 0..120),
        ) {
            let document = marks.concat();
            if guard(&document).is_ok() {
                let parse = move || drop(parse_query(&document));
                std::thread::Builder::new().stack_size(512 * 1024).spawn(parse).unwrap().join().unwrap();
            }
        }
    }
}
