// A user's posts or, if the viewer does not see them, the reason.

import { type FragmentType, graphql, readFragment } from "../generated";
import { RelationParts } from "../people/relation";
import { Icon, type IconName } from "../ui/Icon";
import { PostList } from "./PostList";

export const ProfilePostsUser = graphql(`
  fragment ProfilePosts on User {
    username
    isViewer
    isPrivate
    ...RelationParts
  }
`);

interface NoPostsProps {
  icon: IconName;
  reason: string;
  hint: string;
}

function NoPosts({ icon, reason, hint }: NoPostsProps) {
  return (
    <section className="card no-posts" aria-label="Posts">
      <Icon name={icon} />
      <p>
        <strong>{reason}</strong>
      </p>
      <p className="hint">{hint}</p>
    </section>
  );
}

export function ProfilePosts({ user }: { user: FragmentType<typeof ProfilePostsUser> }) {
  const person = readFragment(ProfilePostsUser, user);
  const { relation } = readFragment(RelationParts, person);
  if (relation?.blockedSince) {
    return (
      <NoPosts icon="block" reason="You block this user" hint="They do not see you, and you do not see their posts." />
    );
  }
  if (person.isPrivate && !person.isViewer && !relation?.followingSince) {
    const hint = relation?.requestedSince
      ? "Your request is pending. You see the posts once it is accepted."
      : "Only followers see the posts. Request to follow this user to see them.";
    return <NoPosts icon="lock" reason="This account is private" hint={hint} />;
  }
  return <PostList username={person.username} />;
}
