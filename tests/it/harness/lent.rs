//! The servers and clusters that the tests share in turns: each test has one to itself, and returns it empty.

use std::collections::VecDeque;
use std::io::Write as _;
use std::ops::Deref;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

use redis::Value;
use tempfile::TempDir;

use crate::harness::case::test;
use crate::harness::cluster::Cluster;
use crate::harness::instance::{Instance, directory_in_memory};
use crate::harness::reach::{On, note_scripts, note_time};

/// What can be lent. Each kind has its own queue of those that no test uses.
pub(crate) trait Shared: Sized + 'static {
    const ON: On;

    /// Starts one.
    fn launch() -> Self;

    /// Returns its servers.
    fn servers(&self) -> Vec<&Instance>;

    /// Closes the way by which the last test came, so that nothing that it has left can come after it.
    fn move_away(&mut self);

    /// Returns those that no test uses, the one that has rested longest first.
    fn free() -> &'static Mutex<VecDeque<Rested<Self>>>;
}

/// A Redis that no test uses, and the settings that it began with.
pub(crate) struct Rested<T> {
    shared: T,
    settings: Vec<Value>,
}

impl Shared for Instance {
    const ON: On = On::Single;

    fn launch() -> Self {
        Self::start(&[])
    }

    fn servers(&self) -> Vec<&Instance> {
        vec![self]
    }

    fn move_away(&mut self) {
        self.rename_socket();
    }

    fn free() -> &'static Mutex<VecDeque<Rested<Self>>> {
        static FREE: Mutex<VecDeque<Rested<Instance>>> = Mutex::new(VecDeque::new());
        &FREE
    }
}

impl Shared for Cluster {
    const ON: On = On::Cluster;

    fn launch() -> Self {
        Self::start(3, 0)
    }

    fn servers(&self) -> Vec<&Instance> {
        self.nodes.iter().map(|node| &node.redis).collect()
    }

    /// Its addresses stay: they are known to its nodes.
    fn move_away(&mut self) {}

    fn free() -> &'static Mutex<VecDeque<Rested<Self>>> {
        static FREE: Mutex<VecDeque<Rested<Cluster>>> = Mutex::new(VecDeque::new());
        &FREE
    }
}

/// An empty Redis for one test, which returns it.
pub(crate) struct Lent<T: Shared> {
    /// Present until it is returned.
    rested: Option<Rested<T>>,
    directory: TempDir,
    test: String,
    began: Instant,
}

impl<T: Shared> Lent<T> {
    #[allow(clippy::disallowed_methods, reason = "a record has the time that a test takes")]
    pub(crate) fn take() -> Self {
        let free = T::free().lock().unwrap().pop_front();
        let rested = free.unwrap_or_else(|| {
            let shared = T::launch();
            shared.servers().into_iter().for_each(keep);
            let settings = settings(&shared).expect("a new server answers");
            Rested { shared, settings }
        });
        Self { rested: Some(rested), directory: directory_in_memory(), test: test(), began: Instant::now() }
    }

    /// Returns the directory for the files of the test.
    pub(crate) fn directory(&self) -> &str {
        self.directory.path().to_str().unwrap()
    }
}

impl<T: Shared> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.rested.as_ref().expect("it is not returned yet").shared
    }
}

impl<T: Shared> Drop for Lent<T> {
    fn drop(&mut self) {
        // A test that fails may have left it in any state.
        let rested = self.rested.take().filter(|_| !std::thread::panicking());
        if let Some(rested) = &rested {
            note_scripts(&self.test, T::ON, &rested.shared.servers());
            note_time(&self.test, T::ON, self.began.elapsed());
        }
        if let Some(rested) = rested.and_then(emptied) {
            T::free().lock().unwrap().push_back(rested);
        }
    }
}

/// Removes all that a test has left. Returns nothing, and so ends the servers, if the test has changed their settings or
/// stopped them.
fn emptied<T: Shared>(mut rested: Rested<T>) -> Option<Rested<T>> {
    rested.shared.move_away();
    for server in rested.shared.servers() {
        for words in [
            &["CLIENT", "KILL", "TYPE", "normal"][..],
            &["CLIENT", "KILL", "TYPE", "pubsub"],
            &["FLUSHALL"],
            &["SCRIPT", "FLUSH"],
            &["SLOWLOG", "RESET"],
            &["CONFIG", "RESETSTAT"],
        ] {
            server.try_raw::<Value>(words).ok()?;
        }
    }
    (settings(&rested.shared)? == rested.settings).then_some(rested)
}

/// Returns the settings and the users of all servers, unless one of them rejects the question.
fn settings<T: Shared>(shared: &T) -> Option<Vec<Value>> {
    let questions = [&["CONFIG", "GET", "*"][..], &["ACL", "LIST"]];
    let servers = shared.servers().into_iter();
    servers.flat_map(|server| questions.map(|question| server.try_raw(question).ok())).collect()
}

/// Ends the server with this process: one that no test uses is not dropped then.
fn keep(server: &Instance) {
    static KEEPER: LazyLock<Mutex<Child>> = LazyLock::new(|| Mutex::new(start_keeper()));
    let (pid, directory) = (server.pid(), server.directory());
    writeln!(KEEPER.lock().unwrap().stdin.as_mut().unwrap(), "{pid}:{directory}").unwrap();
}

/// Starts a shell that reads the servers, and when this process has ended, ends them and removes their directories.
fn start_keeper() -> Child {
    let script = "trap '' INT TERM HUP
        while read -r server; do servers=\"$servers $server\"; done
        for server in $servers; do
            directory=${server#*:}
            [ -d \"$directory\" ] && kill -9 \"${server%%:*}\" && rm -rf \"$directory\"
        done";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.spawn().unwrap()
}
