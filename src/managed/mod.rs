//! Starts, supervises and stops a managed Redis: a `redis-server` (or `valkey-server`) on a Unix socket in
//! the data directory. For evaluation and small deployments.
//!
//! Not here: the data directory, its locks and its process (`managed::directory`).

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

/// A running managed Redis.
pub struct Managed {
    url: SecretUrl,
    role: Role,
}

/// This process's role.
enum Role {
    /// This process runs the Redis.
    Keeper(Watch),
    /// This process uses another process's Redis, which stays running while this lock is held.
    Guest(File),
}

struct Watch {
    /// Lock held while this process runs the Redis.
    _lock: File,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Managed {
    /// Starts a Redis in this directory, or takes over a Redis left behind. Fails if another Fanfold process
    /// uses the directory.
    pub async fn start(data_dir: &Path) -> Result<Self, Error> {
        let directory = DataDirectory::prepare(data_dir)?;
        match directory.lock()? {
            Some(lock) => Self::keep(directory, lock).await,
            None => Err(directory.in_use()),
        }
    }

    /// Like [`Managed::start`], but if another Fanfold process uses the directory, joins its Redis. For
    /// commands that run beside a server.
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

    /// Returns the URL of the Redis socket.
    #[must_use]
    pub fn url(&self) -> &SecretUrl {
        &self.url
    }

    /// Stops the Redis, if this process runs it, once its data is on disk. First gives other commands that
    /// use the Redis up to 15 seconds to finish.
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

/// Keeps a Redis running until `stopped` fires, then shuts it down.
async fn watch(directory: DataDirectory, mut child: Option<Child>, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => return directory.shut_down(child).await,
            () = directory.wait_until_gone(&mut child) => {}
        }
        tracing::error!("the Redis in {} has stopped; restarting it", directory.path.display());
        sleep(LOOK).await;
        match directory.spawn() {
            Ok(started) => child = Some(started),
            Err(error) => tracing::error!(error = %error, "Redis could not be restarted"),
        }
    }
}
