// The content of a post: text with links to mentioned users and to other sites.

import { Fragment } from "react";
import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { paths } from "../navigation/routes";

export const PostContentPost = graphql(`
  fragment PostContent on Post {
    segments {
      __typename
      text
      start
      ... on MentionSegment {
        user {
          id
          username
        }
      }
      ... on LinkSegment {
        url
      }
    }
  }
`);

interface PostContentProps {
  post: FragmentType<typeof PostContentPost>;
}

export function PostContent({ post }: PostContentProps) {
  return readFragment(PostContentPost, post).segments.map((segment) => {
    const { text, start } = segment;
    switch (segment.__typename) {
      case "MentionSegment":
        if (segment.user === null) return <Fragment key={start}>{text}</Fragment>;
        return (
          <Link key={start} to={paths.profile(segment.user.username)}>
            {text}
          </Link>
        );
      case "HashtagSegment":
        return (
          <span key={start} className="hashtag">
            {text}
          </span>
        );
      case "LinkSegment":
        return (
          <a key={start} href={segment.url} target="_blank" rel="nofollow noopener noreferrer">
            {text}
          </a>
        );
      default:
        return <Fragment key={start}>{text}</Fragment>;
    }
  });
}
