//! The commands of the operator as a moderator: `fanfold user`, `fanfold moderator`, `fanfold post` and
//! `fanfold report`.
//!
//! Not here: invites (`cli::invite`).

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::app::App;
use crate::app::moderation::read::Accounts;
use crate::cli::export::Export;
use crate::cli::named::Named;
use crate::cli::print::print_time;
use crate::cli::{Data, Outcome, plain, say};
use crate::config::DataConfig;
use crate::model::id::{PostId, ReportId, UserId};
use crate::model::moderation::{
    AccountDetails, AccountStatus, ActionNote, LogEntry, Objects, Report as Reported,
};
use crate::model::moderator::Moderator;
use crate::model::page::{Direction, Window};

/// Maximum number of entries that are read at a time.
const PAGE: usize = 100;

/// Lists and finds users, suspends and deletes them, ends their sessions, sets their passwords, and exports their data.
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

/// Output of a list.
#[derive(Args, Clone, Copy, Debug)]
struct ListOutput {
    /// Maximum number of entries.
    #[arg(long, value_name = "N", env = "FANFOLD_LIST_LIMIT", default_value_t = 100)]
    limit: usize,

    /// Print JSON.
    #[arg(long, env = "FANFOLD_LIST_JSON")]
    json: bool,
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

/// A note on an action.
#[derive(Args, Debug)]
struct Note {
    /// Note for the log: up to 1,000 characters.
    #[arg(long, value_name = "TEXT", env = "FANFOLD_MODERATION_NOTE", default_value = "")]
    #[arg(hide_default_value = true, value_parser = note)]
    note: ActionNote,
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

#[derive(Args, Debug)]
struct Target {
    /// The username or number of the user.
    #[arg(value_name = "USER")]
    user: Named,

    #[command(flatten)]
    data: DataConfig,
}

/// Makes users moderators, and shows what moderators did.
///
/// Moderators use the API. They can do what the commands of the operator do, except to other moderators.
#[derive(Args, Debug)]
pub(super) struct Moderators {
    #[command(subcommand)]
    command: ModeratorCommand,
}

#[derive(Debug, Subcommand)]
enum ModeratorCommand {
    /// Makes a user a moderator.
    Add(Target),
    /// Ends the rights of a moderator, at once.
    Remove(Target),
    Log(Log),
}

/// Shows what moderators and the operator did, newest first.
///
/// An action is recorded before it is carried out, so that one that failed may be listed as well.
#[derive(Args, Debug)]
struct Log {
    #[command(flatten)]
    output: ListOutput,

    #[command(flatten)]
    data: DataConfig,
}

/// Removes posts.
#[derive(Args, Debug)]
pub(super) struct Post {
    #[command(subcommand)]
    command: PostCommand,
}

#[derive(Debug, Subcommand)]
enum PostCommand {
    Remove(Remove),
}

/// Deletes a post, permanently.
#[derive(Args, Debug)]
struct Remove {
    /// The number of the post, as in `fanfold report list`.
    #[arg(value_name = "POST")]
    post: PostId,

    #[command(flatten)]
    note: Note,

    #[command(flatten)]
    data: DataConfig,
}

/// Lists and resolves reports of users and posts.
#[derive(Args, Debug)]
pub(super) struct Report {
    #[command(subcommand)]
    command: ReportCommand,
}

#[derive(Debug, Subcommand)]
enum ReportCommand {
    List(ReportList),
    Resolve(Resolve),
}

/// Lists the open reports, newest first.
#[derive(Args, Debug)]
struct ReportList {
    #[command(flatten)]
    output: ListOutput,

    #[command(flatten)]
    data: DataConfig,
}

/// Resolves a report, which removes it from the list.
#[derive(Args, Debug)]
struct Resolve {
    /// The number of the report.
    #[arg(value_name = "REPORT")]
    report: ReportId,

    #[command(flatten)]
    note: Note,

    #[command(flatten)]
    data: DataConfig,
}

fn note(text: &str) -> Result<ActionNote, String> {
    ActionNote::parse(text).map_err(|violation| violation.rule)
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
            UserCommand::Export(export) => export.run().await,
            UserCommand::SetPassword(Target { user, data }) => {
                let password = read_password()?;
                change(user, data, "set the password of", async |app, user| {
                    app.set_password(&Moderator::Operator, user, &password, None).await
                })
                .await
            }
        }
    }
}

impl Moderators {
    pub(super) async fn run(self) -> Outcome {
        match self.command {
            ModeratorCommand::Add(Target { user, data }) => {
                change(user, data, "made a moderator:", async |app, user| {
                    app.set_moderator(&Moderator::Operator, user, true).await
                })
                .await
            }
            ModeratorCommand::Remove(Target { user, data }) => {
                change(user, data, "no longer a moderator:", async |app, user| {
                    app.set_moderator(&Moderator::Operator, user, false).await
                })
                .await
            }
            ModeratorCommand::Log(Log { output, data }) => {
                Data::work(data, async |app| log(app, output).await).await
            }
        }
    }
}

impl Post {
    pub(super) async fn run(self) -> Outcome {
        let PostCommand::Remove(Remove { post, note: Note { note }, data }) = self.command;
        Data::work(data, async |app| {
            app.remove_post(&Moderator::Operator, post, note).await.map_err(plain)?;
            say(&format!("removed post {post}"))?;
            Ok(ExitCode::SUCCESS)
        })
        .await
    }
}

impl Report {
    pub(super) async fn run(self) -> Outcome {
        match self.command {
            ReportCommand::List(ReportList { output, data }) => {
                Data::work(data, async |app| list_reports(app, output).await).await
            }
            ReportCommand::Resolve(Resolve { report, note: Note { note }, data }) => {
                Data::work(data, async |app| {
                    app.resolve_report(&Moderator::Operator, report, note).await.map_err(plain)?;
                    say(&format!("resolved report {report}"))?;
                    Ok(ExitCode::SUCCESS)
                })
                .await
            }
        }
    }
}

/// Finds a user, makes a change, and prints what was done.
async fn change(
    user: Named,
    data: DataConfig,
    done: &str,
    change: impl AsyncFnOnce(&App, UserId) -> Result<(), crate::app::error::Error>,
) -> Outcome {
    Data::work(data, async |app| {
        let account = user.find(app).await?.account;
        change(app, account.user).await.map_err(plain)?;
        say(&format!("{done} {} (#{})", account.username, account.user))?;
        Ok(ExitCode::SUCCESS)
    })
    .await
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

fn print_json(value: &Value) -> Outcome {
    say(&format!("{value:#}"))?;
    Ok(ExitCode::SUCCESS)
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

/// Returns a user's name for a list; `#7` if the user was deleted.
fn name_of(user: UserId, accounts: &Accounts) -> String {
    accounts.get(&user).map_or_else(|| format!("#{user}"), |details| details.account.username.clone())
}

async fn list_reports(app: &App, ListOutput { limit, json }: ListOutput) -> Outcome {
    let (mut lines, mut printed, mut from) = (Vec::new(), Vec::new(), None);
    while printed.len() < limit {
        let window = Window { direction: Direction::Forward, size: PAGE.min(limit - printed.len()), from };
        let found = app.report_page(&Moderator::Operator, window).await?;
        let posts = found.posts?;
        for report in &*found.page.entries {
            let Reported { id, reporter, reported, at, reason } = report;
            let (reporter, user) =
                (name_of(*reporter, &found.accounts), name_of(reported.user, &found.accounts));
            let content = reported.post.and_then(|post| posts.get(&post)).map(|post| post.content.clone());
            let what = reported.post.map_or_else(String::new, |post| format!("post {post} of "));
            lines.push(format!(
                "{id:<8}{}  {what}{user}, reported by {reporter}: {:?}",
                print_time(*at),
                reason.as_str()
            ));
            if let Some(content) = &content {
                lines.push(format!("        the post: {content:?}"));
            }
            printed.push(json!({
                "number": id.get(),
                "createdAt": print_time(*at),
                "reporter": reporter,
                "username": user,
                "post": reported.post.map(PostId::get),
                "content": content,
                "reason": reason.as_str(),
            }));
        }
        from = found.page.entries.last().map(|report| report.id);
        if !found.page.has_next {
            break;
        }
    }
    if json {
        return print_json(&json!({ "reports": printed }));
    }
    let none = "there are no open reports".to_owned();
    say(&if lines.is_empty() { none } else { lines.join("\n") })?;
    Ok(ExitCode::SUCCESS)
}

async fn log(app: &App, ListOutput { limit, json }: ListOutput) -> Outcome {
    let (mut lines, mut printed, mut from) = (Vec::new(), Vec::new(), None);
    while printed.len() < limit {
        let window = Window { direction: Direction::Forward, size: PAGE.min(limit - printed.len()), from };
        let (page, accounts) = app.log_page(&Moderator::Operator, window).await?;
        for LogEntry { id, logged } in &*page.entries {
            let moderator =
                logged.moderator.user().map_or("operator".to_owned(), |user| name_of(user, &accounts));
            let Objects { user, post, report, invite } = logged.objects;
            let user = user.map(|user| name_of(user, &accounts));
            let objects = [
                user.clone(),
                post.map(|post| format!("post {post}")),
                report.map(|report| format!("report {report}")),
                invite.map(|code| format!("invite {}", code.as_str())),
                Some(format!("{:?}", logged.note.as_str())).filter(|_| !logged.note.as_str().is_empty()),
            ];
            let objects: Vec<String> = objects.into_iter().flatten().collect();
            let (at, action) = (print_time(id.at), logged.action.word());
            lines.push(format!("{at}  {moderator:<20}{action:<18}{}", objects.join(", ")));
            printed.push(json!({
                "createdAt": at,
                "moderator": moderator,
                "action": action,
                "username": user,
                "post": post.map(PostId::get),
                "report": report.map(ReportId::get),
                "invite": invite.as_ref().map(|code| code.as_str().to_owned()),
                "note": logged.note.as_str(),
            }));
        }
        from = page.entries.last().map(|entry| entry.id);
        if !page.has_next {
            break;
        }
    }
    if json {
        return print_json(&json!({ "log": printed }));
    }
    let none = "no moderator has done anything".to_owned();
    say(&if lines.is_empty() { none } else { lines.join("\n") })?;
    Ok(ExitCode::SUCCESS)
}
