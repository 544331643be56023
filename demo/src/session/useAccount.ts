// Signs in or creates an account: both begin a session, or return the errors to show.

import { useState } from "react";
import { type OperationResult, useMutation } from "urql";
import { explain } from "../api/failures";
import { type FragmentType, graphql, readFragment } from "../generated";
import type { LoginInput, RegisterInput, UserErrorPartsFragment } from "../generated/graphql";
import { UserErrorParts } from "../ui/userErrors";
import { session } from "./session";

const Login = graphql(`
  mutation Login($input: LoginInput!) {
    account: login(input: $input) {
      token
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const Register = graphql(`
  mutation Register($input: RegisterInput!) {
    account: register(input: $input) {
      token
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

/** The label of this client in the list of sessions. */
const LABEL = "Demo";

interface AccountData {
  account: { token: string | null; userErrors: readonly FragmentType<typeof UserErrorParts>[] } | null;
}

export function useAccount() {
  const [signingIn, login] = useMutation(Login);
  const [registering, register] = useMutation(Register);
  const [userErrors, setUserErrors] = useState<readonly UserErrorPartsFragment[]>([]);
  const [failure, setFailure] = useState<string>();

  const clearErrors = () => {
    setUserErrors([]);
    setFailure(undefined);
  };

  const begin = async (request: Promise<OperationResult<AccountData>>) => {
    clearErrors();
    const { data, error } = await request;
    if (error) setFailure(explain(error));
    else if (data?.account?.token) session.begin(data.account.token);
    else setUserErrors(readFragment(UserErrorParts, data?.account?.userErrors ?? []));
  };

  return {
    isUnderWay: signingIn.fetching || registering.fetching,
    userErrors,
    failure,
    /** All error messages, for a form without fields to show them at. */
    messages: [...(failure ? [failure] : []), ...userErrors.map(({ message }) => message)],
    clearErrors,
    signIn: (input: LoginInput) => begin(login({ input: { ...input, label: LABEL } })),
    register: (input: RegisterInput) => begin(register({ input: { ...input, label: LABEL } })),
  };
}
