// A user in one of the viewer's lists, with the buttons that take them off it.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { BlockButton } from "./BlockButton";
import { MuteButton } from "./MuteButton";
import { RelationButton } from "./RelationButton";
import { RequestButtons } from "./RequestButtons";
import type { ViewerList } from "./viewerLists";

export const UserRowUser = graphql(`
  fragment UserRow on User {
    username
    displayName
    ...RelationTarget
    ...FollowTarget
  }
`);

const BUTTONS = { muted: MuteButton, blocked: BlockButton, received: RequestButtons, sent: RelationButton };

interface UserRowProps {
  user: FragmentType<typeof UserRowUser>;
  list: ViewerList;
}

export function UserRow({ user, list }: UserRowProps) {
  const person = readFragment(UserRowUser, user);
  const Buttons = BUTTONS[list];
  return (
    <li data-username={person.username}>
      <div>
        <Link to={paths.profile(person.username)} className="name">
          <bdi>{person.displayName}</bdi>
        </Link>
        <p className="hint">@{person.username}</p>
      </div>
      <Buttons user={person} />
    </li>
  );
}
