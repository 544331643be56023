// The posts of a timeline that are shown, and those that wait until one goes to the top.

import { useEffect } from "react";
import { useStore } from "../ui/store";
import { newestShown, splitArrivals } from "./arrivals";

/** As far down one is still at the top. */
const TOP = 80;

export function useArrivals<Post extends { createdAt: string; author: { isViewer: boolean } }>(posts: readonly Post[]) {
  const newest = useStore(newestShown);
  const { shown, waiting } = splitArrivals(posts, newest);
  const first = shown[0]?.createdAt ?? null;

  useEffect(() => {
    const hold = () => {
      if (newestShown.get() === null) newestShown.set(first);
    };
    const look = () => {
      if (scrollY > TOP) hold();
      else newestShown.set(null);
    };
    look();
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, [first]);

  // On another page all that comes waits.
  useEffect(
    () => () => {
      if (newestShown.get() === null) newestShown.set(first);
    },
    [first],
  );

  const reveal = () => {
    newestShown.set(null);
    window.scrollTo({ top: 0 });
  };
  return { shown, waiting, reveal };
}
