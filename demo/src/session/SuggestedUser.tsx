// A user of the demo world, as a button that signs in as them.

import { graphql } from "../generated";
import type { SuggestedUserFragment } from "../generated/graphql";
import { Avatar } from "../people/Avatar";

export const SuggestedUserUser = graphql(`
  fragment SuggestedUser on User {
    username
    displayName
    avatarUrl
  }
`);

interface SuggestedUserProps {
  person: SuggestedUserFragment;
  isUnderWay: boolean;
  onChoose: () => void;
}

export function SuggestedUser({ person, isUnderWay, onChoose }: SuggestedUserProps) {
  return (
    <li>
      <button type="button" className="suggestion" aria-disabled={isUnderWay} onClick={onChoose}>
        <Avatar {...person} />
        <span>
          <bdi className="name">{person.displayName}</bdi>
          <span className="username">{isUnderWay ? "Signing in …" : `@${person.username}`}</span>
        </span>
      </button>
    </li>
  );
}
