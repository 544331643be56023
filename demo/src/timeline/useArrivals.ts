// The shown entries of a timeline, and those that wait until the user scrolls to the top.

import { useEffect, useRef } from "react";
import { useStore } from "../ui/store";
import { type Entry, nameOf, shownEntries, splitArrivals } from "./arrivals";

/** The scroll position, in pixels, up to which the user is at the top. */
const TOP = 80;

export function useArrivals<Shown extends Entry>(entries: readonly Shown[]) {
  const { shown, waiting } = splitArrivals(entries, useStore(shownEntries));
  const first = shown[0] && nameOf(shown[0]);
  const latest = useRef(shown);
  useEffect(() => {
    latest.current = shown;
  });
  const hold = () => {
    if (shownEntries.get() === null && latest.current.length > 0) {
      shownEntries.set(new Set(latest.current.map(nameOf)));
    }
  };

  useEffect(() => {
    const update = () => {
      if (scrollY > TOP) hold();
      else shownEntries.set(null);
    };
    update();
    addEventListener("scroll", update, { passive: true });
    return () => removeEventListener("scroll", update);
  }, [first]);

  // While another page is shown, all new posts wait.
  useEffect(() => hold, []);

  const reveal = () => {
    shownEntries.set(null);
    window.scrollTo({ top: 0 });
  };
  return { shown, waiting, reveal };
}
