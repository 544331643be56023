// Users of the demo world for signing in with one click: Ada and some of her mutuals. Empty on a server without a demo
// world.

import { useState } from "react";
import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql, readFragment } from "../generated";
import { SuggestedUser, SuggestedUserUser } from "./SuggestedUser";
import { useAccount } from "./useAccount";

/** The password of all users that `fanfold demo` creates. */
const DEMO_PASSWORD = "demo-password";

const Suggestions = graphql(`
  query Suggestions {
    user(by: { username: "ada" }) {
      ...SuggestedUser
      mutuals(first: 5) {
        nodes {
          ...SuggestedUser
        }
      }
    }
  }
`);

export function SuggestedUsers() {
  const { data } = useRetryingQuery({ query: Suggestions });
  const { isUnderWay, messages, signIn } = useAccount();
  const [chosen, setChosen] = useState<string>();
  if (!data?.user) return null;
  const people = readFragment(SuggestedUserUser, [data.user, ...(data.user.mutuals?.nodes ?? [])]);
  const choose = (username: string) => {
    if (isUnderWay) return;
    setChosen(username);
    void signIn({ username, password: DEMO_PASSWORD });
  };
  return (
    <section className="card">
      <h2>Look around as …</h2>
      <ul className="suggestions">
        {people.map((person) => (
          <SuggestedUser
            key={person.username}
            person={person}
            isUnderWay={isUnderWay && chosen === person.username}
            onChoose={() => choose(person.username)}
          />
        ))}
      </ul>
      <div role="alert">
        {messages.map((message) => (
          <p key={message} className="field-error">
            {message}
          </p>
        ))}
      </div>
    </section>
  );
}
