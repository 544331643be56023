// The button that mutes or unmutes a user: an icon, or a word in a list. Empty for the viewer.

import { type FragmentType, readFragment } from "../generated";
import { Icon } from "../ui/Icon";
import { RelationParts, RelationTarget } from "./relation";
import { MUTING, useRelationChange } from "./useRelationChange";

interface MuteButtonProps {
  user: FragmentType<typeof RelationTarget>;
  /** The place of a button that shows an icon only. */
  place?: "post" | "profile";
}

const STYLES = { post: "button bare icon-button post-action second", profile: "button quiet icon-button" };

export function MuteButton({ user, place }: MuteButtonProps) {
  const target = readFragment(RelationTarget, user);
  const { relation } = readFragment(RelationParts, target);
  const { isUnderWay, change } = useRelationChange(target, MUTING);
  if (!relation) return null;
  const isMuted = relation.mutedSince !== null;
  const action = isMuted ? "Unmute" : "Mute";
  return (
    <button
      type="button"
      className={place ? STYLES[place] : "button quiet"}
      aria-label={`${action} ${target.displayName}`}
      aria-disabled={isUnderWay}
      onClick={() => void change(isMuted)}
    >
      {place ? <Icon name={isMuted ? "sound" : "silence"} /> : action}
    </button>
  );
}
