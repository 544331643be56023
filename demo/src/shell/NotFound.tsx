// The page for an unknown path or user.

import type { ReactNode } from "react";
import { Link } from "../navigation/Link";
import { PageHeading } from "../navigation/PageHeading";
import { paths } from "../navigation/routes";

interface NotFoundProps {
  title: string;
  children: ReactNode;
}

export function NotFound({ title, children }: NotFoundProps) {
  return (
    <div className="page">
      <div className="column">
        <PageHeading title={title}>{children}</PageHeading>
        <p>
          <Link to={paths.home}>Go to your timeline</Link>
        </p>
      </div>
    </div>
  );
}
