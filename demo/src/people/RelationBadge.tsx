// How the viewer and somebody stand, in one of four badges; nothing for the viewer itself.

import { useEffect } from "react";
import { type FragmentType, readFragment } from "../generated";
import { shownUsers } from "../live/shownUsers";
import { Icon } from "../ui/Icon";
import { Standing, WORDS } from "./standing";

export function RelationBadge({ user }: { user: FragmentType<typeof Standing> }) {
  const { id, relation } = readFragment(Standing, user);
  useEffect(() => shownUsers.add(id), [id]);
  if (!relation) return null;
  const { badge, icon } = WORDS[relation.status];
  return (
    <span className="badge" data-status={relation.status}>
      <Icon name={icon} />
      {badge}
    </span>
  );
}
