//! The commands of the operator as a moderator: `fanfold moderator`, `fanfold post` and `fanfold report`.
//!
//! Not here: accounts (`cli::user`), invites (`cli::invite`).

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::app::App;
use crate::app::moderation::read::Accounts;
use crate::cli::named::Named;
use crate::cli::print::print_time;
use crate::cli::{Data, Outcome, plain, say};
use crate::config::DataConfig;
use crate::model::id::{PostId, ReportId, UserId};
use crate::model::moderation::{ActionNote, LogEntry, Objects, Report as Reported};
use crate::model::moderator::Moderator;
use crate::model::page::{Direction, Window};

/// Maximum number of entries that are read at a time.
pub(super) const PAGE: usize = 100;

/// Output of a list.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct ListOutput {
    /// Maximum number of entries.
    #[arg(long, value_name = "N", env = "FANFOLD_LIST_LIMIT", default_value_t = 100)]
    pub(super) limit: usize,

    /// Print JSON.
    #[arg(long, env = "FANFOLD_LIST_JSON")]
    pub(super) json: bool,
}

/// A note on an action.
#[derive(Args, Debug)]
pub(super) struct Note {
    /// Note for the log: up to 1,000 characters.
    #[arg(long, value_name = "TEXT", env = "FANFOLD_MODERATION_NOTE", default_value = "")]
    #[arg(hide_default_value = true, value_parser = note)]
    pub(super) note: ActionNote,
}

#[derive(Args, Debug)]
pub(super) struct Target {
    /// The username or number of the user.
    #[arg(value_name = "USER")]
    pub(super) user: Named,

    #[command(flatten)]
    pub(super) data: DataConfig,
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
pub(super) async fn change(
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

pub(super) fn print_json(value: &Value) -> Outcome {
    say(&format!("{value:#}"))?;
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
