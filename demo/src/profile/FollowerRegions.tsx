// A user's followers by region.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Bars } from "../ui/Bars";
import { Missing, type Reading } from "../ui/Missing";
import { counted, formatCount } from "../ui/numbers";
import { regionName, RegionParts } from "./regionName";

export const FollowerRegionsUser = graphql(`
  fragment FollowerRegions on User {
    followersByRegion(first: 8) {
      sampledCount
      totalCount
      regions {
        count
        share
        region {
          ...RegionParts
        }
      }
    }
  }
`);

interface FollowerRegionsProps {
  user: FragmentType<typeof FollowerRegionsUser>;
  reading: Reading;
}

export function FollowerRegions({ user, reading }: FollowerRegionsProps) {
  const { followersByRegion: sample } = readFragment(FollowerRegionsUser, user);
  if (!sample) return <Missing what="regions" reading={reading} />;
  if (sample.totalCount === 0) return <p className="quiet-text">No followers yet.</p>;
  const bars = sample.regions.map(({ region, count, share }) => ({
    name: regionName(readFragment(RegionParts, region)),
    count,
    share,
  }));
  return (
    <>
      <Bars bars={bars} unit="followers" />
      <p className="hint">
        {sample.sampledCount < sample.totalCount
          ? `Sample of ${formatCount(sample.sampledCount)} of ${counted(sample.totalCount, "follower")}.`
          : `Based on ${counted(sample.totalCount, "follower")}.`}
      </p>
    </>
  );
}
