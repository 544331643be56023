// The form to edit one of the viewer's posts.

import { useMutation } from "urql";
import { type FragmentType, graphql, readFragment } from "../generated";
import { PostForm } from "./PostForm";

export const EditFormPost = graphql(`
  fragment EditForm on Post {
    id
    content
  }
`);

const EditPost = graphql(`
  mutation EditPost($input: EditPostInput!) {
    editPost(input: $input) {
      post {
        id
        ...PostCard
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

interface EditFormProps {
  post: FragmentType<typeof EditFormPost>;
  onClose: () => void;
}

export function EditForm({ post, onClose }: EditFormProps) {
  const { id, content } = readFragment(EditFormPost, post);
  const [{ fetching }, edit] = useMutation(EditPost);
  const send = async (content: string, idempotencyKey: string) => {
    const { data, error } = await edit({ input: { postId: id, content, idempotencyKey } });
    return { error, userErrors: data?.editPost?.userErrors };
  };
  return (
    <PostForm
      title="Edit this post"
      label="The text of the post"
      action="Save"
      progress="Saving …"
      subject={`edit ${id}`}
      initial={content}
      isUnderWay={fetching}
      onSend={send}
      onClose={onClose}
    />
  );
}
