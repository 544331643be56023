//! Profile mutations.

use async_graphql::{Context, InputObject, MaybeUndefined, Object, SimpleObject};

use crate::app::error::Error;
use crate::app::user::{ProfileUpdate, ResidenceUpdate};
use crate::graphql::context::Scope;
use crate::graphql::types::user_error::{UserErrors, split};
use crate::graphql::types::viewer::Viewer;

/// Profile mutations.
#[derive(Default)]
pub(super) struct ProfileMutation;

/// Input of `updateProfile`. Omitted fields stay unchanged.
#[derive(InputObject)]
pub(super) struct UpdateProfileInput {
    /// The display name: 1 to 50 characters of any script, of which at least one is visible; unchanged if null. It
    /// contains no invisible characters except in emoji and where scripts need them.
    display_name: Option<String>,
    /// The bio: up to 500 characters of any script; cleared if empty, unchanged if null.
    bio: Option<String>,
    /// The picture: an https URL on a host that the server allows; removed if null, unchanged if omitted.
    avatar_url: MaybeUndefined<String>,
    /// True to make the account private: the user approves followers, and only followers see the user's posts. False to
    /// make it public, which accepts all pending requests to follow the user. Unchanged if null.
    is_private: Option<bool>,
    /// The region: cleared if null, unchanged if omitted.
    region: MaybeUndefined<RegionInput>,
}

/// A country or one of its subdivisions.
#[derive(InputObject)]
pub(super) struct RegionInput {
    /// The country's ISO 3166-1 alpha-2 code: two letters, such as DE. Case is ignored.
    country: String,
    /// The ISO 3166-2 code of one of the country's subdivisions, such as DE-BE; null for the whole country. Case is
    /// ignored.
    subdivision: Option<String>,
}

impl UpdateProfileInput {
    fn update(&self) -> ProfileUpdate<'_> {
        let residence = match &self.region {
            MaybeUndefined::Undefined => None,
            MaybeUndefined::Null => Some(ResidenceUpdate::Nowhere),
            MaybeUndefined::Value(RegionInput { country, subdivision }) => {
                Some(ResidenceUpdate::In(country, subdivision.as_deref()))
            }
        };
        let avatar_url = match &self.avatar_url {
            MaybeUndefined::Undefined => None,
            MaybeUndefined::Null => Some(""),
            MaybeUndefined::Value(url) => Some(url.as_str()),
        };
        let (display_name, bio) = (self.display_name.as_deref(), self.bio.as_deref());
        ProfileUpdate { display_name, bio, avatar_url, is_private: self.is_private, residence }
    }
}

/// Payload of `updateProfile`.
#[derive(SimpleObject)]
pub(super) struct UpdateProfilePayload {
    /// The viewer after the change; null on failure.
    viewer: Option<Viewer>,
    #[graphql(flatten)]
    errors: UserErrors,
}

#[Object]
impl ProfileMutation {
    /// Updates the viewer's profile.
    async fn update_profile(
        &self,
        context: &Context<'_>,
        input: UpdateProfileInput,
    ) -> Option<Result<UpdateProfilePayload, Error>> {
        let scope = Scope::of(context);
        let done = scope.app.change_profile(scope.viewer(), input.update()).await;
        Some(split(done).map(|(done, errors)| UpdateProfilePayload {
            viewer: done.and_then(|()| Viewer::of(&scope.afresh())),
            errors,
        }))
    }
}
