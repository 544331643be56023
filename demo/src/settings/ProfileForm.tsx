// The form that edits the viewer's public profile.

import { type FormEvent, useState } from "react";
import { useMutation } from "urql";
import { explain } from "../api/failures";
import { type FragmentType, graphql, readFragment } from "../generated";
import type { UserErrorPartsFragment } from "../generated/graphql";
import { RegionParts } from "../profile/regionName";
import { Field } from "../ui/Field";
import { errorsAt, errorsElsewhere, UserErrorParts } from "../ui/userErrors";
import { RegionFields, type RegionCodes } from "./RegionFields";

export const ProfileFormUser = graphql(`
  fragment ProfileForm on User {
    id
    displayName
    bio
    avatarUrl
    region {
      ...RegionParts
    }
  }
`);

const UpdateProfile = graphql(`
  mutation UpdateProfile($input: UpdateProfileInput!) {
    updateProfile(input: $input) {
      viewer {
        id
        user {
          ...ProfileForm
        }
      }
      userErrors {
        ...UserErrorParts
      }
    }
  }
`);

const FIELDS = ["displayName", "bio", "avatarUrl", "country", "subdivision"];

export function ProfileForm({ user }: { user: FragmentType<typeof ProfileFormUser> }) {
  const stored = readFragment(ProfileFormUser, user);
  const region = readFragment(RegionParts, stored.region);
  const [displayName, setDisplayName] = useState(stored.displayName);
  const [bio, setBio] = useState(stored.bio);
  const [avatarUrl, setAvatarUrl] = useState(stored.avatarUrl ?? "");
  const [codes, setCodes] = useState<RegionCodes>({
    country: region?.country.code ?? "",
    subdivision: region?.subdivision?.code ?? "",
  });
  const [userErrors, setUserErrors] = useState<readonly UserErrorPartsFragment[]>([]);
  const [message, setMessage] = useState("");
  const [{ fetching }, updateProfile] = useMutation(UpdateProfile);

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (fetching) return;
    setMessage("");
    const region = codes.country ? { country: codes.country, subdivision: codes.subdivision || null } : null;
    // The rule for names may be stricter than when the stored name was set.
    const newName = displayName === stored.displayName ? null : displayName;
    const input = { displayName: newName, bio, avatarUrl: avatarUrl.trim() || null, region };
    const { data, error } = await updateProfile({ input });
    const newErrors = readFragment(UserErrorParts, data?.updateProfile?.userErrors ?? []);
    setUserErrors(newErrors);
    if (error) setMessage(`${explain(error)} Try again.`);
    else if (newErrors.length > 0) setMessage(errorsElsewhere(newErrors, FIELDS).join(" "));
    else setMessage("Saved.");
  };

  return (
    <form className="form" onSubmit={(event) => void save(event)}>
      <Field label="Display name" hint="1 to 50 characters of any script." errors={errorsAt(userErrors, "displayName")}>
        {(wiring) => (
          <input
            {...wiring}
            value={displayName}
            autoComplete="name"
            onChange={(event) => setDisplayName(event.target.value)}
          />
        )}
      </Field>
      <Field label="About you" hint="Up to 500 characters." errors={errorsAt(userErrors, "bio")}>
        {(wiring) => <textarea {...wiring} rows={3} value={bio} onChange={(event) => setBio(event.target.value)} />}
      </Field>
      <Field label="Picture" hint="The https address of a picture." errors={errorsAt(userErrors, "avatarUrl")}>
        {(wiring) => (
          <input
            {...wiring}
            type="url"
            inputMode="url"
            value={avatarUrl}
            autoComplete="photo"
            onChange={(event) => setAvatarUrl(event.target.value)}
          />
        )}
      </Field>
      <RegionFields
        codes={codes}
        onChange={setCodes}
        errors={{ country: errorsAt(userErrors, "country"), subdivision: errorsAt(userErrors, "subdivision") }}
      />
      <div className="form-foot">
        <button type="submit" className="button" aria-disabled={fetching}>
          Save
        </button>
        <p role="status">{message}</p>
      </div>
    </form>
  );
}
