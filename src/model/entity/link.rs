//! Links: URLs with `http://` or `https://`, and without a protocol if the top-level domain is known.
//!
//! Languages that are written without spaces surround URLs with letters that are allowed in host names. So a host name
//! is searched for in a *run* of such characters. Without a protocol, only Latin parts of the run are host names.

use std::ops::Range;

use crate::model::entity::characters::{Characters, is_accented_latin};
use crate::model::entity::host::{Label, Run, is_in_host, is_valid_label};

/// Returns the links in order, with their positions and URLs.
pub(super) fn links(characters: &Characters<'_>) -> Vec<(Range<usize>, String)> {
    let mut links = Links { characters, next: 0, found: Vec::new() };
    while links.next < characters.count() {
        let run = links.next..characters.run(links.next, is_in_host);
        if run.is_empty() {
            links.next += 1;
        } else {
            links.search(&Run::of(characters, run));
        }
    }
    links.found
}

/// The links up to a position.
struct Links<'a, 'c> {
    characters: &'a Characters<'c>,
    next: usize,
    found: Vec<(Range<usize>, String)>,
}

/// The parts of a URL after its host name.
struct Rest {
    has_path: bool,
    end: usize,
}

/// A Latin host name that the following labels may continue.
struct Latin {
    start: usize,
    /// End of the last top-level domain; `None` if there is none yet.
    end: Option<usize>,
    /// True if a top-level domain may follow the last label: if it has no underscore.
    ends_with_name: bool,
}

impl Latin {
    fn range(self) -> Option<Range<usize>> {
        Some(self.start..self.end?)
    }
}

impl Links<'_, '_> {
    /// Adds the links with a host name in a run, and continues after them.
    fn search(&mut self, run: &Run) {
        for (index, label) in run.labels.iter().enumerate() {
            self.next = self.next.max(label.range.start);
            while self.next < label.range.end {
                let start = self.next;
                self.next += 1;
                if let Some(host) = self.host(run, index, start) {
                    self.read(run, index, start, host);
                }
            }
        }
        self.next = self.next.max(run.end);
    }

    /// Returns the last label of the host name that starts at a position within a label; `None` if there is none.
    fn host(&self, run: &Run, index: usize, start: usize) -> Option<usize> {
        let is_start = self.characters.at(start).is_some_and(|character| !matches!(character, '-' | '_'));
        (is_start && self.may_precede(start)).then(|| run.host_from(index, start)).flatten()
    }

    /// Adds the links that start with a host name, and continues after them.
    fn read(&mut self, run: &Run, index: usize, start: usize, last: usize) {
        let Some(end) = run.labels[last].top_level_end else { return };
        let rest = self.rest(end);
        let labels = &run.labels[index..=last];
        if let Some(protocol) = self.protocol(start) {
            if labels.iter().all(|label| self.is_valid(label, start, end)) {
                let url = self.characters.text(&(protocol..rest.end)).to_owned();
                self.found.push((protocol..rest.end, url));
            }
        } else if !matches!(self.characters.before(start), Some('-' | '_' | '.' | '/')) {
            self.add_latin(labels, start, end, &rest);
        }
        // The character before a URL is not part of another one.
        self.next = rest.end + 1;
    }

    /// Returns true if the part of a label that is in a host name can be encoded.
    fn is_valid(&self, label: &Label, start: usize, end: usize) -> bool {
        is_valid_label(self.characters.text(&(label.range.start.max(start)..label.range.end.min(end))))
    }

    /// Returns the position of the protocol before a host name; `None` if there is none.
    fn protocol(&self, host: usize) -> Option<usize> {
        ["https://", "http://"].into_iter().find_map(|protocol| {
            let start = host.checked_sub(protocol.len())?;
            let is_there = self.characters.text(&(start..host)).eq_ignore_ascii_case(protocol);
            (is_there && self.may_precede(start)).then_some(start)
        })
    }

    /// Returns true if a URL may start at a position: not within a word, an address of e-mail, or another entity.
    fn may_precede(&self, at: usize) -> bool {
        let excluded = |before: char| {
            let is_sign =
                matches!(before, '@' | '＠' | '#' | '＃' | '$' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}');
            before.is_ascii_alphanumeric() || is_sign
        };
        !self.characters.before(at).is_some_and(excluded)
    }

    /// Adds a link for each Latin host name in the labels between two positions. The last one has the path.
    fn add_latin(&mut self, labels: &[Label], start: usize, end: usize, rest: &Rest) {
        let mut open: Option<Latin> = None;
        for (index, label) in labels.iter().enumerate() {
            let label_start = label.range.start.max(start);
            if let Some(host) = &mut open {
                host.end = label.top_level_end.filter(|_| host.ends_with_name).or(host.end);
            }
            let latin = self.latin_end_of(label_start..label.range.end.min(end));
            if latin.start == label_start && index > 0 {
                let name = !self.characters.text(&latin).contains('_');
                open = open.map(|host| Latin { ends_with_name: name, ..host });
                continue;
            }
            let before = open.take().and_then(Latin::range);
            let from = before.as_ref().map_or(latin.start, |host| latin.start.max(host.end));
            self.add_without_protocol(before, end, rest);
            open = self.latin_from(from..latin.end);
        }
        self.add_without_protocol(open.and_then(Latin::range), end, rest);
    }

    fn add_without_protocol(&mut self, host: Option<Range<usize>>, end: usize, rest: &Rest) {
        let Some(host) = host else { return };
        if self.characters.text(&host).split('.').all(is_valid_label) {
            let url = if rest.has_path && host.end == end { host.start..rest.end } else { host };
            let with_protocol = format!("https://{}", self.characters.text(&url));
            self.found.push((url, with_protocol));
        }
    }

    /// Returns the range of the Latin characters at the end of a label.
    fn latin_end_of(&self, label: Range<usize>) -> Range<usize> {
        let is_latin = |character: char| {
            let is_joined = matches!(character, '-' | '_');
            is_joined || character.is_ascii_alphanumeric() || is_accented_latin(character)
        };
        let mut start = label.end;
        while start > label.start && self.characters.before(start).is_some_and(is_latin) {
            start -= 1;
        }
        start..label.end
    }

    /// Returns a host name that starts with this label; `None` if no label starts so.
    fn latin_from(&self, label: Range<usize>) -> Option<Latin> {
        let text = self.characters.text(&label);
        let is_label = !text.is_empty() && !text.starts_with(['-', '_']);
        is_label.then(|| Latin { start: label.start, end: None, ends_with_name: !text.contains('_') })
    }

    /// Reads the port, the path and the query after a host name.
    fn rest(&self, host_end: usize) -> Rest {
        let is_digit = |character: char| character.is_ascii_digit();
        let mut end = host_end;
        if self.characters.at(end) == Some(':') {
            let port = self.characters.run(end + 1, is_digit);
            end = if port > end + 1 { port } else { end };
        }
        let has_path = self.characters.at(end) == Some('/');
        if has_path {
            end = self.path_end(end + 1);
        }
        if self.characters.at(end) == Some('?') {
            end = self.query_end(end);
        }
        Rest { has_path, end }
    }

    /// Returns the end of a path. Punctuation at the end belongs to the sentence, and so does a parenthesis that the
    /// path does not open.
    fn path_end(&self, start: usize) -> usize {
        let (mut at, mut end) = (start, start);
        loop {
            match self.characters.at(at) {
                Some('(') => match self.parentheses_end(at) {
                    Some(after) => (at, end) = (after, after),
                    None => return end,
                },
                Some(character) if is_in_path(character) => {
                    at += 1;
                    end = if may_end_path(character) { at } else { end };
                }
                _ => return end,
            }
        }
    }

    /// Returns the end of balanced parentheses, which may contain other ones, but only one level deep; `None` if they
    /// are not balanced or empty.
    fn parentheses_end(&self, open: usize) -> Option<usize> {
        let inside = self.characters.run(open + 1, is_in_path);
        match self.characters.at(inside)? {
            ')' => (inside > open + 1).then_some(inside + 1),
            '(' => {
                let nested = self.characters.run(inside + 1, is_in_path);
                let is_closed = nested > inside + 1 && self.characters.at(nested) == Some(')');
                let end = is_closed.then(|| self.characters.run(nested + 1, is_in_path))?;
                (self.characters.at(end) == Some(')')).then_some(end + 1)
            }
            _ => None,
        }
    }

    /// Returns the end of a query, without punctuation at the end; its start if there is no query.
    fn query_end(&self, question_mark: usize) -> usize {
        let mut end = self.characters.run(question_mark + 1, is_in_query);
        while end > question_mark + 1 && !self.characters.before(end).is_some_and(may_end_query) {
            end -= 1;
        }
        if end == question_mark + 1 { question_mark } else { end }
    }
}

fn is_in_path(character: char) -> bool {
    let is_sign = matches!(
        character,
        '!' | '*' | '\'' | ';' | ':' | ',' | '.' | '$' | '%' | '[' | ']' | '–' | '~' | '@' | '|' | '&'
    );
    is_sign || may_end_path(character)
}

fn may_end_path(character: char) -> bool {
    matches!(character, '+' | '-' | '=' | '_' | '#' | '/') || is_in_word(character)
}

/// Returns true for letters and digits that continue a URL as people read and copy it, but not for those of scripts
/// that are written without spaces: text follows a URL in these.
fn is_in_word(character: char) -> bool {
    let is_without_spaces = matches!(
        character,
        '\u{E00}'..='\u{EFF}'
            | '\u{1000}'..='\u{11FF}'
            | '\u{1780}'..='\u{17FF}'
            | '\u{2E80}'..='\u{A4CF}'
            | '\u{A960}'..='\u{A97F}'
            | '\u{AC00}'..='\u{D7FF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{FF00}'..='\u{FFEF}'
            | '\u{20000}'..
    );
    character.is_ascii_alphanumeric()
        || is_accented_latin(character)
        || character.is_alphanumeric() && !is_without_spaces
}

fn is_in_query(character: char) -> bool {
    let is_sign = matches!(
        character,
        '!' | '?'
            | '*'
            | '\''
            | '@'
            | '('
            | ')'
            | ';'
            | ':'
            | '+'
            | '$'
            | '%'
            | '['
            | ']'
            | '.'
            | ','
            | '~'
            | '|'
    );
    is_sign || may_end_query(character)
}

fn may_end_query(character: char) -> bool {
    matches!(character, '-' | '_' | '&' | '=' | '#' | '/') || is_in_word(character)
}
