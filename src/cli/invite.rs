//! `fanfold invite`: creates, lists and revokes invites.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::app::App;
use crate::app::moderation::invite::NewInvite;
use crate::cli::print::print_time;
use crate::cli::{Data, Outcome, plain, say};
use crate::config::DataConfig;
use crate::model::clock::{Clock as _, SystemClock, Timestamp};
use crate::model::invite::{Invite as Invitation, InviteCode, InviteNote, InviteState};
use crate::model::moderator::Moderator;

/// Creates, lists and revokes invites, which users need to register if --account-registration is invite.
///
/// The commands may run alongside a server.
#[derive(Args, Debug)]
pub(super) struct Invite {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// Creates an invite, and prints its code.
#[derive(Args, Debug)]
struct Create {
    /// Maximum number of users who can register with the invite.
    #[arg(long, value_name = "N", env = "FANFOLD_INVITE_USES", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    uses: u32,

    /// Number of days after which the invite expires [default: it does not expire].
    #[arg(long, value_name = "DAYS", env = "FANFOLD_INVITE_EXPIRES")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_650))]
    expires: Option<u32>,

    /// Note for the list of invites, such as whom the invite is for: up to 200 characters.
    #[arg(
        long,
        value_name = "TEXT",
        env = "FANFOLD_INVITE_NOTE",
        default_value = "",
        hide_default_value = true
    )]
    #[arg(value_parser = note)]
    note: InviteNote,

    #[command(flatten)]
    data: DataConfig,
}

/// Lists all invites, newest first.
///
/// The uses include those of registrations in progress.
#[derive(Args, Debug)]
struct List {
    /// Print JSON.
    #[arg(long, env = "FANFOLD_INVITE_JSON")]
    json: bool,

    #[command(flatten)]
    data: DataConfig,
}

/// Deletes an invite. The users who have registered with it stay.
#[derive(Args, Debug)]
struct Revoke {
    /// The code of the invite.
    #[arg(value_name = "CODE", value_parser = code)]
    code: InviteCode,

    #[command(flatten)]
    data: DataConfig,
}

fn note(text: &str) -> Result<InviteNote, String> {
    InviteNote::parse(text).map_err(|violation| violation.rule)
}

fn code(text: &str) -> Result<InviteCode, String> {
    InviteCode::parse(text).ok_or_else(|| "a code has 16 digits and letters".to_owned())
}

impl Invite {
    pub(super) async fn run(self) -> Outcome {
        match self.command {
            Command::Create(Create { uses, expires, note, data }) => {
                Data::work(data, async |app| create(app, uses, expires, note).await).await
            }
            Command::List(List { json, data }) => Data::work(data, async |app| list(app, json).await).await,
            Command::Revoke(Revoke { code, data }) => {
                Data::work(data, async |app| revoke(app, &code).await).await
            }
        }
    }
}

async fn create(app: &App, uses: u32, expires: Option<u32>, note: InviteNote) -> Outcome {
    let lifetime = |days: u32| Duration::from_hours(24 * u64::from(days));
    let expires_at = expires.map(|days| SystemClock.now().plus(lifetime(days)));
    let wish = NewInvite { uses: uses.into(), expires_at, note: note.as_str() };
    say(app.create_invite(&Moderator::Operator, wish).await.map_err(plain)?.code.as_str())?;
    Ok(ExitCode::SUCCESS)
}

async fn list(app: &App, json: bool) -> Outcome {
    let invites = app.invites(&Moderator::Operator).await?;
    let now = SystemClock.now();
    say(&if json { print_json(&invites, now) } else { print_table(&invites, now) })?;
    Ok(ExitCode::SUCCESS)
}

async fn revoke(app: &App, code: &InviteCode) -> Outcome {
    app.revoke_invite(&Moderator::Operator, code).await.map_err(plain)?;
    say(&format!("revoked {}", code.as_str()))?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(invites: &[Invitation], now: Timestamp) -> String {
    let print_invite = |invite: &Invitation| -> Value {
        json!({
            "code": invite.code.as_str(),
            "state": state(invite, now),
            "uses": invite.uses,
            "used": invite.used,
            "createdAt": print_time(invite.created_at),
            "createdBy": invite.created_by.to_string(),
            "expiresAt": invite.expires_at.map(print_time),
            "note": invite.note.as_str(),
        })
    };
    let invites: Vec<Value> = invites.iter().map(print_invite).collect();
    format!("{:#}", json!({ "invites": invites }))
}

/// Formats a line for each invite.
fn print_table(invites: &[Invitation], now: Timestamp) -> String {
    let mut lines = vec![line(["code", "state", "used", "created", "expires", "note"])];
    lines.extend(invites.iter().map(|invite| {
        let used = format!("{}/{}", invite.used, invite.uses);
        let (created, expires) =
            (print_time(invite.created_at), invite.expires_at.map(print_time).unwrap_or_default());
        line([invite.code.as_str(), state(invite, now), &used, &created, &expires, invite.note.as_str()])
    }));
    lines.join("\n")
}

fn line([code, state, used, created, expires, note]: [&str; 6]) -> String {
    let line = format!("{code:<18}{state:<9}{used:>15}  {created:<22}{expires:<22}{note}");
    line.trim_end().to_owned()
}

fn state(invite: &Invitation, now: Timestamp) -> &'static str {
    match invite.state(now) {
        InviteState::Valid => "valid",
        InviteState::Expired => "expired",
        InviteState::UsedUp => "used up",
    }
}
