//! Clients in a process of their own, and their effect on a server: on its memory, and on the latency of others.

use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::app::session::Opened;
use futures::stream::{self, StreamExt as _};
use tokio::time::sleep;

use crate::connection::request;
use crate::requests::send_at_rate;
use crate::server::Server;
use crate::times::Times;

/// Other clients' queries per second.
const QUERIES: u32 = 100;

/// Clients in a process of their own, so that they share only the server.
pub(crate) struct Attack(Child);

impl Attack {
    /// Starts this bench once more, with these arguments. It takes processor time only when no other process needs it:
    /// real clients run on other machines.
    pub(crate) fn begin(arguments: &[&str]) -> Self {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(std::env::current_exe().unwrap()).args(arguments);
        Self(command.spawn().unwrap())
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Registers `count` users, and returns their sessions.
pub(crate) async fn register(app: &App, prefix: &str, count: usize) -> Vec<Opened> {
    let register = async |number: usize| {
        app.register(&format!("{prefix}{number}"), "correct horse", None, None, None, None).await.unwrap()
    };
    stream::iter(0..count).map(register).buffered(4).collect().await
}

/// Prints the memory of a server before an attack, and the most that it takes more within a time.
pub(crate) async fn print_memory(server: &Server, clients: usize, time: Duration, attack: Attack) {
    let (before, began, mut most) = (memory(server), Instant::now(), 0);
    while began.elapsed() < time {
        most = most.max(memory(server));
        sleep(Duration::from_millis(50)).await;
    }
    drop(attack);
    println!("{clients:<54} {:>9} {:>9}", before >> 20, most.saturating_sub(before) >> 20);
    sleep(Duration::from_secs(2)).await;
}

/// Returns the bytes of a server's resident memory.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Prints the latency of another client's queries, alone and during an attack, in turns.
pub(crate) async fn print_latency(
    server: &Server,
    app: &App,
    (rounds, time): (u32, Duration),
    clients: usize,
    attack: impl Fn() -> Attack,
) {
    let victim = register(app, "victim", 1).await.remove(0);
    for fan in register(app, "fan", 40).await {
        app.follow(&fan.viewer, victim.viewer.user().unwrap()).await.unwrap();
    }
    let query = "{ viewer { user { followers(first: 20) { nodes { displayName relation { status } } } } } }";
    let authorization = format!("authorization: Bearer {}\r\n", victim.token.expose());
    let requests = Arc::new(vec![request(query, &authorization)]);
    let mut times = [Times::default(), Times::default()];
    for _ in 0..rounds {
        for (is_attacked, times) in [false, true].into_iter().zip(&mut times) {
            let attack = is_attacked.then(&attack);
            sleep(Duration::from_secs(1)).await;
            times.0.extend(send_at_rate(&server.address, QUERIES, time, Arc::clone(&requests)).await);
            drop(attack);
            sleep(Duration::from_secs(1)).await;
        }
    }
    println!("{:<54} {:>9} {:>9} {:>9}", "milliseconds of another client's query", "median", "90 %", "most");
    times[0].print("alone");
    times[1].print(&format!("beside {clients} such clients"));
    let [alone, beside] = times.map(|times| times.quantile(99));
    println!("99 %: {alone:.2} and {beside:.2}, ratio {:.2}", beside / alone);
}
