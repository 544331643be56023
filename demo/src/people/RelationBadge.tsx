// The relation between the viewer and a user, as one of four badges; empty for the viewer.

import { useEffect } from "react";
import { type FragmentType, readFragment } from "../generated";
import { shownUsers } from "../live/shownUsers";
import { Icon } from "../ui/Icon";
import { RelationParts, RELATION_LABELS } from "./relation";

export function RelationBadge({ user }: { user: FragmentType<typeof RelationParts> }) {
  const { id, relation } = readFragment(RelationParts, user);
  useEffect(() => shownUsers.add(id), [id]);
  if (!relation) return null;
  const { badge, icon } = RELATION_LABELS[relation.status];
  return (
    <span className="badge" data-status={relation.status}>
      <Icon name={icon} />
      {badge}
    </span>
  );
}
