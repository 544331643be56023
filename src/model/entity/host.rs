//! Host names within a run of characters that are allowed in them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use crate::model::entity::characters::Characters;

/// Maximum length of a label of a host name, in its ASCII form.
const LONGEST_LABEL: usize = 63;

/// The prefix of labels in an ASCII form.
const ENCODED: &str = "xn--";

/// The top-level domains that are not in ASCII.
static INTERNATIONAL: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let encoded = tld::TLD.iter().filter_map(|domain| domain.strip_prefix(ENCODED));
    encoded.filter_map(idna::punycode::decode_to_string).collect()
});

/// Length of the longest of these, in characters.
static LONGEST_INTERNATIONAL: LazyLock<usize> =
    LazyLock::new(|| INTERNATIONAL.iter().map(|domain| domain.chars().count()).max().unwrap_or_default());

/// A run of characters that are allowed in host names, divided at its dots.
pub(super) struct Run {
    pub(super) labels: Vec<Label>,
    pub(super) end: usize,
    /// For each label, the index of the last label of the longest host name that contains the whole label.
    hosts: Vec<Option<usize>>,
}

/// A part of a run without dots.
pub(super) struct Label {
    pub(super) range: Range<usize>,
    /// End of the top-level domain that the label starts with; `None` if there is none.
    pub(super) top_level_end: Option<usize>,
    starts_with_letter: bool,
    ends_with_letter: bool,
    last_underscore: Option<usize>,
}

impl Run {
    /// Examines a run.
    pub(super) fn of(characters: &Characters<'_>, range: Range<usize>) -> Self {
        let (mut labels, mut start) = (Vec::new(), range.start);
        loop {
            let end = characters.run(start, |character| character != '.' && is_in_host(character));
            labels.push(Label::of(characters, start..end));
            if end == range.end {
                break;
            }
            start = end + 1;
        }
        let mut run = Self { hosts: vec![None; labels.len()], labels, end: range.end };
        for index in (0..run.labels.len()).rev() {
            let label = &run.labels[index];
            if label.starts_with_letter {
                run.hosts[index] = run.host_from(index, label.range.start);
            }
        }
        run
    }

    /// Returns the index of the last label of the longest host name that starts within a label; `None` if there is
    /// none. The label before the top-level domain has no underscore.
    pub(super) fn host_from(&self, index: usize, start: usize) -> Option<usize> {
        let label = &self.labels[index];
        let next = label.ends_with_letter.then(|| self.labels.get(index + 1)).flatten()?;
        let is_name = label.last_underscore.is_none_or(|underscore| underscore < start);
        let is_short = is_name && next.top_level_end.is_some();
        self.hosts[index + 1].or(is_short.then_some(index + 1))
    }
}

impl Label {
    fn of(characters: &Characters<'_>, range: Range<usize>) -> Self {
        let is_letter = |character: char| !matches!(character, '-' | '_');
        let text = characters.text(&range);
        let last_underscore = range.clone().rev().find(|at| characters.at(*at) == Some('_'));
        Self {
            top_level_end: top_level_end(characters, &range),
            starts_with_letter: text.starts_with(is_letter),
            ends_with_letter: text.ends_with(is_letter),
            last_underscore,
            range,
        }
    }
}

/// Returns true for characters of host names, and for the dots between their labels.
pub(super) fn is_in_host(character: char) -> bool {
    let is_mark = matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}');
    let is_direction = is_mark || matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let is_invalid = matches!(character, '\u{180E}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}');
    match character {
        '.' | '-' | '_' => true,
        _ if character.is_ascii() => character.is_ascii_alphanumeric(),
        _ => !character.is_whitespace() && !character.is_control() && !is_direction && !is_invalid,
    }
}

/// Returns the end of the top-level domain that a label starts with; `None` if there is none. Other text may follow
/// immediately, but not text that can belong to the name.
fn top_level_end(characters: &Characters<'_>, label: &Range<usize>) -> Option<usize> {
    let continues =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '@' | '+' | '-');
    let is_end = |at: &usize| !characters.at(*at).is_some_and(continues);
    let end = characters.run(label.start, |character| character.is_ascii_alphanumeric() || character == '-');
    let is_known = tld::exist_case_insensitive(characters.text(&(label.start..end)));
    if is_known && is_end(&end) {
        return Some(end);
    }
    let longest = label.end.min(label.start + *LONGEST_INTERNATIONAL);
    let is_international = |end: &usize| {
        let domain = characters.text(&(label.start..*end));
        !domain.is_ascii() && INTERNATIONAL.contains(&domain.to_lowercase())
    };
    (label.start + 1..=longest).rev().find(|end| is_international(end) && is_end(end))
}

/// Returns true if a label has an ASCII form of an allowed length.
pub(super) fn is_valid_label(label: &str) -> bool {
    if label.is_ascii() {
        return label.len() <= LONGEST_LABEL;
    }
    let is_encoded = label.get(..ENCODED.len()).is_some_and(|start| start.eq_ignore_ascii_case(ENCODED));
    // Encoding takes time in proportion to the square of the length.
    if is_encoded || label.chars().count() > LONGEST_LABEL {
        return false;
    }
    let encoded = idna::punycode::encode_str(label);
    encoded.is_some_and(|encoded| ENCODED.len() + encoded.len() <= LONGEST_LABEL)
}
