//! Creates users without passwords.

use fanfold::app::App;
use fanfold::app::user::NewAccount;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use fanfold::model::user::{Bio, Username};

/// Creates `count` users, named `u0`, `u1`, …, and returns their ids.
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
                subject: None,
                sign_in: None,
            }
        };
        ids.extend(app.import_users(numbers.iter().map(newcomer).collect()).await.unwrap().ids);
    }
    ids
}
