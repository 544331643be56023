//! A TCP proxy before a Redis server. It delays or holds back what the server sends: to its replicas, to its clients, or
//! over connections for which it tracks keys. It can also make a server appear to be of an old version.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What precedes the version in the reply to `INFO`.
const VERSION: &[u8] = b"redis_version:";
/// The command by which a replica begins to replicate, as Redis encodes it.
const BEGIN_TO_REPLICATE: &[u8] = b"$5\r\nPSYNC\r\n";
/// The word by which a client asks the server to track keys, encoded in the same way.
const BEGIN_TO_TRACK: &[u8] = b"$8\r\nTRACKING\r\n";

/// A port that leads to a server. It is served until the process ends; while the server is down, connections are
/// closed.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    delays: Arc<Delays>,
}

/// The delays in force, for the data of all connections that is not delivered yet.
#[derive(Default)]
struct Delays {
    current: Mutex<Current>,
    changed: Condvar,
}

struct Current {
    /// Time after which clients receive what the server has sent.
    clients: Duration,
    /// The same for replicas; `None` if what the server sends them is held back.
    replicas: Option<Duration>,
    /// True if what the server sends over connections for which it tracks keys is held back.
    holds_tracking: bool,
    /// True if the server's `INFO` names an old version.
    is_old: bool,
}

impl Default for Current {
    fn default() -> Self {
        Self { clients: Duration::ZERO, replicas: Some(Duration::ZERO), holds_tracking: false, is_old: false }
    }
}

/// The state of a connection.
#[derive(Default)]
struct Connection {
    /// True if it is that of a replica.
    replicates: AtomicBool,
    /// True if the server tracks keys for it.
    is_tracking: AtomicBool,
    /// True if the server has closed it.
    is_closed: AtomicBool,
}

/// Data from the server, and the time at which it was received.
type Piece = (Instant, Vec<u8>);

impl Proxy {
    /// Starts a proxy before the server at this port of the machine.
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let delays = Arc::<Delays>::default();
        let shared = Arc::clone(&delays);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    forward(&client, &server, &shared);
                }
            }
        });
        Self { port, delays }
    }

    /// Delays all that the server sends to its clients.
    pub(crate) fn delay_replies(&self, delay: Duration) {
        self.delays.change(|current| current.clients = delay);
    }

    /// Delays all that the server sends to its replicas.
    pub(crate) fn delay_replication(&self, delay: Duration) {
        self.delays.change(|current| current.replicas = Some(delay));
    }

    /// Holds back all that the server sends to its replicas until it is released. If the server dies, it is lost.
    pub(crate) fn hold_back_replication(&self) {
        self.delays.change(|current| current.replicas = None);
    }

    /// Holds back all that the server sends over connections for which it tracks keys, or delivers it.
    pub(crate) fn hold_back_tracking(&self, holds: bool) {
        self.delays.change(|current| current.holds_tracking = holds);
    }

    /// Replaces the major version in the server's `INFO` by 5.
    pub(crate) fn announce_old_version(&self) {
        self.delays.change(|current| current.is_old = true);
    }

    /// Delivers what was held back, and from now on everything without delay.
    pub(crate) fn release_replication(&self) {
        self.delay_replication(Duration::ZERO);
    }
}

impl Delays {
    fn change(&self, change: impl FnOnce(&mut Current)) {
        change(&mut self.current.lock().unwrap());
        self.changed.notify_all();
    }

    /// Waits until data is due that was received at this time. Returns false if it must not be delivered: what a
    /// replica has not received when its master dies is lost.
    fn wait(&self, received: Instant, connection: &Connection) -> bool {
        let mut current = self.current.lock().unwrap();
        loop {
            let replicates = connection.replicates.load(Ordering::Relaxed);
            if replicates && connection.is_closed.load(Ordering::Relaxed) {
                return false;
            }
            let is_held = current.holds_tracking && connection.is_tracking.load(Ordering::Relaxed);
            let delay = if replicates { current.replicas } else { (!is_held).then_some(current.clients) };
            current = match delay.map(|delay| delay.saturating_sub(received.elapsed())) {
                Some(Duration::ZERO) => return true,
                Some(left) => self.changed.wait_timeout(current, left).unwrap().0,
                None => self.changed.wait(current).unwrap(),
            };
        }
    }
}

fn forward(client: &TcpStream, server: &TcpStream, delays: &Arc<Delays>) {
    let ends = || {
        [client, server].map(|end| {
            end.set_nodelay(true).unwrap();
            end.try_clone().unwrap()
        })
    };
    let ([to_client, from_server], ends, (sender, pieces)) = (ends(), ends(), mpsc::channel());
    let [one, two, three] = [(); 3].map({
        let connection = Arc::<Connection>::default();
        move |()| (Arc::clone(&connection), Arc::clone(delays))
    });
    thread::spawn(move || forward_requests(ends, &one.0));
    thread::spawn(move || receive(from_server, &sender, &two.0, &two.1));
    thread::spawn(move || deliver(to_client, pieces, &three.0, &three.1));
}

/// Forwards what the client sends, at once.
fn forward_requests([mut client, mut server]: [TcpStream; 2], connection: &Connection) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        let bytes = &bytes[..count];
        for (word, is_begun) in
            [(BEGIN_TO_REPLICATE, &connection.replicates), (BEGIN_TO_TRACK, &connection.is_tracking)]
        {
            if bytes.windows(word.len()).any(|part| part == word) {
                is_begun.store(true, Ordering::Relaxed);
            }
        }
        if server.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// Receives what the server sends, however long it takes to deliver it.
fn receive(mut server: TcpStream, pieces: &Sender<Piece>, connection: &Connection, delays: &Delays) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = server.read(&mut bytes) {
        #[allow(clippy::disallowed_methods, reason = "processes take real time")]
        let received = Instant::now();
        if pieces.send((received, bytes[..count].to_vec())).is_err() {
            break;
        }
    }
    delays.change(|_| connection.is_closed.store(true, Ordering::Relaxed));
}

/// Delivers what the server has sent, each piece when it is due.
fn deliver(mut client: TcpStream, pieces: Receiver<Piece>, connection: &Connection, delays: &Delays) {
    for (received, mut piece) in pieces {
        if delays.current.lock().unwrap().is_old {
            make_old(&mut piece);
        }
        if !delays.wait(received, connection) || client.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// Replaces the major version in a reply to `INFO`. The reply keeps its length, which precedes it.
fn make_old(piece: &mut [u8]) {
    let found = piece.windows(VERSION.len()).position(|part| part == VERSION);
    if let Some(major) = found.and_then(|at| piece.get_mut(at + VERSION.len())) {
        *major = b'5';
    }
}
