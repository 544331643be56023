// The app of the README, with types as generators write them.

import { ApolloClient, InMemoryCache, type TypedDocumentNode } from "@apollo/client";
import { applicationToken, createFanfold, expectRelation, localToken, publishKey } from "@fanfold/client";
import { apolloBinding, fanfoldCache, fanfoldLink } from "@fanfold/client/apollo";
import { codegenConfig } from "@fanfold/client/codegen";
import {
  FanfoldProvider,
  type ListedEntry,
  useConnection,
  useFollow,
  useSession,
  useTimeline,
} from "@fanfold/client/react";
import { fanfoldNetwork } from "@fanfold/client/relay";
import { fanfoldCache as urqlCache, fanfoldExchange } from "@fanfold/client/urql";

type Status = "NONE" | "FOLLOWING" | "FOLLOWER" | "MUTUAL";
interface User {
  id: string;
  isPrivate: boolean;
  relation: { id: string; status: Status; followingSince: string | null; requestedSince: string | null } | null;
}
interface Entry extends ListedEntry {
  listedAt: string;
  node: { id: string; content: string; author: User };
}
interface Home {
  viewer: {
    timeline: {
      edges: Entry[];
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
      liveCursor: string | null;
    } | null;
  } | null;
}
type Events =
  | { __typename: "PostAdded"; cursor: string; edge: Entry }
  | { __typename: "PostRemoved"; cursor: string; postId: string }
  | { __typename: "TimelineReset"; cursor: string };

declare const HomeDocument: TypedDocumentNode<Home, { after?: string | null }>;
declare const EventsDocument: TypedDocumentNode<{ timeline: Events }, { after?: string | null }>;
declare const FollowDocument: TypedDocumentNode;

const fanfold = createFanfold({ url: "/graphql", token: localToken("app") });
createFanfold({ url: "/graphql", token: applicationToken(async () => null) });
const client = new ApolloClient({ cache: new InMemoryCache(fanfoldCache()), link: fanfoldLink(fanfold) });
const binding = apolloBinding(fanfold, client, { follow: FollowDocument, unfollow: FollowDocument });

function FollowButton({ user }: { user: User }) {
  const { label, toggle, error } = useFollow(user);
  return (
    <>
      <button onClick={toggle}>{label}</button>
      {error && <p role="alert">{error}</p>}
    </>
  );
}

function Timeline() {
  const { entries, waiting, reveal, loadMore, hasMore } = useTimeline<Entry>({
    query: HomeDocument,
    events: EventsDocument,
  });
  return (
    <>
      {useConnection() === "lost" && <p role="status">Reconnecting …</p>}
      {waiting > 0 && <button onClick={reveal}>{waiting} new</button>}
      {entries.map(({ key, node }) => (
        <article key={key}>
          {node.content} <FollowButton user={node.author} />
        </article>
      ))}
      {hasMore && <button onClick={loadMore}>More</button>}
    </>
  );
}

export function App() {
  const { isSignedIn, signOut } = useSession();
  return (
    <FanfoldProvider binding={binding}>
      <Timeline />
      {isSignedIn && <button onClick={signOut}>Sign out</button>}
    </FanfoldProvider>
  );
}

export async function read(): Promise<string | null | undefined> {
  const { data, error } = await fanfold.request(HomeDocument, { after: null });
  const status: Status = expectRelation("follow", { status: "NONE" as Status }, false).status;
  const { key } = publishKey(`${status} ${error?.code}`);
  return data.viewer?.timeline?.liveCursor ?? key;
}

export const watch = fanfold.timeline({
  events: EventsDocument,
  read,
  apply(event) {
    if (event.__typename === "PostAdded") console.log(event.edge.node.content);
  },
});

export { codegenConfig, fanfoldExchange, fanfoldNetwork, urqlCache };
