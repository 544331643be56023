// The number of posts waiting on the home timeline, available on every page.

import { useQuery } from "urql";
import { useStore } from "../ui/store";
import { shownEntries, splitArrivals } from "./arrivals";
import { HomeTimeline } from "./homeTimeline";

export function useWaitingPosts(): number {
  const [{ data }] = useQuery({ query: HomeTimeline, variables: {}, requestPolicy: "cache-only" });
  return splitArrivals(data?.viewer?.timeline?.edges ?? [], useStore(shownEntries)).waiting;
}
