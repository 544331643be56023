// The button that mutes or unmutes a user; empty for the viewer.

import { type FragmentType, readFragment } from "../generated";
import { Icon } from "../ui/Icon";
import { RelationParts } from "./relation";
import { FollowTarget } from "./RelationButton";
import { MUTING, useRelationChange } from "./useRelationChange";

interface MuteButtonProps {
  user: FragmentType<typeof FollowTarget>;
  /** True for a button in the corner of a post, which shows an icon only. */
  isIcon?: boolean;
}

export function MuteButton({ user, isIcon = false }: MuteButtonProps) {
  const target = readFragment(FollowTarget, user);
  const { relation } = readFragment(RelationParts, target);
  const { isUnderWay, change } = useRelationChange(target, MUTING);
  if (!relation) return null;
  const isMuted = relation.mutedSince !== null;
  const action = isMuted ? "Unmute" : "Mute";
  return (
    <button
      type="button"
      className={isIcon ? "button bare icon-button post-action" : "button quiet"}
      aria-label={`${action} ${target.displayName}`}
      aria-disabled={isUnderWay}
      onClick={() => void change(isMuted)}
    >
      {isIcon ? <Icon name={isMuted ? "sound" : "silence"} /> : action}
    </button>
  );
}
