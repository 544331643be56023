// Formats the page of `apollo` and `urql`: what is there is shown, and what could not be loaded is null.

type List<Node> = { edges: ReadonlyArray<{ node: Node }> } | null;

interface Badge {
  username: string;
  relation: { status: string } | null;
}

interface Own {
  followingCount: number | null;
  following: List<Badge>;
  postCount: number | null;
  posts: List<{ content: string }>;
}

interface Post {
  content: string;
  author: Badge;
  inReplyTo: { author: Badge } | null;
}

/** The data of the page's queries, each as soon as it is there. */
export interface Shown {
  own?: Own | null | undefined;
  profile?: (Badge & { id: string; followerCount: number | null }) | null | undefined;
  timeline?: List<Post> | undefined;
}

const countOf = (count: number | null) => count ?? "unknown";
const badgeOf = ({ username, relation }: Badge) => `${username} ${relation?.status ?? "(the viewer)"}`;

function lineOf({ content, author, inReplyTo }: Post): string {
  const parent = inReplyTo ? ` to ${badgeOf(inReplyTo.author)}` : "";
  return `${badgeOf(author)}${parent}: ${content}`;
}

function linesOf<Node>(list: List<Node>, format: (node: Node) => string): string[] {
  return list ? list.edges.map(({ node }) => format(node)) : ["could not be loaded"];
}

/** Returns the lines of the page; none until all data is there. */
export function format({ own, profile, timeline }: Shown): string {
  if (!own || !profile || timeline === undefined) return "";
  return [
    `${badgeOf(profile)}, followers: ${countOf(profile.followerCount)}`,
    `following: ${countOf(own.followingCount)}`,
    ...linesOf(own.following, badgeOf),
    `posts: ${countOf(own.postCount)}`,
    ...linesOf(own.posts, ({ content }) => content),
    "timeline",
    ...linesOf(timeline, lineOf),
  ].join("\n");
}
