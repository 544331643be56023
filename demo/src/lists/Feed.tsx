// A list of articles that grows as the user scrolls. Page Down and Page Up move the focus between articles, as assistive
// technology expects of a feed.

import { Children, type KeyboardEvent, type ReactNode } from "react";

const STEPS: Record<string, number> = { PageDown: 1, PageUp: -1 };

interface FeedProps {
  label: string;
  isBusy: boolean;
  /** The articles. */
  children: ReactNode;
}

export function Feed({ label, isBusy, children }: FeedProps) {
  const step = (event: KeyboardEvent<HTMLDivElement>) => {
    const by = STEPS[event.key];
    const article = (event.target as Element).closest("article");
    if (by === undefined || article === null || event.target instanceof HTMLTextAreaElement) return;
    const neighbour = by > 0 ? article.nextElementSibling : article.previousElementSibling;
    if (neighbour instanceof HTMLElement) {
      event.preventDefault();
      neighbour.focus();
      neighbour.scrollIntoView({ block: "nearest" });
    }
  };
  if (Children.count(children) === 0) return null;
  return (
    <div className="feed" role="feed" aria-label={label} aria-busy={isBusy} onKeyDown={step}>
      {children}
    </div>
  );
}
