// The button that blocks a user, after a confirmation, or unblocks them: an icon, or a word in a list. Empty for the viewer.

import { useState } from "react";
import { type FragmentType, readFragment } from "../generated";
import { Confirmed } from "../ui/Confirmed";
import { Icon } from "../ui/Icon";
import { RelationParts, RelationTarget } from "./relation";
import { BLOCKING, useRelationChange } from "./useRelationChange";

interface BlockButtonProps {
  user: FragmentType<typeof RelationTarget>;
  /** The place of a button that shows an icon only. */
  place?: "post" | "profile";
  /** Called before the block; the returned function is called after it has succeeded. */
  onBlock?: () => () => void;
}

const STYLES = { post: "button bare icon-button post-action", profile: "button quiet icon-button" };

export function BlockButton({ user, place, onBlock }: BlockButtonProps) {
  const target = readFragment(RelationTarget, user);
  const { relation } = readFragment(RelationParts, target);
  const { isUnderWay, change } = useRelationChange(target, BLOCKING);
  const [hasBlocked, setHasBlocked] = useState(false);
  if (!relation) return null;

  const block = async () => {
    const onBlocked = onBlock?.();
    const isDone = await change(false);
    setHasBlocked(isDone);
    if (isDone) onBlocked?.();
  };

  if (relation.blockedSince !== null) {
    return (
      <button
        type="button"
        className="button quiet"
        aria-label={`Unblock ${target.displayName}`}
        aria-disabled={isUnderWay}
        // Takes the focus of the button that confirmed the block.
        autoFocus={hasBlocked || isUnderWay}
        onClick={() => void change(true)}
      >
        Unblock
      </button>
    );
  }
  return (
    <Confirmed
      className={place ? STYLES[place] : "button quiet"}
      label={`Block ${target.displayName}`}
      question={`Block ${target.displayName}?`}
      explanation="You will not see each other any more, and will not follow each other."
      confirmation="Block"
      isUnderWay={isUnderWay}
      onConfirm={() => void block()}
    >
      {place ? <Icon name="block" /> : "Block"}
    </Confirmed>
  );
}
