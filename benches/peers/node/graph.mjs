// The schema, resolvers and loaders that both servers use. All data is in the keys that Fanfold has written.

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

import DataLoader from "dataloader";
import Redis from "ioredis";

const redis = new Redis(process.env.REDIS_URL, { enableAutoPipelining: true });
const nameShards = Number(process.env.NAME_SHARDS);

export const typeDefs = `
  type Query {
    user(by: UserBy!): User
    viewer: Viewer!
  }
  input UserBy {
    username: String!
  }
  type Viewer {
    timeline(first: Int!): PostConnection!
  }
  type User {
    username: String!
    displayName: String!
    relation: Relation
    followers(first: Int!): UserConnection!
    posts(first: Int!): PostConnection!
  }
  type UserConnection {
    nodes: [User!]!
  }
  type Post {
    content: String!
    author: User!
  }
  type PostConnection {
    nodes: [Post!]!
  }
  type Relation {
    status: Status!
  }
  enum Status {
    NONE
    FOLLOWING
    FOLLOWER
    MUTUAL
  }
`;

const users = (ids) => ({ nodes: ids.map((id) => ({ id })) });
const posts = users;

export const resolvers = {
  Query: {
    async user(_, { by: { username } }) {
      const id = await redis.hget(`ff:name:{n${crc32(username) % nameShards}}`, username);
      return id === null || id.startsWith("?") ? null : { id };
    },
    viewer: () => ({}),
  },
  Viewer: {
    timeline: async (_, { first }, { me }) => posts(await redis.lrange(`ff:{u${me}}:timeline`, 0, first - 1)),
  },
  User: {
    username: async ({ id }, _, { profiles }) => (await profiles.load(id))[0],
    displayName: async ({ id }, _, { profiles }) => (await profiles.load(id))[1],
    relation: async ({ id }, _, { me, statuses }) => (id === me ? null : { status: await statuses.load(id) }),
    followers: async ({ id }, { first }) => users(await redis.zrevrange(`ff:{u${id}}:followers`, 0, first - 1)),
    posts: async ({ id }, { first }, { lists }) => posts(await lists(first).load(id)),
  },
  Post: {
    content: async ({ id }, _, { records }) => (await records.load(id))[1],
    author: async ({ id }, _, { records }) => ({ id: (await records.load(id))[0] }),
  },
};

/** Returns the context of a request: the id of the user who sends it, and loaders. */
export async function context(authorization) {
  const token = Buffer.from(authorization?.replace(/^Bearer /, "") ?? "", "base64url");
  if (token.length !== 40) throw new Error("not a session token");
  const me = token.readBigUInt64BE().toString();
  if (!(await redis.hexists(`ff:{u${me}}:sessions`, createHash("sha256").update(token).digest()))) {
    throw new Error("no such session");
  }
  return { me, ...loaders(me) };
}

function loaders(me) {
  const each = (read) => new DataLoader((ids) => Promise.all(ids.map(read)));
  const lists = new Map();
  return {
    profiles: each((id) => redis.hmget(`ff:{u${id}}:user`, "username", "display_name")),
    records: each((id) => redis.hmget(`ff:{p${id}}:post`, "author", "content")),
    statuses: new DataLoader((ids) => statuses(me, ids)),
    lists(first) {
      const read = (id) => redis.lrange(`ff:{u${id}}:posts`, 0, first - 1);
      if (!lists.has(first)) lists.set(first, each(read));
      return lists.get(first);
    },
  };
}

async function statuses(me, others) {
  const [following, followers] = await Promise.all(
    ["following", "followers"].map((list) => redis.zmscore(`ff:{u${me}}:${list}`, ...others)),
  );
  return others.map((_, index) => {
    if (following[index] === null) return followers[index] === null ? "NONE" : "FOLLOWER";
    return followers[index] === null ? "FOLLOWING" : "MUTUAL";
  });
}
