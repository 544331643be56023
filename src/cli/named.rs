//! Users as named on the command line.

use std::str::FromStr;

use crate::app::App;
use crate::model::id::UserId;
use crate::model::moderation::AccountDetails;
use crate::model::moderator::Moderator;
use crate::model::user::Username;

/// A user as named on the command line. Digits alone may be a username or a number; a username comes first.
#[derive(Clone, Debug)]
pub(super) struct Named {
    text: String,
    username: Option<Username>,
    number: Option<UserId>,
}

impl FromStr for Named {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let username = Username::parse(text).ok();
        let number = text.strip_prefix('#').unwrap_or(text).parse().ok();
        if username.is_none() && number.is_none() {
            return Err("expected a username, or the number of a user");
        }
        Ok(Self { text: text.to_owned(), username, number })
    }
}

impl Named {
    /// Returns the account of the user. Fails if there is no such user.
    pub(super) async fn find(
        &self,
        app: &App,
    ) -> Result<AccountDetails, Box<dyn std::error::Error + Send + Sync>> {
        let by_name = match &self.username {
            Some(username) => app.user_named(&Moderator::Operator, username).await?,
            None => None,
        };
        let found = match by_name.or(self.number) {
            Some(user) => app.account_details(&Moderator::Operator, user).await?,
            None => None,
        };
        found.ok_or_else(|| format!("there is no user {}", self.text).into())
    }
}
