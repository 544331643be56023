// Tabs: links to the parts of a page, each with its count.

import { Link } from "./Link";
import { formatCount } from "../ui/numbers";

interface Tab {
  label: string;
  /** The label for a count of one, if it differs. */
  one?: string;
  /** Null if it could not be loaded. */
  count: number | null;
  to: string;
  isCurrent: boolean;
}

export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  return (
    <nav className="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ label, one = label, count, to, isCurrent }) => (
          <li key={to}>
            <Link to={to} keepsPlace aria-current={isCurrent ? "page" : undefined}>
              <strong>{formatCount(count)}</strong> <span>{count === 1 ? one : label}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
