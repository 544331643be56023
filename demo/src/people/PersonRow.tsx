// A user in a list: name, relation to the viewer, and a button to change it.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { Avatar } from "./Avatar";
import { PrivateMark } from "./PrivateMark";
import { RelationBadge } from "./RelationBadge";
import { RelationButton } from "./RelationButton";

export const PersonRowUser = graphql(`
  fragment PersonRow on User {
    username
    displayName
    bio
    avatarUrl
    isViewer
    isPrivate
    ...RelationParts
    ...FollowTarget
  }
`);

export function PersonRow({ user }: { user: FragmentType<typeof PersonRowUser> }) {
  const person = readFragment(PersonRowUser, user);
  return (
    <li className="person" data-username={person.username}>
      <Avatar {...person} />
      <div className="person-words">
        <div className="person-names">
          <p className="names">
            <Link to={paths.profile(person.username)} className="name">
              <bdi>{person.displayName}</bdi>
            </Link>
            {person.isPrivate && <PrivateMark />}
            {person.isViewer ? <span className="badge">You</span> : <RelationBadge user={person} />}
          </p>
          <p className="hint">@{person.username}</p>
        </div>
        {person.bio && <p className="person-bio">{person.bio}</p>}
      </div>
      <RelationButton user={person} />
    </li>
  );
}
