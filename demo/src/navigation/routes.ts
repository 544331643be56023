// Maps paths to pages, and pages to paths.

export const PEOPLE_TABS = ["followers", "following", "mutuals", "known"] as const;
export type PeopleTab = (typeof PEOPLE_TABS)[number];
export type ProfileTab = "posts" | PeopleTab;
export type PostTab = "replies" | "quotes" | "reposts" | "likes";

export type Route =
  | { page: "home" }
  | { page: "profile"; username: string; tab: ProfileTab }
  | { page: "post"; id: string; tab: PostTab }
  | { page: "likes" }
  | { page: "bookmarks" }
  | { page: "requests" }
  | { page: "visitors" }
  | { page: "settings" }
  | { page: "unknown" };

export const paths = {
  home: "/",
  likes: "/likes",
  bookmarks: "/bookmarks",
  requests: "/requests",
  visitors: "/visitors",
  settings: "/settings",
  profile: (username: string, tab: ProfileTab = "posts") => `/@${username}${tab === "posts" ? "" : `/${tab}`}`,
  post: (id: string, tab: PostTab = "replies") => `/posts/${id}${tab === "replies" ? "" : `/${tab}`}`,
};

const POST = /^\/posts\/([\w-]+)(?:\/(quotes|reposts|likes))?$/;
const PROFILE = new RegExp(`^/@(\\w{2,30})(?:/(${PEOPLE_TABS.join("|")}))?$`);

export function routeOf(path: string): Route {
  const plain = path.replace(/(.)\/+$/, "$1");
  if (plain === paths.home) return { page: "home" };
  if (plain === paths.likes) return { page: "likes" };
  if (plain === paths.bookmarks) return { page: "bookmarks" };
  if (plain === paths.requests) return { page: "requests" };
  if (plain === paths.visitors) return { page: "visitors" };
  if (plain === paths.settings) return { page: "settings" };
  const [, id, postTab = "replies"] = POST.exec(plain) ?? [];
  if (id !== undefined) return { page: "post", id, tab: postTab as PostTab };
  const [, username, tab = "posts"] = PROFILE.exec(plain) ?? [];
  if (username === undefined) return { page: "unknown" };
  return { page: "profile", username: username.toLowerCase(), tab: tab as ProfileTab };
}
