// The replies to a post, the oldest or the newest first. Replies by users whom the viewer follows arrive as events.

import { useState } from "react";
import { usePages } from "../api/usePages";
import { useRefreshing } from "../api/useRefreshing";
import { graphql } from "../generated";
import type { ReplyOrder } from "../generated/graphql";
import { PostPages } from "../timeline/PostPages";
import { Choice } from "../ui/Choice";

const RepliesTo = graphql(`
  query RepliesTo($postId: ID!, $order: ReplyOrder!, $after: String) {
    post(id: $postId) {
      id
      replies(first: 20, after: $after, order: $order) {
        nodes {
          id
          ...PostCard
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  }
`);

const ORDERS: Record<ReplyOrder, string> = { OLDEST: "Oldest first", NEWEST: "Newest first" };

interface RepliesProps {
  postId: string;
}

function OrderedReplies({ postId, order }: RepliesProps & { order: ReplyOrder }) {
  const { page, ...reading } = usePages(RepliesTo, { postId, order }, ({ post }) => post?.replies);
  useRefreshing(reading.refresh);
  return (
    <PostPages
      label="Replies"
      entries={page?.nodes.map((node) => ({ node }))}
      reading={reading}
      what="replies"
      empty="No replies yet."
      areBelowParent
    />
  );
}

export function Replies({ postId }: RepliesProps) {
  const [order, setOrder] = useState<ReplyOrder>("OLDEST");
  return (
    <>
      <Choice
        label="Order"
        options={Object.keys(ORDERS) as ReplyOrder[]}
        nameOf={(order) => ORDERS[order]}
        chosen={order}
        onChoose={setOrder}
      />
      <OrderedReplies key={order} postId={postId} order={order} />
    </>
  );
}
