//! The set-ups of `docs/cluster.md`, executed as they stand there, on other ports.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::instance::program;
use crate::harness::port::free_ports;
use crate::harness::server::{Server, command};

const PAGE: &str = include_str!("../../../docs/cluster.md");

/// Servers that a set-up has started, until dropped.
struct SetUp {
    directory: TempDir,
    ports: Vec<u16>,
    /// The arguments of `fanfold`.
    serve: Vec<String>,
}

/// Returns free ports, none of which contains the digits of one of these.
fn ports_beside<const N: usize>(documented: [u16; N]) -> [u16; N] {
    let contains = |port: u16, digits: u16| port.to_string().contains(&digits.to_string());
    loop {
        let ports: [u16; N] = free_ports();
        if !ports.iter().any(|port| documented.iter().any(|documented| contains(*port, *documented))) {
            return ports;
        }
    }
}

impl SetUp {
    /// Executes the commands below a heading, up to that which starts Fanfold. `documented` are the ports they use.
    fn execute<const N: usize>(heading: &str, documented: [u16; N]) -> Self {
        let section = PAGE.split_once(&format!("\n## {heading}\n")).unwrap().1;
        let mut script = section.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0.to_owned();
        let ports = ports_beside(documented);
        for (documented, port) in documented.into_iter().zip(ports) {
            let documented = documented.to_string();
            assert!(script.contains(&documented), "{documented} is not in the set-up");
            script = script.replace(&documented, &port.to_string());
        }
        let (script, serve) = script.split_once("fanfold serve").unwrap();
        let serve = serve.replace("127.0.0.1:8080", "127.0.0.1:0");
        let serve = ["serve"].into_iter().chain(serve.split_whitespace()).map(str::to_owned).collect();
        let set_up = Self { directory: tempfile::tempdir().unwrap(), ports: ports.into(), serve };
        set_up.run(script);
        set_up
    }

    /// Runs a script with the installed programs, which are those of Redis or of Valkey.
    fn run(&self, script: &str) {
        let (server, client) = (program(), program().replace("server", "cli"));
        let script = script.replace("redis-server", server).replace("redis-cli", &client);
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &script]).current_dir(self.directory()).stdin(Stdio::null());
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn serve(&self) -> Server {
        let arguments: Vec<&str> = self.serve.iter().map(String::as_str).collect();
        Server::run(command(&arguments).current_dir(self.directory()))
    }
}

impl Drop for SetUp {
    fn drop(&mut self) {
        let stop = |port: &u16| format!("redis-cli -p {port} shutdown nosave 2> /dev/null || true\n");
        self.run(&self.ports.iter().map(stop).collect::<String>());
    }
}

/// Asserts that a server serves requests.
fn check(server: &Server) {
    let token = server.token("ada");
    let response = server.ask_as(&token, "{ viewer { user { username } } }");
    assert_eq!(response, json!({ "data": { "viewer": { "user": { "username": "ada" } } } }));
}

#[test]
fn the_documented_cluster_serves_requests() {
    let set_up = SetUp::execute("Cluster", [7001, 7002, 7003, 7004, 7005, 7006]);
    check(&set_up.serve());
}

#[test]
fn the_documented_sentinels_lead_to_the_master() {
    // The ports of sentinels come first, because they contain those of the servers.
    let set_up = SetUp::execute("Sentinel", [26_401, 26_402, 26_403, 6401, 6402, 6403]);
    check(&set_up.serve());
}
