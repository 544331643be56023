// The button that deletes one of the viewer's posts, after a confirmation.

import { type KeyboardEvent, useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { graphql, readFragment } from "../generated";
import { notices } from "../shell/notices";
import { Icon } from "../ui/Icon";
import { UserErrorParts } from "../ui/userErrors";

const DeletePost = graphql(`
  mutation DeletePost($input: DeletePostInput!) {
    deletePost(input: $input) {
      deletedPostId
      viewer {
        id
        user {
          id
          posts(first: 1) {
            totalCount
          }
        }
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
  const [step, setStep] = useState<"idle" | "confirming" | "cancelled">("idle");
  const [{ fetching }, deletePost] = useMutation(DeletePost);

  const cancel = () => {
    if (!fetching) setStep("cancelled");
  };
  const cancelByKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") cancel();
  };

  const confirm = async () => {
    if (fetching) return;
    const onDeleted = onDelete();
    const { data, error } = await deletePost({ input: { postId } });
    const userErrors = readFragment(UserErrorParts, data?.deletePost?.userErrors ?? []);
    const reason = error ? explain(error) : userErrors.map(({ message }) => message).join(" ");
    if (reason) notices.show(`The post could not be deleted. ${reason}`);
    else onDeleted();
  };

  if (step !== "confirming") {
    return (
      <button
        type="button"
        className="button bare icon-button post-action"
        autoFocus={step === "cancelled"}
        onClick={() => setStep("confirming")}
        aria-label="Delete this post"
      >
        <Icon name="trash" />
      </button>
    );
  }
  return (
    <span className="confirm" role="group" aria-label="Delete this post?" onKeyDown={cancelByKey}>
      <button type="button" className="button danger" autoFocus aria-disabled={fetching} onClick={() => void confirm()}>
        Delete forever
      </button>
      <button type="button" className="button quiet" aria-disabled={fetching} onClick={cancel}>
        Cancel
      </button>
    </span>
  );
}
