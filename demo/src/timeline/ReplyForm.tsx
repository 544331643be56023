// The form to reply to a post.

import type { Ref } from "react";
import { type FragmentType, graphql, readFragment } from "../generated";
import { Composer } from "./Composer";

export const ReplyFormPost = graphql(`
  fragment ReplyForm on Post {
    id
    visibility
    author {
      id
      username
      displayName
    }
  }
`);

interface ReplyFormProps {
  post: FragmentType<typeof ReplyFormPost>;
  /** The text box. */
  box?: Ref<HTMLTextAreaElement>;
  /** Called when the form is to close; without it, the form stays. */
  onClose?: () => void;
}

export function ReplyForm({ post, ...rest }: ReplyFormProps) {
  const { id, visibility, author } = readFragment(ReplyFormPost, post);
  return (
    <Composer
      title={`Reply to ${author.displayName}`}
      label={`Your reply to @${author.username}`}
      action="Publish reply"
      // A reply must not be more visible than the post.
      reference={{ inReplyTo: id, visibility }}
      {...rest}
    />
  );
}
