// Selects a country and one of its subdivisions, from ISO 3166.

import { useRetryingQuery } from "../api/useRetryingQuery";
import { graphql } from "../generated";
import { Failure } from "../ui/Failure";
import { Field } from "../ui/Field";
import { Loading } from "../ui/Loading";

const Countries = graphql(`
  query Countries {
    countries {
      code
      name
      subdivisions {
        code
        name
      }
    }
  }
`);

/** ISO 3166 codes; empty if none is selected. */
export interface RegionCodes {
  country: string;
  subdivision: string;
}

interface RegionFieldsProps {
  codes: RegionCodes;
  onChange: (codes: RegionCodes) => void;
  errors: { country: string[]; subdivision: string[] };
}

const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name, "en");

export function RegionFields({ codes, onChange, errors }: RegionFieldsProps) {
  const { data, error, refetch } = useRetryingQuery({ query: Countries });
  if (!data) return error ? <Failure error={error} onRetry={refetch} /> : <Loading what="countries" />;
  const countries = data.countries.toSorted(byName);
  const subdivisions = countries.find(({ code }) => code === codes.country)?.subdivisions.toSorted(byName) ?? [];
  return (
    <div className="side-by-side">
      <Field label="Country" errors={errors.country}>
        {(wiring) => (
          <select
            {...wiring}
            value={codes.country}
            onChange={(event) => onChange({ country: event.target.value, subdivision: "" })}
          >
            <option value="">Not given</option>
            {countries.map(({ code, name }) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="State or region" errors={errors.subdivision}>
        {(wiring) => (
          <select
            {...wiring}
            value={codes.subdivision}
            disabled={subdivisions.length === 0}
            onChange={(event) => onChange({ ...codes, subdivision: event.target.value })}
          >
            <option value="">Whole country</option>
            {subdivisions.map(({ code, name }) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
}
