//! `fanfold import`: imports a follow graph from a file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use flate2::bufread::MultiGzDecoder;

use crate::app::App;
use crate::app::user::NewAccount;
use crate::cli::world::{Sayings, World};
use crate::cli::{Data, Outcome, say};
use crate::config::DataConfig;
use crate::model::clock::Timestamp;
use crate::model::secret::{Password, PasswordHash};
use crate::model::user::{Bio, Username};

/// Imports a follow graph from a file.
///
/// The file is an edge list in the format of the Stanford Network Analysis Project (SNAP), plain or gzipped. A line
/// `30<TAB>1412` means that node 30 follows node 1412; lines that begin with # are comments. Node 30 becomes the user
/// u30. Follow times increase with the order of the lines. Nothing is written unless the whole file can be read.
/// Running the command again changes nothing.
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
            let self_follows = graph.self_follows;
            let loaded = graph.into_world(hash.as_ref(), app.now())?.load(app).await?;
            say(&loaded.to_string())?;
            if self_follows > 0 {
                say(&format!("{self_follows} lines were skipped: users cannot follow themselves"))?;
            }
            Ok(ExitCode::SUCCESS)
        };
        Data::work(self.data, work).await
    }
}

/// Maximum line length, in bytes.
const LONGEST_LINE: u64 = 65_536;

/// A follow graph as read from a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Graph {
    /// Node numbers, in order of first appearance.
    nodes: Vec<u64>,
    /// Pairs of follower and followed node, as indices into `nodes`, in the order of the file.
    edges: Vec<(u32, u32)>,
    /// Number of lines in which a node follows itself.
    self_follows: usize,
}

/// An error that prevents the import of a file.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("cannot read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{}, line {number}: expected two node numbers separated by a tab, found {line:?}", path.display())]
    Line { path: PathBuf, number: usize, line: String },
    #[error("{}, line {number}: longer than {LONGEST_LINE} bytes", path.display())]
    TooLong { path: PathBuf, number: usize },
    #[error("{}: more nodes than can be imported at once ({})", path.display(), u32::MAX)]
    TooMany { path: PathBuf },
}

impl Graph {
    fn read(path: &Path) -> Result<Self, ReadError> {
        let failed = |cause| ReadError::Io { path: path.to_owned(), cause };
        let file = BufReader::new(File::open(path).map_err(failed)?);
        Self::parse(open(file).map_err(failed)?, path)
    }

    fn parse(mut lines: impl BufRead, path: &Path) -> Result<Self, ReadError> {
        let mut graph = Self::default();
        let mut indices = HashMap::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
            if read.map_err(|cause| ReadError::Io { path: path.to_owned(), cause })? == 0 {
                break;
            }
            let is_cut = line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n");
            let text = line.trim_ascii();
            if is_cut {
                return Err(ReadError::TooLong { path: path.to_owned(), number });
            }
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            let Some((from, to)) = edge(text) else {
                let line = String::from_utf8_lossy(text).chars().take(80).collect();
                return Err(ReadError::Line { path: path.to_owned(), number, line });
            };
            let mut index = |node| {
                let next = u32::try_from(graph.nodes.len()).ok();
                let index = *indices.entry(node).or_insert(next);
                if index.is_some() && index == next {
                    graph.nodes.push(node);
                }
                index.ok_or_else(|| ReadError::TooMany { path: path.to_owned() })
            };
            let edge = (index(from)?, index(to)?);
            if from == to {
                graph.self_follows += 1;
            } else {
                graph.edges.push(edge);
            }
        }
        Ok(graph)
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
                sign_in: None,
            })
        };
        let users = self.nodes.into_iter().map(user).collect::<Result<_, String>>()?;
        Ok(World {
            users,
            follows: self.edges,
            time: Box::new(time),
            posts: Sayings { count: 0, sayings: Box::new(std::iter::empty()) },
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

/// Parses a line's two node numbers; `None` if the line is malformed.
fn edge(line: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(|text| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number)
    });
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Some(from)), Some(Some(to)), None) => Some((from, to)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const TEXT: &str = "# Directed graph\r\n30\t1412\r\n\n30 3\n3\t3\n1412\t30";

    fn parse(bytes: &'static [u8]) -> Result<Graph, String> {
        let lines = open(bytes).map_err(|error| error.to_string())?;
        Graph::parse(lines, Path::new("graph.txt")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_edge_list_is_read_plain_and_packed() {
        let graph = Graph { nodes: vec![30, 1412, 3], edges: vec![(0, 1), (0, 2), (1, 0)], self_follows: 1 };
        assert_eq!(parse(TEXT.as_bytes()).unwrap(), graph);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(TEXT.as_bytes()).unwrap();
        assert_eq!(parse(packed.finish().unwrap().leak()).unwrap(), graph);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error_of = |text: &'static [u8]| parse(text).unwrap_err();
        let expected = "graph.txt, line 2: expected two node numbers separated by a tab, found \"1\"";
        assert_eq!(error_of(b"# x\n1\n"), expected);
        let long = format!("#\n# {}\n1 2", "x".repeat(100_000)).leak();
        assert_eq!(error_of(long.as_bytes()), "graph.txt, line 2: longer than 65536 bytes");
        for text in [&b"1 2 3"[..], b"a b", b"+1 2", b"-1 2", b"1 18446744073709551616", b"\xff\xfe 1"] {
            assert!(error_of(text).contains("line 1"));
        }
    }
}
