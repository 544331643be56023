// A user's followers by region.

import { type FragmentType, graphql, readFragment } from "../generated";
import { Bars } from "../ui/Bars";
import { counted, formatCount } from "../ui/numbers";
import { regionName, RegionParts } from "./regionName";

export const FollowerRegionsUser = graphql(`
  fragment FollowerRegions on User {
    followersByRegion(first: 8) {
      sampled
      total
      shares {
        count
        share
        region {
          ...RegionParts
        }
      }
    }
  }
`);

export function FollowerRegions({ user }: { user: FragmentType<typeof FollowerRegionsUser> }) {
  const { followersByRegion: regions } = readFragment(FollowerRegionsUser, user);
  if (!regions) return <p className="quiet-text">Temporarily unavailable.</p>;
  if (regions.total === 0) return <p className="quiet-text">No followers yet.</p>;
  const bars = regions.shares.map(({ region, count, share }) => ({
    name: regionName(readFragment(RegionParts, region)),
    count,
    share,
  }));
  return (
    <>
      <Bars bars={bars} unit="followers" />
      <p className="hint">
        {regions.sampled < regions.total
          ? `Sample of ${formatCount(regions.sampled)} of ${counted(regions.total, "follower")}.`
          : `Based on ${counted(regions.total, "follower")}.`}
      </p>
    </>
  );
}
