//! The data of users that a selection needs.

use crate::app::visibility::UserSelection;
use crate::graphql::selection::Selected;
use crate::graphql::types::user::User;
use crate::model::reaction::{ReactionKind, ReactionSelection};
use crate::model::user::UserFields;

/// Returns the data that this selection of a connection of posts needs of their authors, and of the viewer's reactions
/// to the posts.
pub(in crate::graphql) fn author_selection(connection: &Selected<'_>) -> UserSelection {
    author_selection_of(&connection.nodes())
}

/// Returns the data that these selections of posts need of their authors, and of the viewer's reactions to the posts.
pub(in crate::graphql) fn author_selection_of(posts: &[Selected<'_>]) -> UserSelection {
    let authors: Vec<_> = posts.iter().map(|post| post.field("author")).collect();
    let is_selected = |field: &str| posts.iter().any(|post| post.field(field).exists());
    let kinds = [("viewerHasLiked", ReactionKind::Like), ("viewerHasBookmarked", ReactionKind::Bookmark)];
    let selected = kinds.into_iter().filter(|(field, _)| is_selected(field)).map(|(_, kind)| kind);
    UserSelection { reactions: ReactionSelection::of(selected), ..user_selection(&authors) }
}

/// Returns the user data that these selections of one user need in total. Conditional fields count as selected: loading
/// them unnecessarily is cheaper than loading them later.
pub(in crate::graphql) fn user_selection(selections: &[Selected<'_>]) -> UserSelection {
    let selections = of_same_user(selections);
    let selects = |name| selections.iter().any(|selection| selection.field(name).exists());
    let fields = User::RECORDED.iter().filter(|(name, _)| selects(name));
    let selection = UserSelection {
        fields: fields.fold(UserFields::NONE, |all, (_, field)| all | *field),
        relation: selects("relation"),
        requester: selections.iter().any(|selection| selects_requester(&selection.field("relation"))),
        reactions: ReactionSelection::NONE,
    };
    if selects("posts") || selects("postCount") { selection.with_post_access() } else { selection }
}

/// Returns the data that these selections of a relation, and of its user, need.
pub(in crate::graphql) fn relation_selection(relations: &[Selected<'_>]) -> UserSelection {
    let users: Vec<_> = relations.iter().map(|relation| relation.field("user")).collect();
    let user = user_selection(&users);
    UserSelection {
        relation: true,
        requester: user.requester || relations.iter().any(selects_requester),
        ..user
    }
}

fn selects_requester(relation: &Selected<'_>) -> bool {
    relation.field("requesterSince").exists()
}

/// Returns these selections of a user, and those through fields that lead back to the same user: as the user of the
/// relation, and as the author of the user's posts.
fn of_same_user<'a>(selections: &[Selected<'a>]) -> Vec<Selected<'a>> {
    let mut found = selections.to_vec();
    let mut next = 0;
    while let Some(selection) = found.get(next) {
        let posts = selection.field("posts");
        let back = [
            selection.field("relation").field("user"),
            posts.field("nodes").field("author"),
            posts.field("edges").field("node").field("author"),
        ];
        found.extend(back.into_iter().filter(Selected::exists));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_user_is_in_the_schema() {
        let all = User::RECORDED.iter().fold(UserFields::NONE, |all, (_, field)| all | *field);
        assert_eq!(all, UserFields::ALL);
    }
}
