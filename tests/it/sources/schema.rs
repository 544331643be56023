//! The contract: the committed schema is that of the server.

#[test]
fn the_committed_schema_is_that_of_the_server() {
    let committed = include_str!("../../../schema.graphql");
    if committed == fanfold::graphql::sdl() {
        return;
    }
    let sdl = fanfold::graphql::sdl();
    let mut lines = committed.lines().zip(sdl.lines()).enumerate();
    let differs = lines.find(|(_, (old, new))| old != new);
    panic!(
        "schema.graphql is not up to date: `cargo run -- schema > schema.graphql` writes it ({differs:?})"
    );
}

#[test]
fn everything_in_the_schema_is_described() {
    // In the definition language a description is a string before what it describes.
    let sdl = fanfold::graphql::sdl();
    let mut described = false;
    let mut in_text = false;
    for (number, line) in sdl.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("\"\"\"") {
            in_text = !in_text;
            described = true;
        } else if in_text || line.starts_with('"') {
            described = true;
        } else {
            let definition = ["type", "interface", "enum", "input", "scalar", "union"];
            let first = line.split(' ').next().unwrap_or_default();
            let is_member = line
                .split(['(', ':'])
                .next()
                .is_some_and(|name| !name.is_empty() && name.chars().all(char::is_alphanumeric));
            let is_root = ["query:", "mutation:", "subscription:"].contains(&first);
            if definition.contains(&first) || (is_member && !is_root) {
                assert!(described, "line {}: {line:?} has no description", number + 1);
            }
            described = false;
        }
    }
}

/// A gateway that caches answers gives those of public types to everyone.
#[test]
fn fields_about_the_viewer_are_private() {
    let sdl = fanfold::graphql::sdl();
    let (mut of_public, mut public) = (false, Vec::new());
    for line in sdl.lines() {
        if !line.starts_with(' ') {
            of_public = line.contains("@cacheControl(scope: PUBLIC)");
        }
        let name = line.trim_start().split([':', '(']).next().unwrap_or_default();
        let is_about_viewer = name.starts_with("viewer") && name.chars().all(char::is_alphanumeric);
        if of_public && is_about_viewer && !line.contains("@cacheControl(scope: PRIVATE)") {
            public.push(line.trim());
        }
    }
    assert!(public.is_empty(), "apply `cache_control::apply(Private)` to {public:?}");
}
