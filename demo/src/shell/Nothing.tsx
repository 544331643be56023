// A page that says that there is nothing here.

import type { ReactNode } from "react";
import { Link } from "../navigation/Link";
import { PageHeading } from "../navigation/PageHeading";
import { paths } from "../navigation/routes";

interface NothingProps {
  title: string;
  children: ReactNode;
}

export function Nothing({ title, children }: NothingProps) {
  return (
    <div className="page">
      <div className="column">
        <PageHeading title={title}>{children}</PageHeading>
        <p>
          <Link to={paths.home}>To your timeline</Link>
        </p>
      </div>
    </div>
  );
}
