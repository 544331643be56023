// The button that reposts a post, or undoes that: shown optimistically; a rejected change is rolled back and reported.

import { useMutation } from "urql";
import { type FragmentType, graphql, readFragment } from "../generated";
import { noticeFailure } from "../shell/notices";
import { Icon } from "../ui/Icon";
import { counted, formatCount } from "../ui/numbers";

export const RepostButtonPost = graphql(`
  fragment RepostButton on Post {
    id
    visibility
    repostCount
    viewerHasReposted
    author {
      id
      displayName
      isPrivate
    }
  }
`);

const Repost = graphql(`
  mutation Repost($input: RepostInput!) {
    change: repost(input: $input) {
      post {
        id
        repostCount
        viewerHasReposted
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

const UndoRepost = graphql(`
  mutation UndoRepost($input: UndoRepostInput!) {
    change: undoRepost(input: $input) {
      post {
        id
        repostCount
        viewerHasReposted
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

export function RepostButton({ post }: { post: FragmentType<typeof RepostButtonPost> }) {
  const { id, visibility, repostCount, viewerHasReposted, author } = readFragment(RepostButtonPost, post);
  const [reposting, repost] = useMutation(Repost);
  const [undoing, undo] = useMutation(UndoRepost);
  const isUnderWay = reposting.fetching || undoing.fetching;
  const isReposted = viewerHasReposted === true;
  const isForEveryone = visibility === "PUBLIC" && !author.isPrivate;
  if (!isForEveryone && !isReposted) return null;

  const change = async () => {
    if (isUnderWay) return;
    const { data, error } = await (isReposted ? undo : repost)({ input: { postId: id } });
    const what = isReposted ? "The repost could not be undone." : "The post could not be reposted.";
    noticeFailure(what, error, data?.change?.userErrors);
  };

  const count = repostCount > 0 ? `: ${counted(repostCount, "repost")}` : "";
  return (
    <button
      type="button"
      className="button bare icon-button counting"
      aria-label={`Repost ${author.displayName}${count}`}
      aria-pressed={isReposted}
      aria-disabled={isUnderWay}
      onClick={() => void change()}
    >
      <Icon name="repost" />
      {repostCount > 0 && formatCount(repostCount)}
    </button>
  );
}
