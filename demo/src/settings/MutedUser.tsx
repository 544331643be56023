// A user whom the viewer mutes, with a button to unmute them.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { MuteButton } from "../people/MuteButton";

export const MutedUserUser = graphql(`
  fragment MutedUser on User {
    username
    displayName
    ...FollowTarget
  }
`);

export function MutedUser({ user }: { user: FragmentType<typeof MutedUserUser> }) {
  const person = readFragment(MutedUserUser, user);
  return (
    <li data-username={person.username}>
      <div>
        <Link to={paths.profile(person.username)} className="name">
          <bdi>{person.displayName}</bdi>
        </Link>
        <p className="hint">@{person.username}</p>
      </div>
      <MuteButton user={person} />
    </li>
  );
}
