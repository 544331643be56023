// The heading of a page: names the tab of the browser, and takes the focus when one comes to the page, so that a screen
// reader says where one is.

import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { usePlace } from "./location";

interface PageHeadingProps {
  /** What the tab is called. */
  title: string;
  className?: string;
  children: ReactNode;
}

export function PageHeading({ title, className, children }: PageHeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { move, scrollTo } = usePlace();

  useEffect(() => {
    document.title = `${title} · Fanfold`;
  }, [title]);

  useLayoutEffect(() => {
    if (scrollTo === null) return;
    if (move > 0) heading.current?.focus({ preventScroll: true });
    window.scrollTo({ top: scrollTo, behavior: "instant" });
  }, [move, scrollTo]);

  return (
    <h1 ref={heading} tabIndex={-1} className={className}>
      {children}
    </h1>
  );
}
