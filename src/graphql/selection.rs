//! Look-ahead: determines the data that a selection needs.

use async_graphql::Lookahead;

use crate::app::error::Error;
use crate::app::visibility::UserSelection;
use crate::graphql::page::Filled;
use crate::model::user::UserFields;

/// Returns the user data that these selections of one user need in total. Includes the fields selected through
/// `relation`, because the relation's `user` is the same user. Conditional fields count as selected: loading them
/// unnecessarily is cheaper than loading them later.
pub(super) fn user_selection(selections: &[Lookahead<'_>]) -> UserSelection {
    let selects = |name| {
        selections.iter().any(|selection| {
            selection.field(name).exists() || selection.field("relation").field("user").field(name).exists()
        })
    };
    let fields = UserFields::ALL.into_iter().filter(|(name, _)| selects(name));
    UserSelection {
        fields: fields.fold(UserFields::NONE, |all, (_, field)| all | field),
        relation: selects("relation"),
    }
}

/// The selected parts of a connection.
#[derive(Clone, Copy)]
pub(super) struct Wants {
    pub(super) nodes: bool,
    page: bool,
    count: bool,
}

impl Wants {
    pub(super) fn of(selection: &Lookahead<'_>) -> Self {
        let nodes = selection.field("edges").exists() || selection.field("nodes").exists();
        Self {
            nodes,
            page: nodes || selection.field("pageInfo").exists(),
            count: selection.field("totalCount").exists(),
        }
    }

    /// Loads the page if it is selected; otherwise returns an empty page.
    pub(super) async fn fill<E, N>(
        self,
        filled: impl Future<Output = Result<Filled<E, N>, Error>>,
    ) -> Result<Filled<E, N>, Error> {
        if self.page { filled.await } else { Ok(Filled::empty()) }
    }

    /// Loads the count into the loader's cache if the count is selected.
    pub(super) async fn count(self, count: impl Future<Output = Result<u64, Error>>) -> Result<(), Error> {
        if self.count { count.await.map(drop) } else { Ok(()) }
    }
}
