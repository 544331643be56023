//! `fanfold user`: accounts, as the operator sees and changes them.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::export::Export;
use crate::cli::moderation::{ListOutput, Note, PAGE, Target, change, print_json};
use crate::cli::named::Named;
use crate::cli::print::print_time;
use crate::cli::{Data, Outcome, plain, say};
use crate::config::DataConfig;
use crate::model::moderation::{AccountDetails, AccountStatus, ActionNote};
use crate::model::moderator::Moderator;
use crate::model::page::{Direction, Window};

/// Lists and finds users, suspends and deletes them, ends their sessions, sets their passwords or issues recovery
/// codes, and exports their data.
///
/// The commands may run alongside a server. A user is given by their username or their number, such as 7 or #7.
#[derive(Args, Debug)]
pub(super) struct User {
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    List(List),
    Show(Show),
    /// Suspends a user: no one sees the user and their posts, and all their sessions end.
    Suspend(Change),
    /// Ends the suspension of a user.
    Unsuspend(Change),
    /// Deletes a user: suspends them at once, and erases the account after the grace period, permanently.
    ///
    /// The servers erase accounts, at the earliest after a minute. Until that begins, `fanfold user cancel-deletion`
    /// cancels it.
    Delete(Change),
    /// Cancels the deletion of a user, by a moderator or by the user. A suspended user stays suspended.
    CancelDeletion(Change),
    /// Ends all sessions of a user.
    EndSessions(Target),
    /// Sets the password of a user, and ends all their sessions. Reads the password from standard input.
    SetPassword(Target),
    /// Issues a recovery code, with which a user sets a new password, and prints it.
    ///
    /// The code is valid at once, for 24 hours and one use. The user cannot revoke it, so that it also recovers an
    /// account from a thief who has the password. Suspending or deleting the user revokes it, and so does another code.
    RecoveryCode(Change),
    Export(Export),
}

/// Lists users, the last registered first.
///
/// With --status suspended or deleted, the last suspended or deleted first.
#[derive(Args, Debug)]
struct List {
    /// List only users with this status.
    #[arg(long, value_name = "STATUS", env = "FANFOLD_USER_STATUS")]
    status: Option<Status>,

    #[command(flatten)]
    output: ListOutput,

    #[command(flatten)]
    data: DataConfig,
}

/// The status of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Status {
    /// Others see the user.
    Active,
    /// The user is suspended.
    Suspended,
    /// The user has deleted the account, and may still cancel that.
    Deleted,
}

impl From<Status> for AccountStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Suspended => Self::Suspended,
            Status::Deleted => Self::Deleted,
        }
    }
}

/// Shows a user.
#[derive(Args, Debug)]
struct Show {
    /// The username or number of the user.
    #[arg(value_name = "USER")]
    user: Named,

    /// Print JSON.
    #[arg(long, env = "FANFOLD_USER_JSON")]
    json: bool,

    #[command(flatten)]
    data: DataConfig,
}

#[derive(Args, Debug)]
struct Change {
    /// The username or number of the user.
    #[arg(value_name = "USER")]
    user: Named,

    #[command(flatten)]
    note: Note,

    #[command(flatten)]
    data: DataConfig,
}

impl User {
    pub(super) async fn run(self) -> Outcome {
        match self.command {
            UserCommand::List(List { status, output, data }) => {
                Data::work(data, async |app| list(app, status.map(Into::into), output).await).await
            }
            UserCommand::Show(Show { user, json, data }) => {
                Data::work(data, async |app| show(&user.find(app).await?, json)).await
            }
            UserCommand::Suspend(Change { user, note: Note { note }, data }) => {
                change(user, data, "suspended", async |app, user| {
                    app.suspend_user(&Moderator::Operator, user, note).await
                })
                .await
            }
            UserCommand::Unsuspend(Change { user, note: Note { note }, data }) => {
                change(user, data, "unsuspended", async |app, user| {
                    app.unsuspend_user(&Moderator::Operator, user, note).await
                })
                .await
            }
            UserCommand::Delete(Change { user, note: Note { note }, data }) => {
                Data::work(data, async |app| delete(app, user, note).await).await
            }
            UserCommand::CancelDeletion(Change { user, note: Note { note }, data }) => {
                change(user, data, "cancelled the deletion of", async |app, user| {
                    app.cancel_user_deletion(&Moderator::Operator, user, note).await
                })
                .await
            }
            UserCommand::EndSessions(Target { user, data }) => {
                change(user, data, "ended the sessions of", async |app, user| {
                    app.end_sessions(&Moderator::Operator, user).await
                })
                .await
            }
            UserCommand::RecoveryCode(Change { user, note: Note { note }, data }) => {
                Data::work(data, async |app| issue_recovery_code(app, user, note).await).await
            }
            UserCommand::Export(export) => export.run().await,
            UserCommand::SetPassword(Target { user, data }) => {
                let password = read_password()?;
                change(user, data, "set the password of", async |app, user| {
                    app.set_password(&Moderator::Operator, user, &password).await
                })
                .await
            }
        }
    }
}

/// Deletes a user, and prints the time of the erasure.
async fn delete(app: &App, user: Named, note: ActionNote) -> Outcome {
    let found = user.find(app).await?.account;
    app.delete_user(&Moderator::Operator, found.user, note, app.deletion_grace()).await.map_err(plain)?;
    let at = app.account(found.user).await?.and_then(|account| account.deletion_at);
    let at = at.map(|at| format!(", to be erased at {}", print_time(at))).unwrap_or_default();
    say(&format!("deleted {} (#{}){at}", found.username, found.user))?;
    Ok(ExitCode::SUCCESS)
}

/// Issues a recovery code, and prints it alone: scripts read it.
async fn issue_recovery_code(app: &App, user: Named, note: ActionNote) -> Outcome {
    let user = user.find(app).await?.account.user;
    let issued = app.issue_recovery_code(&Moderator::Operator, user, note).await.map_err(plain)?;
    say(issued.code.expose())?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a line from standard input: a password is never an argument, which other users of the machine can read.
fn read_password() -> io::Result<String> {
    if io::stdin().is_terminal() {
        return rpassword::prompt_password("New password: ");
    }
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

async fn list(app: &App, status: Option<AccountStatus>, ListOutput { limit, json }: ListOutput) -> Outcome {
    let (mut accounts, mut from) = (Vec::new(), None);
    while accounts.len() < limit {
        let window = Window { direction: Direction::Forward, size: PAGE.min(limit - accounts.len()), from };
        let page = app.account_page(&Moderator::Operator, status, window).await?;
        from = page.entries.last().map(|listed| listed.position);
        accounts.extend(page.entries.iter().map(|listed| listed.details.clone()));
        if !page.has_next {
            break;
        }
    }
    if json {
        let users: Vec<Value> = accounts.iter().map(print_account).collect();
        return print_json(&json!({ "users": users }));
    }
    let line = |[number, name, status, sessions, reports, created]: [&str; 6]| {
        format!("{number:<12}{name:<32}{status:<22}{sessions:>8}{reports:>9}  {created}")
            .trim_end()
            .to_owned()
    };
    let mut lines = vec![line(["number", "username", "status", "sessions", "reports", "registered"])];
    lines.extend(accounts.iter().map(|details| {
        let account = &details.account;
        let moderator = if account.is_moderator { ", moderator" } else { "" };
        let status = format!("{}{moderator}", status_of(details));
        let (sessions, reports) = (details.session_count.to_string(), details.open_report_count.to_string());
        let number = format!("#{}", account.user);
        line([&number, &account.username, &status, &sessions, &reports, &print_time(account.created_at)])
    }));
    say(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn status_of(details: &AccountDetails) -> &'static str {
    match AccountStatus::of(&details.account) {
        AccountStatus::Active => "active",
        AccountStatus::Suspended => "suspended",
        AccountStatus::Deleted => "deleted",
    }
}

fn print_account(details: &AccountDetails) -> Value {
    let account = &details.account;
    json!({
        "number": account.user.get(),
        "username": account.username,
        "displayName": details.display_name,
        "status": status_of(details),
        "isModerator": account.is_moderator,
        "createdAt": print_time(account.created_at),
        "suspendedAt": account.suspended_at.map(print_time),
        "deletionAt": account.deletion_at.map(print_time),
        "sessions": details.session_count,
        "openReports": details.open_report_count,
    })
}

fn show(details: &AccountDetails, json: bool) -> Outcome {
    let printed = print_account(details);
    if json {
        return print_json(&printed);
    }
    let fields = printed.as_object().into_iter().flatten();
    let line = |(name, value): (&String, &Value)| match value {
        Value::Null => None,
        Value::String(text) => Some(format!("{name:<13}{text}")),
        value => Some(format!("{name:<13}{value}")),
    };
    say(&fields.filter_map(line).collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}
