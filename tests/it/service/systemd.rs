//! The service of systemd: the commands of the page for operators, run once for real, on a machine of their own.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::document::{OPERATING, texts};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What an operator may do next, and what is true then.
const CHECKS: &str = r#"
    is_ready() { /usr/bin/fanfold healthcheck --ready; }
    until_ready() { for attempt in $(seq 600); do is_ready && return; sleep 0.1; done; }
    process() { systemctl show --property MainPID --value fanfold; }
    is_ready
    [ "$(systemctl is-enabled fanfold)" = enabled ]
    [ "$(stat --format %U "/proc/$(process)")" = fanfold ]
    [ "$(stat --format %U:%G:%a /var/lib/fanfold)" = fanfold:fanfold:700 ]
    [ "$(stat --format %U:%G:%a /etc/fanfold/fanfold.toml)" = root:fanfold:640 ]
    [ "$(stat --format %U:%G:%a /usr/bin/fanfold)" = root:root:755 ]
    systemctl status fanfold | grep redis-server

    started=$(process)
    systemctl reload fanfold
    [ "$(process)" = "$started" ]
    is_ready

    kill -KILL "$started"
    while [ "$(systemctl show --property NRestarts --value fanfold)" = 0 ]; do sleep 0.1; done
    until_ready
    [ "$(process)" != "$started" ]

    systemctl stop fanfold
    [ "$(systemctl show --property Result --value fanfold)" = success ]
    systemctl start fanfold
    is_ready
    journalctl --unit fanfold
"#;

/// Lays out the directory in which the page's commands run: the program, its configuration and the unit.
fn lay_out(directory: &Path) {
    let copy = |from: &Path, to: &str| {
        let to = directory.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    };
    copy(Path::new(env!("CARGO_BIN_EXE_fanfold")), "target/release/fanfold");
    copy(&Path::new(ROOT).join("deploy/fanfold.service"), "deploy/fanfold.service");
    // The page's sample, without the section about Redis: the server starts one of its own.
    let sample = &texts(OPERATING, "toml")[0];
    let (before, redis) = sample.split_once("[redis]\n").unwrap();
    let (_, after) = redis.split_once("\n\n").unwrap();
    std::fs::write(directory.join("fanfold.toml"), format!("{before}{after}")).unwrap();
}

#[test]
fn the_commands_of_the_page_install_a_service_which_restarts_and_reloads() {
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/lib/systemd/systemd").exists() {
        // Unlike `println!`, it is not captured.
        writeln!(std::io::stderr(), "not run: only root can start a machine, and it needs systemd").unwrap();
        return;
    }
    let blocks = texts(OPERATING, "sh");
    let install =
        blocks.iter().find(|block| block.contains("systemctl enable")).expect("a block is about systemd");
    for command in ["systemctl reload fanfold", "journalctl --unit fanfold"] {
        assert!(OPERATING.contains(&format!("`{command}`")) && CHECKS.contains(command), "{command}");
    }
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path());
    let mut machine = Command::new(format!("{ROOT}/tests/deploy/machine"));
    let machine =
        machine.arg(directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut machine = machine.spawn().unwrap();
    machine.stdin.take().unwrap().write_all(format!("{install}{CHECKS}").as_bytes()).unwrap();
    let output = machine.wait_with_output().unwrap();
    let (log, commands) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{commands}\n{log}");
    assert_eq!(log.matches("Fanfold listens on http://0.0.0.0:8080/").count(), 3, "{log}");
}
