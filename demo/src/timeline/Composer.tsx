// The form to write a post.

import { useMutation } from "urql";
import { graphql } from "../generated";
import type { PublishInput } from "../generated/graphql";
import { PostForm, type PostFormProps } from "./PostForm";

const Publish = graphql(`
  mutation Publish($input: PublishInput!) {
    publish(input: $input) {
      post {
        id
        createdAt
        author {
          id
          isViewer
        }
        ...PostCard
        ...ReferredCounts
      }
      viewer {
        ...OwnPostCount
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

interface ComposerProps extends PostFormProps {
  /** What the post refers to, and the visibility that follows from it. */
  reference?: Pick<PublishInput, "inReplyTo" | "quoteOf" | "visibility">;
}

export function Composer({ reference = {}, ...form }: ComposerProps) {
  const [{ fetching }, publish] = useMutation(Publish);
  const { inReplyTo, quoteOf } = reference;
  const subject = inReplyTo ? `reply ${inReplyTo}` : quoteOf ? `quote ${quoteOf}` : "post";
  const send = async (content: string, idempotencyKey: string) => {
    const { data, error } = await publish({ input: { content, platform: "web", idempotencyKey, ...reference } });
    return { error, userErrors: data?.publish?.userErrors };
  };
  return <PostForm {...form} subject={subject} isUnderWay={fetching} onSend={send} />;
}
