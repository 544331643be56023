// The heading of a page: sets the title of the browser tab, and takes the focus after navigation, so that a screen
// reader announces the page.

import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { usePlace } from "./location";

interface PageHeadingProps {
  /** The title of the browser tab. */
  title: string;
  /** True to scroll to the heading, rather than to the top of the page. */
  isBelowTop?: boolean;
  className?: string;
  children: ReactNode;
}

export function PageHeading({ title, isBelowTop = false, className, children }: PageHeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { move, scrollTo } = usePlace();

  useEffect(() => {
    document.title = `${title} · Fanfold`;
  }, [title]);

  useLayoutEffect(() => {
    if (scrollTo === null) return;
    if (move > 0) heading.current?.focus({ preventScroll: true });
    if (isBelowTop && scrollTo === 0) heading.current?.scrollIntoView({ behavior: "instant" });
    else window.scrollTo({ top: scrollTo, behavior: "instant" });
  }, [move, scrollTo]);

  return (
    <h1 ref={heading} tabIndex={-1} className={className}>
      {children}
    </h1>
  );
}
