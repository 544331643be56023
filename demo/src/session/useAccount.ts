// Signing in, and making an account: both begin a session, or say why not.

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

/** What the sessions of this client are called in the list of sessions. */
const LABEL = "Demo";

interface Answer {
  account: { token: string | null; userErrors: readonly FragmentType<typeof UserErrorParts>[] } | null;
}

export function useAccount() {
  const [signingIn, login] = useMutation(Login);
  const [registering, register] = useMutation(Register);
  const [refusals, setRefusals] = useState<readonly UserErrorPartsFragment[]>([]);
  const [failure, setFailure] = useState<string>();

  const forget = () => {
    setRefusals([]);
    setFailure(undefined);
  };

  const take = async (asking: Promise<OperationResult<Answer>>) => {
    forget();
    const { data, error } = await asking;
    if (error) setFailure(explain(error));
    else if (data?.account?.token) session.begin(data.account.token);
    else setRefusals(readFragment(UserErrorParts, data?.account?.userErrors ?? []));
  };

  return {
    isUnderWay: signingIn.fetching || registering.fetching,
    refusals,
    failure,
    /** All that is to be told, where there are no fields to tell it at. */
    messages: [...(failure ? [failure] : []), ...refusals.map(({ message }) => message)],
    /** Forgets why it was refused. */
    forget,
    signIn: (input: LoginInput) => take(login({ input: { ...input, label: LABEL } })),
    register: (input: RegisterInput) => take(register({ input: { ...input, label: LABEL } })),
  };
}
