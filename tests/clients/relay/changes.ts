// Mutations that do not belong to a component.

import {
  commitMutation,
  type Environment,
  type GraphQLTaggedNode,
  graphql,
  type MutationParameters,
} from "relay-runtime";

import type { changesPublishMutation } from "./generated/changesPublishMutation.graphql";
import type { changesSignInMutation } from "./generated/changesSignInMutation.graphql";

function commit<Mutation extends MutationParameters>(
  environment: Environment,
  mutation: GraphQLTaggedNode,
  variables: Mutation["variables"],
): Promise<Mutation["response"]> {
  return new Promise((resolve, reject) => {
    commitMutation<Mutation>(environment, { mutation, variables, onCompleted: resolve, onError: reject });
  });
}

/** Signs in, and returns the session token. */
export async function signIn(environment: Environment, username: string, password: string): Promise<string> {
  const mutation = graphql`
    mutation changesSignInMutation($input: LoginInput!) {
      login(input: $input) {
        token
        userErrors {
          message
        }
      }
    }
  `;
  const variables = { input: { username, password, label: "relay" } };
  const { login } = await commit<changesSignInMutation>(environment, mutation, variables);
  if (!login?.token) throw new Error(login?.userErrors.map(({ message }) => message).join(" "));
  return login.token;
}

export async function publish(environment: Environment, content: string): Promise<void> {
  const mutation = graphql`
    mutation changesPublishMutation($input: PublishInput!) {
      publish(input: $input) {
        userErrors {
          message
        }
      }
    }
  `;
  await commit<changesPublishMutation>(environment, mutation, { input: { content } });
}
