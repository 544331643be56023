//! Compares users and lists of users with the model.

use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};

use crate::api::visibility::model::{
    Entry, USERS, in_list_order, number_of, parsed, post_id, printed, user_id,
};
use crate::api::visibility::window::{Cut, Place, edges_of};
use crate::api::visibility::world::Play;

const LISTS: [&str; 4] = ["followers", "following", "mutuals", "knownFollowers"];
const OWN_LISTS: [&str; 4] = ["muted", "blocked", "followRequests", "sentFollowRequests"];

pub(super) const RELATION: &str =
    "status followingSince followerSince requestedSince requesterSince blockedSince mutedSince
    mutedUntil muteScope";

impl Play {
    /// Returns a page of users as the API shows it, without cursors.
    pub(super) fn page(&self, viewer: Option<usize>, entries: &[Entry], time: &str) -> (Value, Value) {
        let edge = |&(at, user): &Entry| json!({ time: printed(at), "node": { "id": user_id(user), "relation": self.model.status(viewer, user) } });
        let nodes: Vec<Value> = entries.iter().map(|(_, user)| json!({ "id": user_id(*user) })).collect();
        (entries.iter().map(edge).collect(), json!(nodes))
    }

    pub(super) fn connection(&self, viewer: Option<usize>, list: &[Entry], cut: Cut, time: &str) -> Value {
        let (entries, info) = cut.of(list, None);
        let (edges, nodes) = self.page(viewer, &entries, time);
        json!({ "totalCount": list.len(), "edges": edges, "nodes": nodes, "pageInfo": info })
    }

    /// Checks all users and posts, as they are seen through `nodes` and `relations`.
    pub(super) async fn check_all(&mut self, viewer: Option<usize>) {
        let users: Vec<String> = (0..USERS).map(user_id).collect();
        let numbers: Vec<u64> = self.model.posts.iter().map(|post| post.number).collect();
        let posts: Vec<String> = numbers.iter().map(|post| post_id(*post)).collect();
        let lists: Vec<String> = LISTS
            .iter()
            .map(|list| format!("{list}(first: 3) {{ ...page }} {list}Last: {list}(last: 2) {{ ...page }}"))
            .collect();
        let lists = lists.join(" ");
        let query = format!(
            "query ($users: [ID!]!, $posts: [ID!]!) {{
                users: nodes(ids: $users) {{ ... on User {{ id username isPrivate relation {{ {RELATION} }} {lists}
                    followerCount followingCount postCount
                    posts(first: 2) {{ ...posts }} postsLast: posts(last: 3) {{ ...posts }} }} }}
                relations(userIds: $users) {{ {RELATION} user {{ id }} }}
                posts: nodes(ids: $posts) {{ ... on Post {{ id author {{ id relation {{ status }} }} }} }}
            }}
            fragment page on FollowConnection {{ totalCount nodes {{ id }} pageInfo {{ hasPreviousPage hasNextPage }}
                edges {{ cursor followedAt node {{ id relation {{ status }} }} }} }}
            fragment posts on PostConnection {{ totalCount edges {{ cursor node {{ id }} }}
                pageInfo {{ hasPreviousPage hasNextPage }} }}"
        );
        let mut data = self.ask(viewer, &query, json!({ "users": users, "posts": posts })).await;
        for user in 0..USERS {
            self.take_places(&mut data["users"][user], user);
            let expected = self.profile(viewer, user);
            self.expect(&data["users"][user], &expected, &format!("{viewer:?} of {user}"));
            let mut relation = self.model.relation(viewer, user);
            if self.model.hides(viewer, user) {
                relation = Value::Null;
            }
            if !relation.is_null() {
                relation["user"] = json!({ "id": user_id(user) });
            }
            self.expect(&data["relations"][user], &relation, &format!("relations: {viewer:?} of {user}"));
        }
        for (index, post) in self.model.posts.iter().enumerate() {
            let author =
                json!({ "id": user_id(post.author), "relation": self.model.status(viewer, post.author) });
            let shown = json!({ "id": post_id(post.number), "author": author });
            let expected = if self.model.sees(viewer, post) { shown } else { Value::Null };
            self.expect(&data["posts"][index], &expected, &format!("{viewer:?} of post {}", post.number));
        }
        self.pairs += USERS + self.model.posts.len();
    }

    /// Removes the cursors from a profile, and stores them as positions to read from later.
    pub(super) fn take_places(&mut self, profile: &mut Value, owner: usize) {
        for list in LISTS {
            for alias in [list.to_owned(), format!("{list}Last")] {
                for edge in edges_of(profile, &alias) {
                    let user = number_of(&edge["node"]["id"]) as usize - 1;
                    let at = edge["followedAt"].as_str().unwrap().to_owned();
                    let cursor = edge.as_object_mut().unwrap().remove("cursor").unwrap();
                    let at = parsed(&at);
                    self.places.push(Place { owner, list, at: (at, user), cursor });
                }
            }
        }
        for alias in ["posts", "postsLast"] {
            for edge in edges_of(profile, alias) {
                let at = number_of(&edge["node"]["id"]);
                let cursor = edge.as_object_mut().unwrap().remove("cursor").unwrap();
                self.post_places.push(Place { owner, list: "posts", at, cursor });
            }
        }
    }

    pub(super) fn profile(&self, viewer: Option<usize>, user: usize) -> Value {
        if self.model.hides(viewer, user) {
            return Value::Null;
        }
        let mut profile = json!({
            "id": user_id(user),
            "username": format!("ann{user}"),
            "isPrivate": self.model.private.contains(&user),
            "relation": self.model.relation(viewer, user),
        });
        for list in LISTS {
            let entries = self.model.list(list, user, viewer);
            let first = Cut { is_forward: true, size: 3 };
            profile[list] = self.connection(viewer, &entries, first, "followedAt");
            let last = Cut { is_forward: false, size: 2 };
            profile[format!("{list}Last")] = self.connection(viewer, &entries, last, "followedAt");
        }
        for (count, list) in [("followerCount", "followers"), ("followingCount", "following")] {
            profile[count] = json!(self.model.list(list, user, viewer).len());
        }
        let posts = self.model.posts_of(user, viewer);
        profile["postCount"] = json!(posts.len());
        for (alias, is_forward, size) in [("posts", true, 2), ("postsLast", false, 3)] {
            let (page, info) = Cut { is_forward, size }.of(&posts, None);
            let edges: Vec<Value> =
                page.iter().map(|post| json!({ "node": { "id": post_id(*post) } })).collect();
            profile[alias] = json!({ "totalCount": posts.len(), "edges": edges, "pageInfo": info });
        }
        profile
    }

    /// Checks the fields that look up one user or post.
    pub(super) async fn check_single(&mut self, viewer: Option<usize>) {
        let query = "query ($id: ID!, $name: String!) {
            byId: user(by: { id: $id }) { id posts(first: 1) { totalCount } followers(first: 2) { totalCount nodes { id } } }
            byName: user(by: { username: $name }) {
                id posts(first: 1) { totalCount } followers(first: 2) { totalCount nodes { id } } }
            node(id: $id) { id }
        }";
        for user in 0..USERS {
            let variables = json!({ "id": user_id(user), "name": format!("ann{user}") });
            let data = self.ask(viewer, query, variables).await;
            let followers = self.model.list("followers", user, viewer);
            let nodes: Vec<Value> =
                followers.iter().take(2).map(|(_, user)| json!({ "id": user_id(*user) })).collect();
            let shown = json!({
                "id": user_id(user),
                "posts": { "totalCount": self.model.posts_of(user, viewer).len() },
                "followers": { "totalCount": followers.len(), "nodes": nodes },
            });
            let is_hidden = self.model.hides(viewer, user);
            let expected = if is_hidden {
                json!({ "byId": null, "byName": null, "node": null })
            } else {
                json!({ "byId": shown, "byName": shown, "node": { "id": user_id(user) } })
            };
            self.expect(&data, &expected, &format!("{viewer:?} of {user}"));
        }
        let query = "query ($id: ID!) { post(id: $id) { id } node(id: $id) { id } }";
        for _ in 0..4 {
            let post = self.model.posts.choose(&mut self.rng).unwrap();
            let id = post_id(post.number);
            let shown = if self.model.sees(viewer, post) { json!({ "id": id }) } else { Value::Null };
            let data = self.ask(viewer, query, json!({ "id": id })).await;
            let what = format!("{viewer:?} of {} by {}", post.number, post.author);
            self.expect(&data, &json!({ "post": shown, "node": shown }), &what);
        }
        self.pairs += USERS + 4;
    }

    /// Checks the viewer's own lists, and the home timeline.
    pub(super) async fn check_own(&mut self, viewer: usize) {
        let lists: Vec<String> = OWN_LISTS
            .iter()
            .map(|list| format!("{list}(first: 2) {{ ...page }} {list}Last: {list}(last: 2) {{ ...page }}"))
            .collect();
        let lists = lists.join(" ");
        let query = format!(
            "{{ viewer {{ {lists} timeline(first: 100) {{ edges {{ cursor node {{ id author {{ id }} }} }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}
            fragment page on UserConnection {{ totalCount nodes {{ id }} pageInfo {{ hasPreviousPage hasNextPage }}
                edges {{ cursor since node {{ id relation {{ status }} }} }} }}"
        );
        let mut data = self.ask(Some(viewer), &query, Value::Null).await;
        let shown = &mut data["viewer"];
        for list in OWN_LISTS {
            let entries = self.model.own_list(list, viewer);
            for (alias, is_forward) in [(list.to_owned(), true), (format!("{list}Last"), false)] {
                for edge in edges_of(shown, &alias) {
                    let user = number_of(&edge["node"]["id"]) as usize - 1;
                    let at = parsed(edge["since"].as_str().unwrap());
                    let cursor = edge.as_object_mut().unwrap().remove("cursor").unwrap();
                    self.own_places.push(Place { owner: viewer, list, at: (at, user), cursor });
                }
                let expected = self.connection(Some(viewer), &entries, Cut { is_forward, size: 2 }, "since");
                self.expect(&shown[&alias], &expected, &format!("{alias} of {viewer}"));
            }
        }
        let timeline = shown["timeline"]["edges"].as_array().unwrap();
        let place = |edge: &Value| {
            let (at, cursor) = (number_of(&edge["node"]["id"]), edge["cursor"].clone());
            Place { owner: viewer, list: "timeline", at, cursor }
        };
        let places: Vec<Place<u64>> = timeline.iter().map(place).collect();
        let found: Vec<u64> = places.iter().map(|place| place.at).collect();
        self.expect(&json!(found), &json!(self.model.timeline(viewer)), &format!("the timeline of {viewer}"));
        self.timeline_places.extend(places);
    }

    /// Reads a page of a list of users from the position of an entry that another viewer may have seen, and that may be
    /// gone.
    pub(super) async fn check_page(&mut self) {
        let (viewer, cut) = (self.random_viewer(), self.random_cut());
        let Some(place) = self.places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, list, at, cursor } = place;
        let data = self.ask_page(viewer, (owner, list), cut, cursor).await;
        let expected = if self.model.hides(viewer, owner) {
            Value::Null
        } else {
            let entries = self.model.list(list, owner, viewer);
            let (page, info) = cut.of(&entries, Some(&|entry: &Entry| in_list_order(entry, &at)));
            let nodes: Vec<Value> = page.iter().map(|(_, user)| json!({ "id": user_id(*user) })).collect();
            json!({ list: { "totalCount": entries.len(), "nodes": nodes, "pageInfo": info } })
        };
        self.expect(&data["user"], &expected, &format!("{viewer:?}: {list} of {owner} from {at:?}: {cut:?}"));
    }

    /// The same for the viewer's own lists.
    pub(super) async fn check_own_page(&mut self) {
        let cut = self.random_cut();
        let Some(place) = self.own_places.choose(&mut self.rng).cloned() else { return };
        let Place { owner, list, at, cursor } = place;
        if self.model.suspended.contains(&owner) {
            return;
        }
        let query = format!(
            "query ($at: String) {{ viewer {{ {list}({}) {{ totalCount nodes {{ id }}
                pageInfo {{ hasPreviousPage hasNextPage }} }} }} }}",
            cut.arguments()
        );
        let data = self.ask(Some(owner), &query, json!({ "at": cursor })).await;
        let entries = self.model.own_list(list, owner);
        let (page, info) = cut.of(&entries, Some(&|entry: &Entry| in_list_order(entry, &at)));
        let nodes: Vec<Value> = page.iter().map(|(_, user)| json!({ "id": user_id(*user) })).collect();
        let expected = json!({ "totalCount": entries.len(), "nodes": nodes, "pageInfo": info });
        self.expect(&data["viewer"][list], &expected, &format!("{list} of {owner} from {at:?}: {cut:?}"));
    }
}
