//! A proxy between a master and its replicas and clients, which holds back what the master sends to the replicas.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The command with which a replica begins to follow a master.
const FOLLOWS: &[u8] = b"PSYNC";

/// A proxy that listens on a port of its own, until the process ends.
pub(crate) struct Proxy {
    /// Delay of what the master sends to replicas, in milliseconds.
    delay: Arc<AtomicU64>,
}

impl Proxy {
    /// Starts a proxy on `port` to the master on another port.
    pub(crate) fn start(port: u16, master: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let delay = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&delay);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", master)) {
                    connect(client, server, &shared);
                }
            }
        });
        Self { delay }
    }

    /// Delays what the master sends to its replicas from now on.
    pub(crate) fn hold_back(&self, delay: Duration) {
        self.delay.store(delay.as_millis() as u64, Ordering::Relaxed);
    }
}

/// Passes on what a client and the master send to each other.
fn connect(client: TcpStream, server: TcpStream, delay: &Arc<AtomicU64>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let is_replica = Arc::new(AtomicBool::new(false));
    let (from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let follows = Arc::clone(&is_replica);
    std::thread::spawn(move || {
        read(&from, |bytes| {
            if bytes.windows(FOLLOWS.len()).any(|window| window == FOLLOWS) {
                follows.store(true, Ordering::Relaxed);
            }
            to.write_all(bytes).is_ok()
        });
        let _ = to.shutdown(Shutdown::Both);
    });
    let (sender, receiver) = channel::<(Instant, Vec<u8>)>();
    let delay = Arc::clone(delay);
    std::thread::spawn(move || {
        read(&server, |bytes| {
            let delay = if is_replica.load(Ordering::Relaxed) { delay.load(Ordering::Relaxed) } else { 0 };
            #[allow(clippy::disallowed_methods, reason = "processes take real time")]
            let due = Instant::now() + Duration::from_millis(delay);
            sender.send((due, bytes.to_vec())).is_ok()
        });
    });
    std::thread::spawn(move || {
        let mut client = client;
        for (due, bytes) in receiver {
            #[allow(clippy::disallowed_methods, reason = "processes take real time")]
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if client.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
    });
}

/// Reads until the stream ends, or until `pass` returns false.
fn read(mut stream: &TcpStream, mut pass: impl FnMut(&[u8]) -> bool) {
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        if !pass(&bytes[..count]) {
            return;
        }
    }
}
