//! The sources of the project, as the tests about them read them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the Rust sources in this folder, each with its path below the folder and its lines.
pub(crate) fn sources(folder: &str) -> Vec<(String, Vec<String>)> {
    sources_of(folder, "rs")
}

/// Returns the sources with this extension in this folder, each with its path below the folder and its lines.
pub(crate) fn sources_of(folder: &str, extension: &str) -> Vec<(String, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut sources = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|its| its == extension) {
                let text = fs::read_to_string(&path).unwrap();
                let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
                sources.push((name, text.lines().map(str::to_owned).collect()));
            }
        }
    }
    assert!(!sources.is_empty(), "the sources were found");
    sources
}

/// Returns the texts that stand in the sources of a folder right after one of these beginnings.
pub(crate) fn texts_after(folder: &str, beginnings: &[&str]) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for source in sources(folder).into_iter().map(|(_, lines)| lines.join("\n")) {
        for rest in beginnings.iter().flat_map(|beginning| source.split(beginning).skip(1)) {
            let text = rest.trim_start().strip_prefix('"').and_then(|text| text.split('"').next());
            texts.extend(text.map(str::to_owned));
        }
    }
    texts
}
