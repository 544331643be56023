// The line above a post that names the users whose reposts put it into the list.

import { Fragment } from "react";
import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { Icon } from "../ui/Icon";
import { counted } from "../ui/numbers";

export const ReposterUser = graphql(`
  fragment Reposter on User {
    id
    username
    displayName
  }
`);

/** Maximum number of users named; the others are counted. */
const MAX_NAMED = 2;

interface RepostedByProps {
  /** The id of the element, which describes the post. */
  id: string;
  /** At least one, newest repost first. */
  users: readonly FragmentType<typeof ReposterUser>[];
}

export function RepostedBy({ id, users }: RepostedByProps) {
  const named = readFragment(ReposterUser, users).slice(0, MAX_NAMED);
  const others = users.length - named.length;
  return (
    <p className="reposted-by hint" id={id}>
      <Icon name="repost" />
      <span>
        Reposted by{" "}
        {named.map(({ id, username, displayName }, index) => (
          <Fragment key={id}>
            {index > 0 && (others > 0 ? ", " : " and ")}
            <Link to={paths.profile(username)}>
              <bdi>{displayName}</bdi>
            </Link>
          </Fragment>
        ))}
        {others > 0 && ` and ${counted(others, "other")}`}
      </span>
    </p>
  );
}
