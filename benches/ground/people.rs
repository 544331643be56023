//! People, who have no password.

use fanfold::app::App;
use fanfold::app::user::NewAccount;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::model::user::{Bio, Username};

/// So many users, named `u0`, `u1`, …
pub(crate) async fn users(app: &App, count: usize) -> Vec<UserId> {
    let mut ids = Vec::with_capacity(count);
    let numbers: Vec<usize> = (0..count).collect();
    for numbers in numbers.chunks(5_000) {
        let newcomer = |number: &usize| {
            let username = Username::parse(&format!("u{number}")).unwrap();
            NewAccount {
                display_name: (&username).into(),
                username,
                bio: Bio::default(),
                region: None,
                created_at: Timestamp::from_millis(0),
                password: None,
                sign_in: None,
            }
        };
        ids.extend(app.import_users(numbers.iter().map(newcomer).collect()).await.unwrap().ids);
    }
    ids
}
