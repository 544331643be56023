//! The examples for clients whose behaviour shows only at a server, run as they stand.

use std::process::Command;

use crate::harness::document::texts;
use crate::harness::program::stdout_of;
use crate::harness::server::Server;
use crate::harness::world::Redis;

const CLIENTS: &str = include_str!("../../../docs/clients.md");

/// Runs the code of an example with the packages of the browser tests.
fn run(code: &str, arguments: &[&str]) -> String {
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", code, "--"]).args(arguments);
    stdout_of(node.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm")))
}

/// Returns the code of the page that contains this.
fn example(part: &str) -> String {
    let found: Vec<String> = texts(CLIENTS, "js").into_iter().filter(|code| code.contains(part)).collect();
    assert_eq!(found.len(), 1, "{part}");
    found.concat()
}

/// What surrounds the example of live updates: it cuts the connection after the first post, publishes another before the
/// client has connected again, and a last one later.
const LIVE: &str = r#"
import Socket from "ws";
const [url, token, publisher] = process.argv.slice(2);
let socket, isCut = false;
globalThis.WebSocket = class extends Socket {
  constructor(...parameters) {
    super(...parameters);
    socket = this;
  }
};
async function publish(content) {
  const query = "mutation ($content: String!) { publish(input: { content: $content }) { post { id } } }";
  const body = JSON.stringify({ query, variables: { content } });
  const headers = { "content-type": "application/json", authorization: `Bearer ${publisher}` };
  const { errors } = await (await fetch(url, { method: "POST", headers, body })).json();
  if (errors) throw new Error(JSON.stringify(errors));
}
const first = setInterval(() => publish("first"), 200);
async function received({ edge: { node: { content } } }) {
  if (content !== "first") console.log(content);
  if (content === "last") process.exit();
  if (isCut) return;
  isCut = true;
  clearInterval(first);
  socket.terminate();
  await publish("in the gap");
  setTimeout(() => publish("last"), 8_000);
}
"#;

#[test]
fn the_example_of_live_updates_misses_nothing_while_its_connection_is_cut() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let [ada, ben] = ["ada", "ben"].map(|name| server.token(name));
    let id = server.ask_as(&ben, "{ viewer { user { id } } }")["data"]["viewer"]["user"]["id"].take();
    let follow = format!("mutation {{ follow(input: {{ userId: {id} }}) {{ userErrors {{ code }} }} }}");
    assert!(server.ask_as(&ada, &follow).get("errors").is_none());

    let seen = "after = data.timeline.cursor;";
    let code = example(seen).replace("ws://127.0.0.1:8080/graphql", &server.url().replace("http", "ws"));
    let code = code.replace(seen, &format!("{seen} await received(data.timeline);"));
    let stdout = run(&format!("{LIVE}{code}"), &["live", &server.url(), &ada, &ben]);
    assert_eq!(stdout, "in the gap\nlast\n");
}
