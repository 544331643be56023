// A quoted post, as a small card that leads to it.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { Avatar } from "../people/Avatar";
import { Moment } from "../ui/Moment";

export const QuotedPostPost = graphql(`
  fragment QuotedPost on Post {
    id
    content
    createdAt
    author {
      id
      username
      displayName
      avatarUrl
    }
  }
`);

export function QuotedPost({ post }: { post: FragmentType<typeof QuotedPostPost> }) {
  const { id, content, createdAt, author } = readFragment(QuotedPostPost, post);
  return (
    <blockquote className="quoted">
      <p className="quoted-head">
        <Avatar {...author} size="tiny" />
        <Link to={paths.post(id)} className="name">
          <bdi>{author.displayName}</bdi>
        </Link>
        <span className="hint">
          @{author.username} · <Moment at={createdAt} />
        </span>
      </p>
      <p className="quoted-content" dir="auto">
        {content}
      </p>
    </blockquote>
  );
}
