// The switch that makes the viewer's account private or public.

import { useId, useState } from "react";
import { useMutation } from "urql";
import { type FragmentType, graphql, readFragment } from "../generated";
import { noticeFailure } from "../shell/notices";

export const PrivacySettingUser = graphql(`
  fragment PrivacySetting on User {
    id
    isPrivate
  }
`);

const SetPrivacy = graphql(`
  mutation SetPrivacy($input: UpdateProfileInput!) {
    updateProfile(input: $input) {
      viewer {
        id
        ...RequestCount
        user {
          id
          ...PrivacySetting
          ...Counts
        }
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

export function PrivacySetting({ user }: { user: FragmentType<typeof PrivacySettingUser> }) {
  const { isPrivate } = readFragment(PrivacySettingUser, user);
  const [wanted, setWanted] = useState<boolean>();
  const [{ fetching }, setPrivacy] = useMutation(SetPrivacy);
  const id = useId();

  const change = async (isPrivate: boolean) => {
    if (fetching) return;
    setWanted(isPrivate);
    const { data, error } = await setPrivacy({ input: { isPrivate } });
    setWanted(undefined);
    const what = `Your account could not be made ${isPrivate ? "private" : "public"}.`;
    noticeFailure(what, error, data?.updateProfile?.userErrors);
  };

  return (
    <div className="switch">
      <input
        id={id}
        type="checkbox"
        role="switch"
        checked={wanted ?? isPrivate}
        aria-describedby={`${id}-hint`}
        aria-disabled={fetching}
        onChange={(event) => void change(event.target.checked)}
      />
      <label htmlFor={id}>Private account</label>
      <p id={`${id}-hint`} className="hint">
        Only your followers see your posts, and no one follows you before you accept their request. Making the account
        public accepts all pending requests.
      </p>
    </div>
  );
}
