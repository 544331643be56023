// A panel beside the main content: always open on wide screens, collapsible on narrow ones.

import { type ReactNode, useSyncExternalStore } from "react";

const wide = matchMedia("(min-width: 68rem)");

const useIsWide = () =>
  useSyncExternalStore(
    (listener) => {
      wide.addEventListener("change", listener);
      return () => wide.removeEventListener("change", listener);
    },
    () => wide.matches,
  );

interface PanelProps {
  title: string;
  children: ReactNode;
}

export function Panel({ title, children }: PanelProps) {
  if (useIsWide()) {
    return (
      <section className="panel">
        <h2>{title}</h2>
        {children}
      </section>
    );
  }
  return (
    <details className="panel">
      <summary>
        <h2>{title}</h2>
      </summary>
      {children}
    </details>
  );
}
