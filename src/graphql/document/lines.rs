//! Line and column positions in a document.

use async_graphql::Pos;

/// An index from byte offsets in a document to lines and columns.
pub(super) struct Lines {
    /// Byte offset of each line's start.
    starts: Vec<usize>,
    /// The number of characters before each byte; empty if every character is one byte.
    characters: Vec<u32>,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(end, _)| end + 1)).collect();
        let mut characters = Vec::new();
        if !text.is_ascii() {
            let mut count = 0;
            for byte in text.bytes() {
                characters.push(count);
                // Only the first byte of a character counts.
                count += u32::from(byte & 0b1100_0000 != 0b1000_0000);
            }
        }
        Self { starts, characters }
    }

    /// Returns the line and column of a byte, counted from one.
    pub(super) fn position(&self, offset: usize) -> Pos {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts[line - 1];
        let column = match (self.characters.get(offset), self.characters.get(start)) {
            (Some(offset), Some(start)) => (offset - start) as usize,
            _ => offset - start,
        };
        Pos { line, column: column + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_a_character() {
        for text in ["{\n  a\n\nb }", "{\n  é\n\nb }", "# ünï\n{ ą: é }", "", "\n"] {
            let lines = Lines::of(text);
            let (mut line, mut column) = (1, 1);
            for (offset, character) in text.char_indices() {
                assert_eq!(lines.position(offset), Pos { line, column }, "{text:?} {offset}");
                column += 1;
                if character == '\n' {
                    (line, column) = (line + 1, 1);
                }
            }
        }
    }
}
