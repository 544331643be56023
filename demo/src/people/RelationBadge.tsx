// The relation between the viewer and a user, as one of six badges; empty for the viewer.

import { useShown } from "@fanfold/client/react";
import { type FragmentType, readFragment } from "../generated";
import { Icon } from "../ui/Icon";
import { RelationParts, shownAs } from "./relation";

export function RelationBadge({ user }: { user: FragmentType<typeof RelationParts> }) {
  const { id, relation } = readFragment(RelationParts, user);
  useShown(id);
  if (!relation) return null;
  const { status, badge, icon } = shownAs(relation);
  return (
    <span className="badge" data-status={status}>
      <Icon name={icon} />
      {badge}
    </span>
  );
}
