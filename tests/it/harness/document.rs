//! Pages of the documentation, and the blocks of code in them.

use std::fmt::Write as _;

/// The page for operators.
pub(crate) const OPERATING: &str = include_str!("../../../docs/operating.md");

/// A block of code in a page.
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) text: String,
}

/// Returns the blocks of code in a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.trim_end()) {
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => writeln!(block.text, "{line}").unwrap(),
            (None, line) => {
                let language = line.strip_prefix("```").map(str::to_owned);
                open = language.map(|language| Block { language, text: String::new() });
            }
        }
    }
    assert!(open.is_none(), "every block is closed");
    blocks
}

/// Returns the texts of the blocks in this language.
pub(crate) fn texts(page: &str, language: &str) -> Vec<String> {
    blocks(page).into_iter().filter(|block| block.language == language).map(|block| block.text).collect()
}

/// Returns the section of the page for operators about backups.
pub(crate) fn backup_section() -> &'static str {
    let (_, section) = OPERATING.split_once("\n## Backup and restore\n").expect("the section exists");
    section.split_once("\n## ").expect("another section follows").0
}

/// Returns the rows of the table of a page whose first line begins like this, as cells.
pub(crate) fn table(page: &str, head: &str) -> Vec<Vec<String>> {
    let lines = page.lines().skip_while(|line| !line.starts_with(head));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}
