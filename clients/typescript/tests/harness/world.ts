// Users on the server under test, whose URL is in FANFOLD_URL, and what they do there.

import assert from "node:assert/strict";

export const URL_OF_API = process.env["FANFOLD_URL"] ?? "";

/** The reason to skip the tests that need a server; false if there is one. */
export const skip = URL_OF_API ? false : "FANFOLD_URL is not set";

/** Timeout of a condition, in milliseconds: the machine may be busy with other tests. */
const TIMEOUT = 60_000;

export const pause = (time = 10) => new Promise<void>((resolve) => setTimeout(resolve, time));

/** Waits until a condition holds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + TIMEOUT; !condition();) {
    assert.ok(Date.now() < end, `not reached: ${what}`);
    await pause();
  }
}

/** Returns an address of a client: each may register few users only. */
const address = () => `10.${[0, 0, 0].map(() => Math.floor(Math.random() * 256)).join(".")}`;

/** Executes a document, and returns its data. The server under test trusts this machine as a proxy. */
export async function ask<Data = Record<string, any>>(
  query: string,
  variables = {},
  token?: string,
  url = URL_OF_API,
): Promise<Data> {
  const authorization: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": address(), ...authorization },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: unknown };
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

export const PASSWORD = "a long password";

export interface User {
  name: string;
  id: string;
  token: string;
  /** Begins another session, and returns its token. */
  login(): Promise<string>;
  follow(other: User): Promise<void>;
  unfollow(other: User): Promise<void>;
  /** Publishes a post once, however often it is called with the same key. */
  publish(content: string, idempotencyKey?: string): Promise<string>;
  repost(post: string): Promise<void>;
  undoRepost(post: string): Promise<void>;
  like(post: string): Promise<void>;
  unlike(post: string): Promise<void>;
  block(other: User): Promise<void>;
  delete(post: string): Promise<void>;
  /** Returns the contents of the home timeline, each with those who have reposted it. */
  timeline(): Promise<string[]>;
}

let users = 0;

/** Registers a user with a new name on a server. */
export async function register(prefix = "user", url = URL_OF_API): Promise<User> {
  const askServer = (query: string, variables: object, token?: string) => ask(query, variables, token, url);
  users += 1;
  const name = `${prefix}_${Date.now().toString(36)}_${users}`;
  const { register } = await askServer(
    "mutation ($input: RegisterInput!) { register(input: $input) { token viewer { user { id } } userErrors { message } } }",
    { input: { username: name, password: PASSWORD, displayName: name } },
  );
  assert.deepEqual(register.userErrors, []);
  const token = register.token as string;
  const change = async (field: string, input: object, selection = "") => {
    const type = field[0]!.toUpperCase() + field.slice(1);
    const document = `mutation ($input: ${type}Input!) { ${field}(input: $input) { ${selection} userErrors { message } } }`;
    const data = await askServer(document, { input }, token);
    assert.deepEqual(data[field].userErrors, []);
    return data[field];
  };
  return {
    name,
    id: register.viewer.user.id,
    token,
    login: async () => {
      const document = "mutation ($input: LoginInput!) { login(input: $input) { token } }";
      const { login } = await askServer(document, { input: { username: name, password: PASSWORD, label: "" } });
      return login.token;
    },
    follow: (other) => change("follow", { userId: other.id }),
    unfollow: (other) => change("unfollow", { userId: other.id }),
    publish: async (content, idempotencyKey) =>
      (await change("publish", { content, idempotencyKey }, "post { id }")).post.id,
    repost: (postId) => change("repost", { postId }),
    undoRepost: (postId) => change("undoRepost", { postId }),
    like: (postId) => change("like", { postId }),
    unlike: (postId) => change("unlike", { postId }),
    block: (other) => change("block", { userId: other.id }),
    delete: (postId) => change("deletePost", { postId }),
    timeline: async () => {
      const edges = "edges { node { content } repostedBy { username } }";
      const { viewer } = await askServer(`{ viewer { timeline(first: 100) { ${edges} } } }`, {}, token);
      return viewer.timeline.edges.map(({ node, repostedBy }: any) =>
        [node.content, ...repostedBy.map(({ username }: { username: string }) => username)].join(" "),
      );
    },
  };
}
