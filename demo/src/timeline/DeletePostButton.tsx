// The button that deletes one of the viewer's posts, after a confirmation.

import { useMutation } from "urql";
import { graphql } from "../generated";
import { noticeFailure } from "../shell/notices";
import { Confirmed } from "../ui/Confirmed";
import { Icon } from "../ui/Icon";

const DeletePost = graphql(`
  mutation DeletePost($input: DeletePostInput!) {
    deletePost(input: $input) {
      deletedPostId
      viewer {
        ...OwnPostCount
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

interface DeletePostButtonProps {
  postId: string;
  /** Called before the deletion; the returned function is called after it has succeeded. */
  onDelete: () => () => void;
}

export function DeletePostButton({ postId, onDelete }: DeletePostButtonProps) {
  const [{ fetching }, deletePost] = useMutation(DeletePost);

  const remove = async () => {
    if (fetching) return;
    const onDeleted = onDelete();
    const { data, error } = await deletePost({ input: { postId } });
    if (!noticeFailure("The post could not be deleted.", error, data?.deletePost?.userErrors)) onDeleted();
  };

  return (
    <Confirmed
      className="button bare icon-button post-action"
      label="Delete this post"
      question="Delete this post?"
      confirmation="Delete forever"
      isUnderWay={fetching}
      onConfirm={() => void remove()}
    >
      <Icon name="trash" />
    </Confirmed>
  );
}
