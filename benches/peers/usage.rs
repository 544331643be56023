//! CPU time and memory of a process and its descendants, on systems with `/proc`.

use std::fs;
use std::time::Duration;

/// Returns the CPU time that a process and its descendants have used; `None` without `/proc`.
pub(crate) fn cpu(root: u32) -> Option<Duration> {
    let mut nanos = 0;
    for process in family(root)? {
        // A process may end between the reads.
        for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let used = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            nanos += used.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Some(Duration::from_nanos(nanos))
}

/// Returns the bytes of resident memory of a process and its descendants; `None` without `/proc`.
pub(crate) fn memory(root: u32) -> Option<u64> {
    let resident = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
    };
    Some(family(root)?.iter().filter_map(resident).sum())
}

/// Returns a process and its descendants; `None` without `/proc`.
fn family(root: u32) -> Option<Vec<u32>> {
    let processes: Vec<u32> = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let parents: Vec<Option<u32>> = processes.iter().map(|process| parent(*process)).collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(&member) = family.get(next) {
        let children = processes.iter().zip(&parents).filter(|(_, parent)| **parent == Some(member));
        family.extend(children.map(|(process, _)| *process));
        next += 1;
    }
    processes.contains(&root).then_some(family)
}

fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may contain spaces.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
