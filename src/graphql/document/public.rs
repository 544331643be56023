//! The fields that depend on the viewer: a response without them may be cached for everyone.

/// The fields that depend on the viewer. The fields below them are reached only through them.
const VIEWERS: [(&str, &str); 7] = [
    ("Query", "viewer"),
    ("Query", "rateLimit"),
    ("Query", "relations"),
    ("User", "isViewer"),
    ("User", "relation"),
    ("User", "knownFollowers"),
    ("Post", "delivery"),
];

/// Returns true if a field depends on the viewer.
pub(super) fn is_viewers(object: &str, field: &str) -> bool {
    VIEWERS.contains(&(object, field))
}

#[cfg(test)]
mod tests {
    use apollo_compiler::Schema;
    use apollo_compiler::schema::ExtendedType;

    use super::*;

    #[test]
    fn every_field_that_speaks_of_the_viewer_is_listed() {
        let schema = Schema::parse_and_validate(crate::graphql::sdl(), "schema.graphql").unwrap();
        let objects = schema.types.values().filter_map(ExtendedType::as_object);
        // The others are reached through these, or through mutations, whose responses are never shared.
        let open = [
            "Query",
            "User",
            "Post",
            "FollowEdge",
            "FollowConnection",
            "FollowersByRegion",
            "PostConnection",
        ];
        let mut spoken = Vec::new();
        for object in objects.filter(|object| open.contains(&object.name.as_str())) {
            for (name, field) in &object.fields {
                let description = field.description.as_deref().unwrap_or_default();
                let speaks = ["viewer", "person asking", "anonymous", "but the author"];
                if speaks.iter().any(|words| description.contains(words)) {
                    spoken.push((object.name.as_str(), name.as_str()));
                }
            }
        }
        spoken.sort_unstable();
        let mut listed = VIEWERS;
        listed.sort_unstable();
        assert_eq!(spoken, listed);
    }
}
