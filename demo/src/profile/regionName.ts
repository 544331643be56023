// The display name of a region.

import { graphql } from "../generated";
import type { RegionPartsFragment } from "../generated/graphql";

export const RegionParts = graphql(`
  fragment RegionParts on Region {
    country {
      code
      name
    }
    subdivision {
      code
      name
    }
  }
`);

/** Returns "Lisboa, Portugal", "Portugal" or, without a region, "Not given". */
export function regionName(region: RegionPartsFragment | null | undefined): string {
  if (!region) return "Not given";
  return region.subdivision ? `${region.subdivision.name}, ${region.country.name}` : region.country.name;
}
