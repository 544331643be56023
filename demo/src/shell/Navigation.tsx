// The main navigation: beside the page, or below it on a phone.

import { useWaiting } from "@fanfold/client/react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { usePlace } from "../navigation/location";
import { paths, routeOf } from "../navigation/routes";
import { RequestCountViewer } from "../requests/requestCount";
import { homeTimeline } from "../timeline/homeTimeline";
import { Icon, type IconName } from "../ui/Icon";
import { counted } from "../ui/numbers";
import { ViewerQuery } from "./viewerQuery";

interface Entry {
  to: string;
  icon: IconName;
  label: string;
  isHere: boolean;
  /** What is new there, such as "new post", and how much of it. */
  news?: { noun: string; count: number };
}

export function Navigation() {
  const route = routeOf(usePlace().path);
  const { data } = useRetryingQuery({ query: ViewerQuery });
  const waiting = useWaiting(homeTimeline);
  const requests = readFragment(RequestCountViewer, data?.viewer)?.followRequests?.totalCount ?? 0;
  const username = data?.viewer?.user.username;
  const isOwnProfile = route.page === "profile" && route.username === username;
  const entries: Entry[] = [
    {
      to: paths.home,
      icon: "home",
      label: "Home",
      isHere: route.page === "home",
      news: { noun: "new post", count: waiting },
    },
    ...(username
      ? [{ to: paths.profile(username), icon: "person", label: "Profile", isHere: isOwnProfile } as const]
      : []),
    { to: paths.likes, icon: "heart", label: "Likes", isHere: route.page === "likes" },
    { to: paths.bookmarks, icon: "bookmark", label: "Bookmarks", isHere: route.page === "bookmarks" },
    {
      to: paths.requests,
      icon: "requests",
      label: "Requests",
      isHere: route.page === "requests",
      news: { noun: "request", count: requests },
    },
    { to: paths.visitors, icon: "chart", label: "Visitors", isHere: route.page === "visitors" },
    { to: paths.settings, icon: "settings", label: "Settings", isHere: route.page === "settings" },
  ];
  return (
    <nav className="navigation" aria-label="Main">
      <ul>
        {entries.map(({ to, icon, label, isHere, news }) => (
          <li key={label}>
            <Link to={to} aria-current={isHere ? "page" : undefined}>
              <Icon name={icon} />
              <span>{label}</span>
              {news && news.count > 0 && (
                <span className="news">
                  <span aria-hidden="true">{news.count}</span>
                  <span className="visually-hidden">, {counted(news.count, news.noun)}</span>
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
