// The line above a reply that leads to the post to which it replies.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";
import { Icon } from "../ui/Icon";

export const ReplyingToPost = graphql(`
  fragment ReplyingTo on Post {
    isReply
    inReplyTo {
      id
      author {
        id
        username
      }
    }
  }
`);

export function ReplyingTo({ post }: { post: FragmentType<typeof ReplyingToPost> }) {
  const { isReply, inReplyTo } = readFragment(ReplyingToPost, post);
  if (!isReply) return null;
  return (
    <p className="replying-to hint">
      <Icon name="reply" />
      {inReplyTo ? (
        <span>
          Replying to <Link to={paths.post(inReplyTo.id)}>@{inReplyTo.author.username}</Link>
        </span>
      ) : (
        "Replying to a post that is not available"
      )}
    </p>
  );
}
