// Mutations and subscriptions that do not belong to a component.

import {
  commitMutation,
  type Environment,
  type GraphQLTaggedNode,
  graphql,
  type MutationParameters,
  requestSubscription,
} from "relay-runtime";

import type { changesPublishMutation } from "./generated/changesPublishMutation.graphql";
import type { changesSignInMutation } from "./generated/changesSignInMutation.graphql";
import type { changesWatchSubscription } from "./generated/changesWatchSubscription.graphql";

function commit<Mutation extends MutationParameters>(
  environment: Environment,
  mutation: GraphQLTaggedNode,
  variables: Mutation["variables"],
): Promise<Mutation["response"]> {
  return new Promise((resolve, reject) => {
    commitMutation<Mutation>(environment, { mutation, variables, onCompleted: resolve, onError: reject });
  });
}

/** Signs in, and returns the session token and the user's id. */
export async function signIn(environment: Environment, username: string, password: string) {
  const mutation = graphql`
    mutation changesSignInMutation($input: LoginInput!) {
      login(input: $input) {
        token
        viewer {
          user {
            id
          }
        }
        userErrors {
          message
        }
      }
    }
  `;
  const variables = { input: { username, password, label: "relay" } };
  const { login } = await commit<changesSignInMutation>(environment, mutation, variables);
  if (!login?.token || !login.viewer) throw new Error(login?.userErrors.map(({ message }) => message).join(" "));
  return { token: login.token, userId: login.viewer.user.id };
}

/** Publishes a post, and puts it on top of these lists of the author's posts. */
export async function publish(environment: Environment, content: string, connections: string[] = []): Promise<void> {
  const mutation = graphql`
    mutation changesPublishMutation($input: PublishInput!, $connections: [ID!]!) {
      publish(input: $input) {
        postEdge @prependEdge(connections: $connections) {
          cursor
          node {
            content
          }
        }
        viewer {
          user {
            ...Own_counts
          }
        }
        userErrors {
          message
        }
      }
    }
  `;
  await commit<changesPublishMutation>(environment, mutation, { input: { content }, connections });
}

/** Keeps the relations in the store up to date, until the returned function is called. Relay selects their ids. */
export function watchRelations(environment: Environment): () => void {
  const subscription = graphql`
    subscription changesWatchSubscription {
      relationChanged {
        __typename
        ... on RelationChanged {
          relation {
            status
          }
        }
        ... on RelationsReset {
          __typename
        }
      }
    }
  `;
  return requestSubscription<changesWatchSubscription>(environment, {
    subscription,
    variables: {},
    updater: (store, response) => {
      // Changes may have been missed: what is shown next is read again.
      if (response?.relationChanged.__typename === "RelationsReset") store.invalidateStore();
    },
  }).dispose;
}
