//! Permissions of the data: other users of the machine can read nothing, and deleted posts are not left in files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::server::{Server, command};
use crate::harness::world::{World, archive_all};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Returns the paths below a directory, and its own, whose mode lets others in.
fn open_to_others(path: &Path) -> Vec<String> {
    let mut open = Vec::new();
    if mode(path) & 0o077 != 0 {
        open.push(format!("{} {:o}", path.display(), mode(path)));
    }
    if path.is_dir() {
        open.extend(fs::read_dir(path).unwrap().flat_map(|entry| open_to_others(&entry.unwrap().path())));
    }
    open
}

/// Runs a server on this directory that writes to Redis and to the archive; returns its log.
fn log_of_server(directory: &Path, name: &str, inspect: impl FnOnce()) -> String {
    let log = tempfile::NamedTempFile::new().unwrap();
    let arguments = ["serve", "--http-listen", "127.0.0.1:0", "--data-dir", directory.to_str().unwrap()];
    let arguments = [&arguments[..], &["--post-hot-limit", "1", "--timeline-capacity", "1"]].concat();
    let server = Server::run_logging(&mut command(&arguments), Stdio::from(log.reopen().unwrap()));
    let token = server.token(name);
    for number in 0..5 {
        let publish =
            format!("mutation {{ publish(input: {{ content: \"{number}\" }}) {{ post {{ id }} }} }}");
        assert_eq!(server.ask_as(&token, &publish)["errors"], Value::Null);
    }
    inspect();
    assert_eq!(server.stop(), Some(0));
    fs::read_to_string(log.path()).unwrap()
}

#[test]
fn others_can_read_no_file_and_enter_no_directory() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    log_of_server(&directory, "ada", || {
        for file in ["archive.db", "archive.db-wal", "fanfold.lock", "redis/redis.sock", "redis/redis.log"] {
            assert!(directory.join(file).exists(), "{file}");
        }
        assert_eq!(open_to_others(&directory), Vec::<String>::new());
    });
    assert_eq!(open_to_others(&directory), Vec::<String>::new());
}

#[test]
fn files_left_open_by_an_earlier_version_are_closed_and_files_shared_by_an_operator_stay_shared() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    let archive = directory.join("archive.db");
    log_of_server(&directory, "ann0", || {});
    set_mode(&directory, 0o755);
    set_mode(&archive, 0o644);
    let log = log_of_server(&directory, "ann1", || {});
    assert_eq!((mode(&directory), mode(&archive)), (0o700, 0o600));
    assert_eq!(log.matches("could be read by others").count(), 2, "{log}");

    // A group that the operator has chosen.
    set_mode(&directory, 0o750);
    set_mode(&archive, 0o640);
    let log = log_of_server(&directory, "ann2", || {});
    assert_eq!((mode(&directory), mode(&archive)), (0o750, 0o640));
    assert!(!log.contains("others"), "{log}");

    // A directory with other files in it is not ours alone.
    fs::write(directory.join("notes"), "").unwrap();
    set_mode(&directory, 0o755);
    let log = log_of_server(&directory, "ann3", || {});
    assert_eq!(mode(&directory), 0o755);
    assert!(log.contains("others can enter"), "{log}");
}

#[tokio::test]
async fn deleted_posts_are_not_left_in_the_file_of_the_archive() {
    let world = World::with(&["--post-hot-limit", "1"]).await;
    let ada = world.register("ada").await;
    let marker = "Never let this be read again. ".repeat(60);
    let publish = "mutation ($content: String!) { publish(input: { content: $content }) { post { id } } }";
    let mut ids = Vec::new();
    for number in 0..20 {
        let content = if number % 2 == 0 { marker.as_str() } else { "This may stay." };
        let made = world.data(Some(&ada.token), publish, json!({ "content": content })).await;
        ids.push(made["publish"]["post"]["id"].clone());
    }
    archive_all(&world.app).await;
    for id in ids.iter().step_by(2) {
        let delete = "mutation ($id: ID!) { deletePost(input: { postId: $id }) { deletedPostId } }";
        world.data(Some(&ada.token), delete, json!({ "id": id })).await;
    }
    archive_all(&world.app).await;
    world.app.close_archive().await;
    let bytes = fs::read(Path::new(world.redis.directory()).join("archive.db")).unwrap();
    let count = |text: &str| bytes.windows(text.len()).filter(|window| *window == text.as_bytes()).count();
    assert_eq!((count("This may stay.") > 0, count("Never let this be read again.")), (true, 0));
}
