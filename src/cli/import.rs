//! `fanfold import`: imports a follow graph from a file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::mem;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use flate2::bufread::MultiGzDecoder;

use crate::app::App;
use crate::app::user::NewAccount;
use crate::cli::world::{Boundaries, Sayings, World};
use crate::cli::{Data, Outcome, say};
use crate::config::DataConfig;
use crate::model::clock::Timestamp;
use crate::model::secret::{Password, PasswordHash};
use crate::model::user::{Bio, Username};

/// Imports a follow graph from a file.
///
/// The file is an edge list, plain or gzipped, as the Stanford Network Analysis Project (SNAP) publishes them. A line
/// `30 1412` means that node 30 follows node 1412. White space or a comma separates the numbers. Further columns, such
/// as times or weights, are ignored. Lines that begin with # or % are comments. Node 30 becomes the user u30. Follow
/// times increase with the order of the lines. Nothing is written unless the whole file can be read. Running the
/// command again changes nothing.
#[derive(Args, Debug)]
pub(super) struct Import {
    /// Path of the edge list.
    file: PathBuf,

    /// Password of all imported users. Without it, they cannot sign in.
    #[arg(long, value_name = "PASSWORD", env = "FANFOLD_IMPORT_PASSWORD", hide_env_values = true)]
    password: Option<String>,

    #[command(flatten)]
    data: DataConfig,
}

impl Import {
    pub(super) async fn run(self) -> Outcome {
        let graph = Graph::read(&self.file)?;
        let password = self.password.as_deref().map(Password::choose).transpose();
        let password = password.map_err(|violation| format!("--password: {}", violation.rule))?;
        let work = async |app: &App| -> Outcome {
            let hash = match password {
                Some(password) => Some(app.hash_password(password).await?),
                None => None,
            };
            let notes = graph.notes();
            let loaded = graph.into_world(hash.as_ref(), app.now())?.load(app).await?;
            say(&loaded.to_string())?;
            notes.iter().try_for_each(|note| say(note))?;
            Ok(ExitCode::SUCCESS)
        };
        Data::work(self.data, work).await
    }
}

/// Maximum line length, in bytes.
const LONGEST_LINE: u64 = 65_536;

const FORM: &str = "expected two node numbers separated by white space or a comma";
const NEGATIVE: &str = "a node number cannot be negative";
const TOO_GREAT: &str = "a node number is at most 18446744073709551615";
const CARRIAGE_RETURN: &str = "a carriage return can only be followed by a line feed";
const TOO_MANY: &str = "a file can have at most 4294967296 nodes";

/// A rule that a line violates.
type Rule = &'static str;

/// A follow graph as read from a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Graph {
    /// Node numbers, in order of first appearance.
    nodes: Vec<u64>,
    /// Pairs of follower and followed node, as indices into `nodes`, in the order of the file.
    edges: Vec<(u32, u32)>,
    /// Number of lines in which a node follows itself.
    self_follows: usize,
    /// Number of lines that have more than two columns.
    longer_lines: usize,
}

/// An error that prevents the import of a file.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("cannot read {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{}, line {number}: cannot be read", path.display())]
    Read {
        path: PathBuf,
        number: usize,
        #[source]
        cause: io::Error,
    },
    #[error("{}, line {number}: longer than {LONGEST_LINE} bytes", path.display())]
    TooLong { path: PathBuf, number: usize },
    #[error("{} has no edges: {FORM} on each line", path.display())]
    Empty { path: PathBuf },
    #[error("{}, line {number}: {rule}, found {line:?}", path.display())]
    Line { path: PathBuf, number: usize, rule: Rule, line: String },
}

impl Graph {
    fn read(path: &Path) -> Result<Self, ReadError> {
        let failed = |cause| ReadError::Open { path: path.to_owned(), cause };
        let file = BufReader::new(File::open(path).map_err(failed)?);
        Self::parse(open(file).map_err(failed)?, path)
    }

    fn parse(source: impl BufRead, path: &Path) -> Result<Self, ReadError> {
        let mut lines = Lines { source, path, number: 0, line: Vec::new() };
        let mut builder = Builder::default();
        while lines.advance()? {
            builder.add(lines.text()).map_err(|rule| lines.violation(rule))?;
        }
        if builder.graph.nodes.is_empty() {
            return Err(ReadError::Empty { path: path.to_owned() });
        }
        Ok(builder.graph)
    }

    /// Returns the lines to print about what was left out.
    fn notes(&self) -> Vec<String> {
        let follows = "lines were skipped: users cannot follow themselves";
        let columns = "lines had further columns, which were ignored";
        let notes = [(self.self_follows, follows), (self.longer_lines, columns)];
        notes.iter().filter(|(count, _)| *count > 0).map(|(count, note)| format!("{count} {note}")).collect()
    }

    /// Converts the graph to a world. Follows are a millisecond apart, and the last is a millisecond before `now`.
    fn into_world(self, password: Option<&PasswordHash>, now: Timestamp) -> Result<World, String> {
        let count = self.edges.len();
        let time = move |index: usize| now.minus(Duration::from_millis((count - index) as u64));
        let user = |node: u64| {
            let username = Username::parse(&format!("u{node}")).map_err(|violation| violation.rule)?;
            Ok(NewAccount {
                display_name: (&username).into(),
                username,
                bio: Bio::default(),
                region: None,
                created_at: time(0),
                password: password.cloned(),
                subject: None,
                sign_in: None,
            })
        };
        let users = self.nodes.into_iter().map(user).collect::<Result<_, String>>()?;
        Ok(World {
            users,
            follows: self.edges,
            time: Box::new(time),
            mutes: Vec::new(),
            boundaries: Boundaries::default(),
            posts: Sayings { count: 0, reach: 0, all: Box::new(std::iter::empty()) },
        })
    }
}

/// Returns a reader of the file's content. Decompresses the file if it starts with gzip's magic bytes.
fn open(mut file: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    if file.fill_buf()?.starts_with(&GZIP) {
        Ok(Box::new(BufReader::new(MultiGzDecoder::new(file))))
    } else {
        Ok(Box::new(file))
    }
}

/// The lines of a file.
struct Lines<'a, S> {
    source: S,
    path: &'a Path,
    /// Number of the current line, from 1.
    number: usize,
    line: Vec<u8>,
}

impl<S: BufRead> Lines<'_, S> {
    /// Reads the next line. Returns false at the end of the file.
    fn advance(&mut self) -> Result<bool, ReadError> {
        self.number += 1;
        self.line.clear();
        let read = self.source.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        let (path, number) = (self.path, self.number);
        let read = read.map_err(|cause| ReadError::Read { path: path.to_owned(), number, cause })?;
        if read as u64 == LONGEST_LINE && !self.line.ends_with(b"\n") {
            return Err(ReadError::TooLong { path: path.to_owned(), number });
        }
        Ok(read > 0)
    }

    /// Returns the current line, without the white space around it and the byte order mark of UTF-8 before it.
    fn text(&self) -> &[u8] {
        let marked = if self.number == 1 { self.line.strip_prefix(b"\xef\xbb\xbf") } else { None };
        marked.unwrap_or(&self.line).trim_ascii()
    }

    fn violation(&self, rule: Rule) -> ReadError {
        let line = String::from_utf8_lossy(self.text()).chars().take(80).collect();
        ReadError::Line { path: self.path.to_owned(), number: self.number, rule, line }
    }
}

/// A graph to which lines are added.
#[derive(Default)]
struct Builder {
    graph: Graph,
    /// The index of each node in the graph.
    indices: HashMap<u64, u32>,
    /// True if the next line that is not a comment has the size of a matrix.
    has_size: bool,
}

impl Builder {
    fn add(&mut self, line: &[u8]) -> Result<(), Rule> {
        // Otherwise a file whose lines all end with carriage returns would be one line: a comment, or many columns.
        if line.contains(&b'\r') {
            return Err(CARRIAGE_RETURN);
        }
        // In this format, numbers of rows, columns and entries precede the entries.
        self.has_size |= line.starts_with(b"%%MatrixMarket");
        if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"%") {
            return Ok(());
        }
        let Edge { from, to, has_further_columns } = Edge::parse(line)?;
        if mem::take(&mut self.has_size) {
            return Ok(());
        }
        let edge = (self.index(from)?, self.index(to)?);
        if from == to {
            self.graph.self_follows += 1;
        } else {
            self.graph.edges.push(edge);
        }
        self.graph.longer_lines += usize::from(has_further_columns);
        Ok(())
    }

    fn index(&mut self, node: u64) -> Result<u32, Rule> {
        if let Some(&index) = self.indices.get(&node) {
            return Ok(index);
        }
        let index = u32::try_from(self.graph.nodes.len()).map_err(|_| TOO_MANY)?;
        self.indices.insert(node, index);
        self.graph.nodes.push(node);
        Ok(index)
    }
}

/// A line of an edge list.
struct Edge {
    from: u64,
    to: u64,
    has_further_columns: bool,
}

impl Edge {
    fn parse(line: &[u8]) -> Result<Self, Rule> {
        let (from, rest) = split_column(line);
        let (to, rest) = split_column(rest);
        Ok(Self { from: node(from)?, to: node(to)?, has_further_columns: !rest.is_empty() })
    }
}

/// Returns the first column of a line, and the rest after the separator: white space, a comma, or both.
fn split_column(line: &[u8]) -> (&[u8], &[u8]) {
    let is_separator = |byte: &u8| matches!(byte, b' ' | b'\t' | b',');
    let (column, rest) = line.split_at(line.iter().position(is_separator).unwrap_or(line.len()));
    let rest = rest.trim_ascii_start();
    (column, rest.strip_prefix(b",").map_or(rest, <[u8]>::trim_ascii_start))
}

/// Parses a node number. Any number makes a username of valid length.
fn node(column: &[u8]) -> Result<u64, Rule> {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    if column.strip_prefix(b"-").is_some_and(is_number) {
        return Err(NEGATIVE);
    }
    let digits = str::from_utf8(column).ok().filter(|_| is_number(column)).ok_or(FORM)?;
    digits.parse().map_err(|_| TOO_GREAT)
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    /// Reads a file of these bytes. An error is returned with its cause, and without the name of the file.
    fn read(bytes: &[u8]) -> Result<Graph, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, bytes).unwrap();
        Graph::read(file.path()).map_err(|error| {
            let name = file.path().display().to_string();
            let message = error.to_string();
            let message = message.strip_prefix(&name).expect("the file is named").to_owned();
            error.source().map_or(message.clone(), |cause| format!("{message}: {cause}"))
        })
    }

    #[test]
    fn an_edge_list_is_read_plain_and_packed() {
        let text = b"# Directed graph\r\n30\t1412\r\n\n30 3\n3\t3\n1412\t30";
        let edges = vec![(0, 1), (0, 2), (1, 0)];
        let graph = Graph { nodes: vec![30, 1412, 3], edges, self_follows: 1, longer_lines: 0 };
        assert_eq!(read(text).unwrap(), graph);
        assert_eq!(read(&packed(text)).unwrap(), graph);
        // Concatenated archives are an archive.
        let (start, end) = text.split_at(25);
        assert_eq!(read(&[packed(start), packed(end)].concat()).unwrap(), graph);
    }

    #[test]
    fn the_forms_in_which_graphs_are_published_are_read() {
        let forms: [(&str, usize); 9] = [
            ("0 1\n1 2\n", 0),
            ("0\t1\n1\t2", 0),
            ("  0 \t 1  \r\n\t1\t\t2\t\r\n", 0),
            ("0 1 1082040961\n1 2 1082155839\n", 2),
            ("0,1\n1 , 2\n", 0),
            ("0,1,-1,1289241911.72836\n1,2\n", 1),
            ("\u{feff}# FromNodeId ToNodeId\n0 1\n#\n\n1 2", 0),
            ("% asym weighted\n%  2 3 3\n0 1 0.5 1082040961\n1 2 na\u{ef}ve\n", 2),
            ("%%MatrixMarket matrix coordinate pattern general\n% 3 nodes\n3 3 2\n0 1\n1 2\n", 0),
        ];
        for (text, longer_lines) in forms {
            let graph =
                Graph { nodes: vec![0, 1, 2], edges: vec![(0, 1), (1, 2)], self_follows: 0, longer_lines };
            assert_eq!(read(text.as_bytes()).as_ref(), Ok(&graph), "{text:?}");
        }
        let first = read("\u{feff}7 18446744073709551615".as_bytes()).unwrap();
        assert_eq!(first.nodes, [7, u64::MAX]);
        let names = first.into_world(None, Timestamp::from_millis(0)).unwrap().users;
        assert_eq!(names[1].username.as_str(), "u18446744073709551615");
    }

    #[test]
    fn a_file_without_edges_is_rejected() {
        let read = |text: &[u8]| Graph::parse(text, Path::new("graph")).unwrap_err().to_string();
        for text in [&b""[..], b"\n\n", b"# only a comment\n", b"%%MatrixMarket\n3 3 0\n"] {
            assert_eq!(read(text), format!("graph has no edges: {FORM} on each line"), "{text:?}");
        }
        // The comment does not hide the lines after it.
        assert_eq!(
            read(b"# a\r1 2\r3 4\r"),
            format!("graph, line 1: {CARRIAGE_RETURN}, found \"# a\\r1 2\\r3 4\"")
        );
    }

    #[test]
    fn notes_count_the_lines_that_are_not_imported_in_full() {
        let graph = read(b"1 2 3\n1 1\n2 2\n2 3 4 5\n1 3 0\n").unwrap();
        let notes = [
            "2 lines were skipped: users cannot follow themselves",
            "3 lines had further columns, which were ignored",
        ];
        assert_eq!(graph.notes(), notes);
        assert_eq!(read(b"1 2\n").unwrap().notes(), Vec::<String>::new());
    }

    #[test]
    fn the_line_of_a_malformed_file_is_named_with_the_rule() {
        let lines = (0..20_000).map(|node| format!("{node} {}\n", node * 7_919 % 20_011));
        let whole = packed(lines.collect::<Vec<_>>().concat().as_bytes());
        let mut corrupt = whole.clone();
        corrupt[whole.len() / 2..][..64].fill(0xff);
        let mut wrong_sum = packed(b"1 2\n");
        let sum = wrong_sum.len() - 8;
        wrong_sum[sum] ^= 1;
        let long = format!("#\n# {}\n1 2", "x".repeat(100_000));
        let utf_16: Vec<u8> = "\u{feff}1 2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cases: [(&[u8], usize, &str); 26] = [
            (b"# x\n1\n", 2, FORM),
            (b"1 2\n3\t\n", 2, FORM),
            (b"1 2\n\n\na b\n", 4, FORM),
            (b"node_1,node_2\n1,2\n", 1, FORM),
            (b"\xef\xbb\xbffrom\tto\n1\t2\n", 1, FORM),
            (b"1 2\n1,,2\n", 2, FORM),
            (b"1 2\n,1,2\n", 2, FORM),
            (b"1 2\n1;2\n", 2, FORM),
            (b"1 2\n1 x 3\n", 2, FORM),
            (b"1 2\n+1 2\n", 2, FORM),
            (b"1 2\n1.0 2.0\n", 2, FORM),
            (b"1 2\n0x1 2\n", 2, FORM),
            (b"1 2\n\"1\" \"2\"\n", 2, FORM),
            ("1 2\n1\u{a0}2\n".as_bytes(), 2, FORM),
            (b"1 2\n\xff\xfe 1\n", 2, FORM),
            (b"%%MatrixMarket matrix array real general\n\n2\n0.5\n", 3, FORM),
            (&utf_16, 1, FORM),
            (b"1 2\n-1 2\n", 2, NEGATIVE),
            (b"1 2\n1 -2\n", 2, NEGATIVE),
            (b"1 2\n1 18446744073709551616\n", 2, TOO_GREAT),
            (b"1 2\r3 4\r5 6", 1, CARRIAGE_RETURN),
            (long.as_bytes(), 2, "longer than 65536 bytes"),
            (b"\x1f\x8b", 1, "cannot be read: "),
            (&packed(b"1 2\n# x\n-3 4\n"), 3, NEGATIVE),
            (&wrong_sum, 2, "cannot be read: "),
            (&[&packed(b"1 2\n3 4\n")[..], b"5 6\n"].concat(), 3, "cannot be read: "),
        ];
        for (bytes, number, rule) in cases {
            let error = read(bytes).unwrap_err();
            let named = format!(", line {number}: {rule}");
            assert!(error.starts_with(&named), "{:?}: {error}", String::from_utf8_lossy(bytes));
        }
        for bytes in [&whole[..whole.len() / 2], &corrupt] {
            let error = read(bytes).unwrap_err();
            let (number, reason) = error.strip_prefix(", line ").unwrap().split_once(": ").unwrap();
            let number: usize = number.parse().unwrap();
            assert!((1_000..20_000).contains(&number), "half of the file could be read: {error}");
            assert!(reason.starts_with("cannot be read: "), "{error}");
        }
        assert_eq!(
            read(b"1 2\n2\tx\n").unwrap_err(),
            ", line 2: expected two node numbers separated by white space or a comma, found \"2\\tx\""
        );
    }
}
