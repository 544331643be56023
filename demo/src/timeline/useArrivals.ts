// The shown posts of a timeline, and those that wait until the user scrolls to the top.

import { useEffect } from "react";
import { useStore } from "../ui/store";
import { newestShown, splitArrivals } from "./arrivals";

/** The scroll position, in pixels, up to which the user is at the top. */
const TOP = 80;

export function useArrivals<Post extends { createdAt: string; author: { isViewer: boolean } }>(posts: readonly Post[]) {
  const newest = useStore(newestShown);
  const { shown, waiting } = splitArrivals(posts, newest);
  const first = shown[0]?.createdAt ?? null;

  useEffect(() => {
    const hold = () => {
      if (newestShown.get() === null) newestShown.set(first);
    };
    const update = () => {
      if (scrollY > TOP) hold();
      else newestShown.set(null);
    };
    update();
    addEventListener("scroll", update, { passive: true });
    return () => removeEventListener("scroll", update);
  }, [first]);

  // While another page is shown, all new posts wait.
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
