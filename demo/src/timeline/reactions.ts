// The mutations of likes and bookmarks, which the package sends.

import { graphql } from "../generated";

const Like = graphql(`
  mutation Like($input: LikeInput!) {
    change: like(input: $input) {
      post {
        id
        likeCount
        viewerHasLiked
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const Unlike = graphql(`
  mutation Unlike($input: UnlikeInput!) {
    change: unlike(input: $input) {
      post {
        id
        likeCount
        viewerHasLiked
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const Bookmark = graphql(`
  mutation Bookmark($input: BookmarkInput!) {
    change: bookmark(input: $input) {
      post {
        id
        viewerHasBookmarked
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const RemoveBookmark = graphql(`
  mutation RemoveBookmark($input: RemoveBookmarkInput!) {
    change: removeBookmark(input: $input) {
      post {
        id
        viewerHasBookmarked
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

export const reactionDocuments = {
  like: Like,
  unlike: Unlike,
  bookmark: Bookmark,
  removeBookmark: RemoveBookmark,
};
