//! The client package (`clients/typescript`): its own tests, which run against a server.

use std::process::Command;

use crate::harness::program::stdout_of;
use crate::harness::server::Server;
use crate::harness::world::Redis;

#[test]
fn the_client_package_passes_its_tests_against_a_server() {
    let redis = Redis::start();
    // The tests register many users, each from an address of its own.
    let server = Server::over(&redis, &["--http-trusted-proxies", "127.0.0.1"]);
    let mut tests = Command::new("npm");
    tests.args(["test", "--silent"]).env("FANFOLD_URL", server.url());
    // They also start servers of their own, to kill them.
    tests.env("FANFOLD_PROGRAM", env!("CARGO_BIN_EXE_fanfold"));
    tests.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/clients/typescript"));
    let stdout = stdout_of(&mut tests);
    assert!(stdout.contains("\n# skipped 0\n"), "{stdout}");
}
