//! Programs other than Fanfold, which run to their end.

use std::process::Command;

/// Runs a program to its end. Returns whether it succeeded, and its output.
pub(crate) fn outcome(program: &mut Command) -> (bool, String) {
    let output = program.output().expect("the program is there; `make setup-tests` installs it");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return (true, stdout);
    }
    (false, format!("{stdout}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Runs a program, which must succeed, and returns its standard output.
pub(crate) fn stdout_of(program: &mut Command) -> String {
    let (is_success, stdout) = outcome(program);
    assert!(is_success, "{stdout}");
    stdout
}

/// Runs one of the scripts of `tests/npm`, which must succeed, and returns its standard output.
pub(crate) fn run(script: &str, arguments: &[&str]) -> String {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm");
    stdout_of(Command::new("node").arg(script).args(arguments).current_dir(directory))
}
