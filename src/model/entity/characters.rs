//! The characters of a content, by position.

use std::ops::Range;

/// The characters of a content. Positions are in Unicode code points.
pub(super) struct Characters<'a> {
    content: &'a str,
    list: Vec<(usize, char)>,
    /// Number of characters that were read, to show that the parser is linear.
    #[cfg(test)]
    pub(super) reads: std::cell::Cell<usize>,
}

impl<'a> Characters<'a> {
    /// Indexes a content.
    pub(super) fn of(content: &'a str) -> Self {
        Self {
            content,
            list: content.char_indices().collect(),
            #[cfg(test)]
            reads: std::cell::Cell::default(),
        }
    }

    /// Returns the number of characters.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the character at a position; `None` past the end.
    pub(super) fn at(&self, position: usize) -> Option<char> {
        #[cfg(test)]
        self.reads.set(self.reads.get() + 1);
        self.list.get(position).map(|(_, character)| *character)
    }

    /// Returns the character before a position; `None` at the beginning.
    pub(super) fn before(&self, position: usize) -> Option<char> {
        position.checked_sub(1).and_then(|position| self.at(position))
    }

    /// Returns the end of the run of characters from a position that satisfy a condition.
    pub(super) fn run(&self, from: usize, is_in: impl Fn(char) -> bool) -> usize {
        let mut end = from;
        while self.at(end).is_some_and(&is_in) {
            end += 1;
        }
        end
    }

    /// Returns true if these characters stand at a position.
    pub(super) fn starts_with(&self, position: usize, text: &str) -> bool {
        text.chars().enumerate().all(|(offset, character)| self.at(position + offset) == Some(character))
    }

    /// Converts a range of positions to one of bytes.
    pub(super) fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        let byte = |at: usize| self.list.get(at).map_or(self.content.len(), |(byte, _)| *byte);
        byte(range.start)..byte(range.end)
    }

    /// Returns the text of a range of positions.
    pub(super) fn text(&self, range: &Range<usize>) -> &'a str {
        &self.content[self.bytes(range)]
    }
}

/// Returns true for accented Latin letters and combining diacritical marks: part of words of the Latin script.
pub(super) fn is_accented_latin(character: char) -> bool {
    matches!(
        character,
        'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ɏ' | 'ɓ' | 'ɔ' | 'ɖ' | 'ɗ' | 'ə' | 'ɛ' | 'ɣ' | 'ɨ' | 'ɯ' | 'ɲ' | 'ʉ' | 'ʋ' | 'ʻ'
            | '\u{300}'..='\u{36F}' | 'Ḁ'..='ỿ'
    )
}
