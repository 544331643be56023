//! The command `fanfold user export`.
//!
//! Not here: the records of an export (`app::account::export`), and their format (`graphql::export`).

use std::error::Error;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::app::App;
use crate::cli::named::Named;
use crate::cli::{Data, Outcome, plain, say};
use crate::config::DataConfig;
use crate::graphql::export::{self, FileEnd};
use crate::model::account::Account;

/// The mode of the file: only its owner can read it.
const MODE: u32 = 0o600;
/// Maximum length of a line, in bytes. The longest is that of a post.
const LONGEST_LINE: u64 = 65_536;

/// Exports the data of a user as JSON Lines, like the download that the user can request.
///
/// The command also exports the data of suspended users. If FILE is an export of the user that was interrupted, the
/// command continues it.
#[derive(Args, Debug)]
pub(super) struct Export {
    /// The username or number of the user.
    #[arg(value_name = "USER")]
    user: Named,

    /// File to write, which only you can read [default: standard output].
    #[arg(long, value_name = "FILE", env = "FANFOLD_EXPORT_OUTPUT")]
    output: Option<PathBuf>,

    /// Replace the file if it exists.
    #[arg(long, env = "FANFOLD_EXPORT_FORCE")]
    force: bool,

    #[command(flatten)]
    data: DataConfig,
}

impl Export {
    pub(super) async fn run(self) -> Outcome {
        let Self { user, output, force, data } = self;
        Data::work(data, async |app| {
            let account = user.find(app).await?.account;
            match output {
                Some(path) => export_to(app, &account, &path, force).await,
                None => print(app, &account).await,
            }
        })
        .await
    }
}

/// Prints an export on standard output.
async fn print(app: &App, account: &Account) -> Outcome {
    let mut export = export::Export::of_operator(app, account, None).await.map_err(plain)?;
    while !export.is_complete() {
        let (lines, _) = export.next_page().await.map_err(plain)?;
        let mut output = io::stdout().lock();
        output.write_all(lines.as_bytes())?;
        output.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes an export to a file, or continues the export in it.
async fn export_to(app: &App, account: &Account, path: &Path, force: bool) -> Outcome {
    let (mut file, after) = open(path, force, account)?;
    let mut export = export::Export::of_operator(app, account, after.as_deref()).await.map_err(plain)?;
    while !export.is_complete() {
        let (lines, _) = export.next_page().await.map_err(plain)?;
        file.write_all(lines.as_bytes()).map_err(|error| unusable(path, &error))?;
    }
    file.sync_all().map_err(|error| unusable(path, &error))?;
    say(&format!("exported {} (#{}) to {}", account.username, account.user, path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn unusable(path: &Path, error: &io::Error) -> Box<dyn Error + Send + Sync> {
    format!("cannot write {}: {error}", path.display()).into()
}

/// Opens the file at the end of its last complete line. Returns the cursor of that line; `None` if the file has no
/// lines.
fn open(
    path: &Path,
    force: bool,
    account: &Account,
) -> Result<(File, Option<String>), Box<dyn Error + Send + Sync>> {
    let unusable = |error: io::Error| unusable(path, &error);
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(MODE);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => return Ok((created.map_err(unusable)?, None)),
    }
    let mut file = options.open(path).map_err(unusable)?;
    if force {
        file.set_len(0).map_err(unusable)?;
    }
    let end = find_end(&mut file, path, account)?;
    let (length, after) = end.map_or((0, None), |(length, cursor)| (length, Some(cursor)));
    let prepare = |file: &mut File| {
        file.set_permissions(Permissions::from_mode(MODE))?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))
    };
    prepare(&mut file).map_err(unusable)?;
    Ok((file, after))
}

/// Returns the length of the complete lines of an interrupted export, and the cursor of the last one; `None` if the
/// file is empty. Fails if the file is anything else.
fn find_end(
    file: &mut File,
    path: &Path,
    account: &Account,
) -> Result<Option<(u64, String)>, Box<dyn Error + Send + Sync>> {
    let unreadable = |error: io::Error| format!("cannot read {}: {error}", path.display());
    let length = file.metadata().map_err(unreadable)?.len();
    if length == 0 {
        return Ok(None);
    }
    let (name, path) = (&account.username, path.display());
    let foreign = || format!("{path} exists, and is not an export of {name}; pass --force to replace it");
    let mut first = Vec::new();
    BufReader::new(&mut *file).take(LONGEST_LINE).read_until(b'\n', &mut first).map_err(unreadable)?;
    if std::str::from_utf8(&first).ok().and_then(export::owner_of) != Some(account.user) {
        return Err(foreign().into());
    }
    // The last complete line, and the incomplete one after it.
    let start = length.saturating_sub(2 * LONGEST_LINE);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    file.read_to_end(&mut tail).map_err(unreadable)?;
    let complete = tail.iter().rposition(|byte| *byte == b'\n').ok_or_else(foreign)?;
    let last = tail[..complete].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    match std::str::from_utf8(last).ok().and_then(export::end_of) {
        Some(FileEnd::Cut { cursor }) => Ok(Some((start + complete as u64 + 1, cursor))),
        Some(FileEnd::Complete) => {
            Err(format!("{path} is a complete export of {name}; pass --force to replace it").into())
        }
        None => Err(foreign().into()),
    }
}
