//! The samples for deployments at work: Caddy and nginx in front of a server, and the unit of systemd.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::server::{Server, eventually};
use crate::harness::world::Redis;
use crate::service::socket::Socket;
use crate::service::watch::{TIMELINE, follow, publish};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const TIMEOUT: Duration = Duration::from_secs(20);

/// A proxy in front of a server.
struct Proxy {
    process: Child,
    port: u16,
    _directory: TempDir,
}

impl Proxy {
    /// Starts nginx with the sample, of which only addresses and the paths of certificates are replaced.
    fn nginx(server: &Server) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let certificate = rcgen::generate_simple_self_signed(["feed.example.org".to_owned()]).unwrap();
        std::fs::write(path("fullchain.pem"), certificate.cert.pem()).unwrap();
        std::fs::write(path("privkey.pem"), certificate.signing_key.serialize_pem()).unwrap();
        let [port, secure, plain, other] = [(); 4].map(|()| free_port());
        let sample = include_str!("../../../deploy/nginx.conf")
            .replace("127.0.0.1:8080", &server.address)
            .replace("listen 443 ssl", &format!("listen 127.0.0.1:{secure} ssl"))
            .replace("listen [::]:443 ssl http2", &format!("listen 127.0.0.1:{port}"))
            .replace("listen 80", &format!("listen 127.0.0.1:{plain}"))
            .replace("listen [::]:80", &format!("listen 127.0.0.1:{other}"))
            .replace("/etc/letsencrypt/live/feed.example.org", directory.path().to_str().unwrap());
        std::fs::write(path("sample.conf"), sample).unwrap();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {};", path(kind)));
        let main = format!(
            "daemon off; pid {}; error_log {}; events {{}} http {{ access_log off; {} include {}; }}",
            path("pid"),
            path("error.log"),
            temporary.join(" "),
            path("sample.conf"),
        );
        std::fs::write(path("nginx.conf"), main).unwrap();
        let mut command = Command::new("nginx");
        command.args(["-p", &path(""), "-c", &path("nginx.conf")]);
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap()));
        Self::start(command, directory, port)
    }

    /// Starts Caddy with the sample, whose variables are set.
    fn caddy(server: &Server) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let port = free_port();
        let upstream = server.address.rsplit(':').next().unwrap();
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config", &format!("{ROOT}/deploy/Caddyfile")]);
        command.env("DOMAIN", format!("http://:{port}")).env("FANFOLD_PORT", upstream);
        command.env("CADDY_ADMIN", format!("127.0.0.1:{}", free_port())).env("HOME", directory.path());
        Self::start(command, directory, port)
    }

    fn start(mut command: Command, directory: TempDir, port: u16) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let proxy = Self { process: command.spawn().unwrap(), port, _directory: directory };
        assert!(eventually(|| std::net::TcpStream::connect(proxy.address()).is_ok()), "the proxy listens");
        proxy
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Opens a connection to the proxy from this address of the machine.
    async fn connect(&self, from: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        socket.connect(self.address().parse().unwrap()).await.unwrap()
    }

    /// Sends a query from this address of the machine, and returns the response.
    async fn ask(&self, from: &str, query: &str) -> Value {
        let mut stream = self.connect(from).await;
        stream
            .write_all(request(query, "application/json", "connection: close\r\n").as_bytes())
            .await
            .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let begin = response.find('{').unwrap_or_else(|| panic!("{response}"));
        serde_json::from_str(&response[begin..=response.rfind('}').unwrap()]).unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn request(query: &str, accept: &str, more: &str) -> String {
    let body = json!({ "query": query }).to_string();
    let length = body.len();
    format!(
        "POST /graphql HTTP/1.1\r\nhost: feed.example.org\r\naccept: {accept}\r\n{more}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

async fn check(start: impl Fn(&Server) -> Proxy) {
    let redis = Redis::start();
    let options = ["--http-trusted-proxies", "127.0.0.1", "--account-registrations-per-address", "1"];
    let options = [&options[..], &["--http-hosts", "feed.example.org,127.0.0.1,localhost"]].concat();
    let server = Server::over(&redis, &options);
    let proxy = start(&server);

    // Clients behind the proxy have limits of their own.
    let mut tokens = Vec::new();
    for (from, name) in [("127.0.0.2", "ada"), ("127.0.0.3", "bob")] {
        let input = format!("username: \"{name}\", password: \"correct horse\"");
        let register =
            format!("mutation {{ register(input: {{ {input} }}) {{ token userErrors {{ code }} }} }}");
        let done = proxy.ask(from, &register).await["data"]["register"].take();
        tokens.push(done["token"].as_str().unwrap_or_else(|| panic!("{done}")).to_owned());
        let again = proxy.ask(from, &register.replace(name, "eve")).await;
        assert_eq!(again["data"]["register"]["userErrors"][0]["code"], "THROTTLED", "{again}");
    }
    let [ada, bob] = &tokens[..] else { unreachable!() };
    follow(&server, ada, "bob");

    let mut socket = Socket::at(&proxy.address()).await.expect("a WebSocket passes");
    let payload = json!({ "Authorization": format!("Bearer {ada}") });
    socket.send(json!({ "type": "connection_init", "payload": payload })).await;
    assert_eq!(socket.receive().await, json!({ "type": "connection_ack" }));
    socket.subscribe("t", TIMELINE, Value::Null).await;
    assert!(socket.is_silent().await);

    let mut stream = BufReader::new(proxy.connect("127.0.0.2").await);
    let authorization = format!("authorization: Bearer {ada}\r\n");
    stream
        .get_mut()
        .write_all(request(TIMELINE, "text/event-stream", &authorization).as_bytes())
        .await
        .unwrap();
    let mut lines = stream.lines();
    let mut line = async |part: &str| {
        let found = async {
            loop {
                let line = lines.next_line().await.unwrap().expect("the stream goes on");
                if line.contains(part) {
                    return line;
                }
            }
        };
        tokio::time::timeout(TIMEOUT, found).await.unwrap_or_else(|_| panic!("no {part} in time"))
    };
    assert!(line("HTTP/1.1").await.contains("200"));
    line("text/event-stream").await;
    // Each event passes at once, not only when a buffer is full.
    for content in ["first", "second"] {
        publish(&server, bob, content);
        line(content).await;
        assert!(socket.receive().await.to_string().contains(content));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_passes_sockets_events_and_addresses() {
    check(Proxy::nginx).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caddy_passes_sockets_events_and_addresses() {
    check(Proxy::caddy).await;
}

#[test]
fn the_unit_is_valid() {
    let has_systemd = Command::new("systemd-analyze").arg("--version").output().is_ok();
    assert!(has_systemd || !Path::new("/etc/debian_version").exists(), "`make setup-tests` installs systemd");
    if !has_systemd {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let unit = include_str!("../../../deploy/fanfold.service");
    let file = directory.path().join("fanfold.service");
    std::fs::write(&file, unit.replace("/usr/bin/fanfold", env!("CARGO_BIN_EXE_fanfold"))).unwrap();
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output().unwrap();
    let findings = String::from_utf8(verified.stderr).unwrap();
    assert!(verified.status.success() && findings.is_empty(), "{findings}");
    // Of 100, in tenths: what an intruder in the service could still do.
    let mut security = Command::new("systemd-analyze");
    let exposed =
        security.args(["security", "--offline=true", "--threshold=20"]).arg(&file).output().unwrap();
    assert!(exposed.status.success(), "{}", String::from_utf8_lossy(&exposed.stdout));
}
