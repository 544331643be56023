// A region in words.

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

/** "Lisboa, Portugal", "Portugal", or that it was not given. */
export function regionName(region: RegionPartsFragment | null | undefined): string {
  if (!region) return "Not given";
  return region.subdivision ? `${region.subdivision.name}, ${region.country.name}` : region.country.name;
}
