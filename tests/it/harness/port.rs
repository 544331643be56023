//! Ports for programs that cannot choose a free one themselves and report it.
//!
//! They are below those that the system gives to outgoing connections and to programs that listen on port 0. Each test
//! process has blocks of its own, so that no two tests get the same port, even if they run in several processes.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::ops::Range;
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, PoisonError};

use crate::harness::wait::eventually;

/// The first port of the first block, the number of ports of a block, and the number of blocks.
const FIRST: u16 = 11_000;
const BLOCK: u16 = 100;
const BLOCKS: u16 = 100;
/// Distance from the port of a node of a Redis Cluster to that of its bus, in versions that do not let it be chosen. The
/// port at this distance from a free one is free as well.
const BUS: u16 = 10_000;
/// Number of times that a program is started on other ports, if it finds its own in use.
const TRIES: usize = 20;

/// The blocks of this process.
struct Blocks {
    /// Sockets that are open as long as the process. No other test process can open the same.
    claims: Vec<UdpSocket>,
    /// The ports of the last block that are left.
    left: Range<u16>,
}

impl Blocks {
    /// Returns consecutive ports; `None` if one of them is in use.
    fn next<const N: usize>(&mut self) -> Option<[u16; N]> {
        let wanted = u16::try_from(N).unwrap();
        if self.left.len() < N {
            self.left = self.claim();
        }
        let first = self.left.start;
        self.left.start += wanted;
        let ports: Vec<u16> = (first..first + wanted).collect();
        ports.iter().all(|port| is_free(*port) && is_free(port + BUS)).then(|| ports.try_into().unwrap())
    }

    /// Claims a block that no other test process has.
    fn claim(&mut self) -> Range<u16> {
        let start = u16::try_from(std::process::id() % u32::from(BLOCKS)).unwrap();
        let blocks = (0..BLOCKS).map(|number| FIRST + BLOCK * ((start + number) % BLOCKS));
        let claim = |first| Some((UdpSocket::bind((Ipv4Addr::LOCALHOST, first)).ok()?, first));
        let (socket, first) = { blocks }.find_map(claim).expect("a block of ports is free");
        self.claims.push(socket);
        first..first + BLOCK
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Returns consecutive ports that no process listens on, and that no other test gets.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks { claims: Vec::new(), left: 0..0 });
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(ports) = blocks.next() {
            return ports;
        }
    }
}

/// Starts a program on free ports. Programs other than tests may take a port at any time: `start` returns `None` if the
/// program says that an address is in use, and is then called with other ports.
pub(crate) fn on_free_ports<const N: usize, T>(mut start: impl FnMut([u16; N]) -> Option<T>) -> T {
    (0..TRIES).find_map(|_| start(free_ports())).expect("a program finds its ports free")
}

/// Waits until a program accepts connections. Returns false if it has ended because an address was in use, according to
/// its log.
pub(crate) fn accepts_connections(process: &mut Child, log: &Path, is_ready: impl Fn() -> bool) -> bool {
    let mut has_ended = false;
    let is_ready = eventually(|| {
        has_ended = process.try_wait().unwrap().is_some();
        has_ended || is_ready()
    });
    if is_ready && !has_ended {
        return true;
    }
    let log = fs::read_to_string(log).unwrap();
    assert!(has_ended, "a program does not accept connections: {log}");
    assert!(is_about_address_in_use(&log), "a program has ended: {log}");
    false
}

/// Returns true if a program has logged that an address is in use.
pub(crate) fn is_about_address_in_use(log: &str) -> bool {
    log.to_lowercase().contains("address already in use")
}
