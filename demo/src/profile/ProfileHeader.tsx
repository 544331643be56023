// The head of a profile: name, bio, region, and relation to the viewer.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Link } from "../navigation/Link";
import { PageHeading } from "../navigation/PageHeading";
import { paths } from "../navigation/routes";
import { Avatar } from "../people/Avatar";
import { BlockButton } from "../people/BlockButton";
import { MuteButton } from "../people/MuteButton";
import { RelationBadge } from "../people/RelationBadge";
import { RelationButton } from "../people/RelationButton";
import { RelationParts } from "../people/relation";
import { RequestButtons } from "../people/RequestButtons";
import { Icon } from "../ui/Icon";
import { Moment } from "../ui/Moment";
import { regionName, RegionParts } from "./regionName";

export const ProfileHeaderUser = graphql(`
  fragment ProfileHeader on User {
    username
    displayName
    bio
    avatarUrl
    createdAt
    isViewer
    isPrivate
    region {
      ...RegionParts
    }
    ...RelationParts
    ...RelationTarget
    ...FollowTarget
  }
`);

export function ProfileHeader({ user }: { user: FragmentType<typeof ProfileHeaderUser> }) {
  const person = readFragment(ProfileHeaderUser, user);
  const { relation } = readFragment(RelationParts, person);
  const region = readFragment(RegionParts, person.region);
  return (
    <header className="profile-header">
      <Avatar {...person} size="large" />
      <div className="profile-actions">
        {person.isViewer ? (
          <Link to={paths.settings} className="button quiet">
            Edit profile
          </Link>
        ) : (
          <>
            {relation?.blockedSince === null && <MuteButton user={person} place="profile" />}
            <BlockButton user={person} place="profile" />
            <RelationButton user={person} />
          </>
        )}
      </div>
      <PageHeading title={`${person.displayName} (@${person.username})`}>
        <bdi>{person.displayName}</bdi>
      </PageHeading>
      <p className="profile-names">
        <span className="username">@{person.username}</span>
        {person.isViewer ? <span className="badge">You</span> : <RelationBadge user={person} />}
        {person.isPrivate && (
          <span className="badge">
            <Icon name="lock" />
            Private
          </span>
        )}
      </p>
      {person.bio && (
        <p className="profile-bio" dir="auto">
          {person.bio}
        </p>
      )}
      <ul className="facts">
        {region && (
          <li>
            <Icon name="place" />
            {regionName(region)}
          </li>
        )}
        <li>
          <Icon name="calendar" />
          Joined <Moment at={person.createdAt} isDay />
        </li>
        {relation?.followingSince && (
          <li>
            <Icon name="following" />
            Following since <Moment at={relation.followingSince} isDay />
          </li>
        )}
        {relation?.followerSince && (
          <li>
            <Icon name="follower" />
            Follower since <Moment at={relation.followerSince} isDay />
          </li>
        )}
        {relation?.blockedSince && (
          <li>
            <Icon name="block" />
            Blocked since <Moment at={relation.blockedSince} isDay />
          </li>
        )}
        {relation?.mutedSince && (
          <li>
            <Icon name="silence" />
            Muted since <Moment at={relation.mutedSince} isDay />
          </li>
        )}
      </ul>
      {relation?.requesterSince && (
        <div className="profile-request">
          <p>{person.displayName} requests to follow you.</p>
          <RequestButtons user={person} />
        </div>
      )}
    </header>
  );
}
