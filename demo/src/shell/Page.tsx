// The page of a route.

import { PostPage } from "../conversation/PostPage";
import type { Route } from "../navigation/routes";
import { ProfilePage } from "../profile/ProfilePage";
import { ReactedPostsPage } from "../reactions/ReactedPostsPage";
import { RequestsPage } from "../requests/RequestsPage";
import { SettingsPage } from "../settings/SettingsPage";
import { HomePage } from "../timeline/HomePage";
import { VisitorsPage } from "../visits/VisitorsPage";
import { NotFound } from "./NotFound";

export function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "home":
      return <HomePage />;
    case "profile":
      return <ProfilePage key={route.username} username={route.username} tab={route.tab} />;
    case "post":
      return <PostPage key={route.id} id={route.id} tab={route.tab} />;
    case "likes":
    case "bookmarks":
      return <ReactedPostsPage key={route.page} list={route.page} />;
    case "requests":
      return <RequestsPage />;
    case "visitors":
      return <VisitorsPage />;
    case "settings":
      return <SettingsPage />;
    case "unknown":
      return <NotFound title="Page not found">This page does not exist.</NotFound>;
  }
}
