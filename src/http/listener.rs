//! Sockets that the server listens on: TCP ports and Unix sockets.
//!
//! A process that was killed leaves its Unix socket behind. The next process replaces such a socket, but neither a
//! socket on which another process listens, nor any other file.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::either::Either;

use crate::config::ListenAddress;

/// Mode of Unix sockets: the user and the group may connect.
const MODE: u32 = 0o660;

/// A connection that a listener has accepted.
pub(super) type Stream = Either<TcpStream, UnixStream>;

/// A socket that the server listens on. Dropping it removes a Unix socket's file.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Starts to listen at an address.
    ///
    /// # Errors
    /// If the address is in use or not allowed, or if another file has the path of a Unix socket.
    pub async fn bind(address: &ListenAddress) -> Result<Self> {
        match address {
            ListenAddress::Tcp(address) => TcpListener::bind(address).await.map(Kind::Tcp),
            ListenAddress::Unix(path) => {
                bind_unix(path).await.map(|(listener, file)| Kind::Unix(listener, file))
            }
        }
        .map(Self)
    }

    /// Returns the address, with the port that was chosen.
    pub fn address(&self) -> Result<ListenAddress> {
        match &self.0 {
            Kind::Tcp(listener) => listener.local_addr().map(ListenAddress::Tcp),
            Kind::Unix(_, file) => Ok(ListenAddress::Unix(file.path.clone())),
        }
    }

    /// Waits for a connection, and retries failed accepts. Returns the peer's address as well; `None` on a Unix socket.
    pub(super) async fn accept(&mut self) -> (Stream, Option<SocketAddr>) {
        match &mut self.0 {
            Kind::Tcp(listener) => {
                let (stream, peer) = axum::serve::Listener::accept(listener).await;
                // Disables Nagle's algorithm, so that the kernel sends responses at once.
                drop(stream.set_nodelay(true));
                (Either::Left(stream), Some(peer))
            }
            Kind::Unix(listener, _) => {
                let (stream, _peer) = axum::serve::Listener::accept(listener).await;
                (Either::Right(stream), None)
            }
        }
    }
}

/// The file of a Unix socket. Dropping it removes the file, unless another process has replaced it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    fn at(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), identity: identity(&fs::symlink_metadata(path)?) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity) {
            // On failure, the next process finds a socket on which no process listens.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

async fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile)> {
    let _locked = lock_directory(path);
    remove_stale(path).await?;
    let listener = UnixListener::bind(path)?;
    let file = SocketFile::at(path)?;
    fs::set_permissions(path, Permissions::from_mode(MODE))?;
    Ok((listener, file))
}

/// Locks the directory of a socket until the result is dropped. Without the lock, two processes that start at the same
/// time could each take the other's socket for one that a killed process left. Does not lock a directory that this
/// process cannot read.
fn lock_directory(path: &Path) -> Option<File> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = File::open(parent.unwrap_or(Path::new("."))).ok()?;
    flock(&directory, FlockOperation::LockExclusive).ok().map(|()| directory)
}

/// Removes a socket on which no process listens. Fails for a socket in use and for any other file.
async fn remove_stale(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {}
        Ok(_) => return Err(Error::new(ErrorKind::AlreadyExists, "the file there is not a socket")),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        // A connection that would have to wait has a listener.
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Err(Error::new(ErrorKind::AddrInUse, "another process listens there")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_removed_unless_another_process_has_replaced_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("http.sock");
        let bind = async || Listener::bind(&ListenAddress::Unix(path.clone())).await;
        let first = bind().await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, MODE);
        assert_eq!(bind().await.unwrap_err().kind(), ErrorKind::AddrInUse);
        fs::remove_file(&path).unwrap();
        let second = bind().await.unwrap();
        drop(first);
        assert!(path.exists(), "it belongs to the second listener");
        drop(second);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn only_a_socket_without_a_listener_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("http.sock");
        let bind = async || Listener::bind(&ListenAddress::Unix(path.clone())).await;
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "the standard library leaves the file");
        drop(bind().await.unwrap());
        fs::write(&path, "mine").unwrap();
        assert_eq!(bind().await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
