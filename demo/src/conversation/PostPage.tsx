// The page of a post: the posts above it, the post with a form to reply, and its replies, the posts that
// quote it, or the users who have reposted or like it.

import { useRef } from "react";
import { useRefreshing } from "../api/useRefreshing";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { PageHeading } from "../navigation/PageHeading";
import { paths, type PostTab } from "../navigation/routes";
import { Tabs } from "../navigation/Tabs";
import { NotFound } from "../shell/NotFound";
import { PostCard } from "../timeline/PostCard";
import { ReplyForm } from "../timeline/ReplyForm";
import { Missing } from "../ui/Missing";
import { Ancestors } from "./Ancestors";
import { Likes } from "./Likes";
import { Quotes } from "./Quotes";
import { Replies } from "./Replies";
import { Reposts } from "./Reposts";

const PostQuery = graphql(`
  query Post($id: ID!) {
    post(id: $id) {
      id
      replyCount
      quoteCount
      repostCount
      likeCount
      author {
        id
        displayName
      }
      ancestors(first: 40) {
        id
        ...PostCard
      }
      ...PostCard
      ...ReplyForm
    }
  }
`);

const LISTS = { replies: Replies, quotes: Quotes, reposts: Reposts, likes: Likes };

interface PostPageProps {
  id: string;
  tab: PostTab;
}

export function PostPage({ id, tab }: PostPageProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  const { data, ...reading } = useRetryingQuery({
    query: PostQuery,
    variables: { id },
    requestPolicy: "cache-and-network",
  });
  useRefreshing(reading.refetch);
  if (!data) return <Missing what="the post" reading={reading} />;
  const { post } = data;
  if (!post) return <NotFound title="Post not found">This post does not exist, or you cannot see it.</NotFound>;
  const tabs: { name: PostTab; label: string; one: string; count: number | null }[] = [
    { name: "replies", label: "Replies", one: "Reply", count: post.replyCount },
    { name: "quotes", label: "Quotes", one: "Quote", count: post.quoteCount },
    { name: "reposts", label: "Reposts", one: "Repost", count: post.repostCount },
    { name: "likes", label: "Likes", one: "Like", count: post.likeCount },
  ];
  const shown = tabs.map(({ name, ...labels }) => ({ ...labels, to: paths.post(id, name), isCurrent: name === tab }));
  const List = LISTS[tab];
  const isBelowParent = post.ancestors !== null && post.ancestors.length > 0;
  return (
    <div className="page">
      <div className="column">
        {post.ancestors ? <Ancestors posts={post.ancestors} /> : <Missing what="the posts above" reading={reading} />}
        <PageHeading
          title={`Post by ${post.author.displayName}`}
          isBelowTop={isBelowParent}
          className="visually-hidden"
        >
          Post by {post.author.displayName}
        </PageHeading>
        <section className="own-page" aria-label="Post">
          <PostCard post={post} isBelowParent={isBelowParent} onReply={() => box.current?.focus()} />
          <ReplyForm post={post} box={box} />
        </section>
        <Tabs label="Conversation" tabs={shown} />
        <List postId={id} />
      </div>
    </div>
  );
}
