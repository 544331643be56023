// Deletes one's own post, once one has said so twice.

import { type KeyboardEvent, useState } from "react";
import { useClient, useMutation } from "urql";
import { explain } from "../api/failures";
import { graphql, readFragment } from "../generated";
import { refreshOwnCounts } from "../live/watchRelations";
import { notices } from "../shell/notices";
import { Icon } from "../ui/Icon";
import { UserErrorParts } from "../ui/userErrors";

const DeletePost = graphql(`
  mutation DeletePost($input: DeletePostInput!) {
    deletePost(input: $input) {
      deletedId
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

interface DeletePostButtonProps {
  postId: string;
  /** Called before the post is gone; what it gives back, when it is. */
  onDelete: () => () => void;
}

export function DeletePostButton({ postId, onDelete }: DeletePostButtonProps) {
  const [step, setStep] = useState<"waiting" | "asking" | "kept">("waiting");
  const [{ fetching }, deletePost] = useMutation(DeletePost);
  const client = useClient();

  const keep = () => {
    if (!fetching) setStep("kept");
  };
  const keepByKey = (event: KeyboardEvent) => {
    if (event.key === "Escape") keep();
  };

  const confirm = async () => {
    if (fetching) return;
    const onDeleted = onDelete();
    const { data, error } = await deletePost({ input: { postId } });
    const refusals = readFragment(UserErrorParts, data?.deletePost?.userErrors ?? []);
    const reason = error ? explain(error) : refusals.map(({ message }) => message).join(" ");
    if (reason) {
      notices.tell(`The post could not be deleted. ${reason}`);
    } else {
      onDeleted();
      void refreshOwnCounts(client);
    }
  };

  if (step !== "asking") {
    return (
      <button
        type="button"
        className="button bare icon-button delete"
        autoFocus={step === "kept"}
        onClick={() => setStep("asking")}
        aria-label="Delete this post"
      >
        <Icon name="trash" />
      </button>
    );
  }
  return (
    <span className="confirm" role="group" aria-label="Delete this post?" onKeyDown={keepByKey}>
      <button type="button" className="button danger" autoFocus aria-disabled={fetching} onClick={() => void confirm()}>
        Delete for ever
      </button>
      <button type="button" className="button quiet" aria-disabled={fetching} onClick={keep}>
        Keep
      </button>
    </span>
  );
}
