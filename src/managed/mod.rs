//! Starts, supervises and stops a managed Redis server: a `redis-server` or `valkey-server` process that
//! listens on a Unix socket in the data directory. For evaluation and small deployments.
//!
//! Not here: the data directory, its locks and the server process (`managed::directory`).

mod directory;
pub mod error;

use std::fs::File;
use std::path::Path;

use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::config::SecretUrl;
use crate::managed::directory::{DataDirectory, LOOK};
use crate::managed::error::Error;

/// A running managed Redis server.
pub struct Managed {
    url: SecretUrl,
    role: Role,
}

/// This process's role in running the Redis server.
enum Role {
    /// This process runs the Redis server.
    Keeper(Watch),
    /// This process uses another process's Redis server. Holding this lock delays the server's shutdown.
    Guest(File),
}

struct Watch {
    /// Lock held while this process runs the Redis server.
    _lock: File,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Managed {
    /// Starts a Redis server in this directory, or takes over a server left running there. Fails if another
    /// Fanfold process uses the directory.
    pub async fn start(data_dir: &Path) -> Result<Self, Error> {
        let directory = DataDirectory::prepare(data_dir)?;
        match directory.lock()? {
            Some(lock) => Self::keep(directory, lock).await,
            None => Err(directory.in_use()),
        }
    }

    /// Like [`Managed::start`], but uses the other process's Redis server if another Fanfold process uses the
    /// directory. For commands that run alongside a Fanfold server.
    pub async fn join(data_dir: &Path) -> Result<Self, Error> {
        let directory = DataDirectory::prepare(data_dir)?;
        if let Some(lock) = directory.lock()? {
            return Self::keep(directory, lock).await;
        }
        let guest = directory.guest_lock()?;
        if directory.wait_until_reached().await {
            return Ok(Self { url: directory.url(), role: Role::Guest(guest) });
        }
        Err(directory.in_use())
    }

    /// Returns the URL of the Redis server's socket.
    #[must_use]
    pub fn url(&self) -> &SecretUrl {
        &self.url
    }

    /// Stops the Redis server, if this process runs it, once the data is on disk. First gives other commands
    /// that use the server up to 15 seconds to finish.
    pub async fn stop(self) {
        match self.role {
            Role::Keeper(watch) => {
                // Sending fails only if the watcher has panicked; then there is nothing to stop.
                let _ = watch.stop.send(());
                let _ = watch.task.await;
            }
            Role::Guest(lock) => drop(lock),
        }
    }

    async fn keep(directory: DataDirectory, lock: File) -> Result<Self, Error> {
        let child = directory.start().await?;
        let url = directory.url();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(watch(directory, child, stopped));
        Ok(Self { url, role: Role::Keeper(Watch { _lock: lock, stop, task }) })
    }
}

/// Keeps a Redis server running until `stopped` fires, then shuts it down.
async fn watch(directory: DataDirectory, mut child: Option<Child>, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => return directory.shut_down(child).await,
            () = directory.wait_until_gone(&mut child) => {}
        }
        tracing::error!("the Redis server in {} has stopped; restarting it", directory.path.display());
        sleep(LOOK).await;
        match directory.spawn() {
            Ok(started) => child = Some(started),
            Err(error) => tracing::error!(error = %error, "Redis could not be restarted"),
        }
    }
}
