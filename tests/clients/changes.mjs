// Rejects a schema that breaks clients of the last release, unless each breaking change is announced:
//
//     node changes.mjs <schema> [<announced changes>]
//
// A change is announced as `{ "change": "FIELD_REMOVED User.bio", "reason": "…" }`: its kind and path, as printed here
// when it is rejected. Announced changes that are not in the schema are rejected, too.

import { readFileSync } from "node:fs";

import { CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildSchema } from "graphql";

const [schema, announcements = "announced.json"] = process.argv.slice(2);
const read = (file) => buildSchema(readFileSync(file, "utf8"));

const changes = await diff(read("released.graphql"), read(schema));
const breaking = changes.filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking);
const found = new Map(breaking.map(({ type, path, message }) => [`${type} ${path}`, message]));
const announced = new Map(
  JSON.parse(readFileSync(announcements, "utf8")).map(({ change, reason }) => [change, reason]),
);

const faults = [
  ...[...found].filter(([change]) => !announced.get(change)).map(([change, message]) => `${change}: ${message}`),
  ...[...announced.keys()]
    .filter((change) => !found.has(change))
    .map((change) => `${change}: announced, but not found`),
];
for (const fault of faults) console.log(fault);
console.log(`${found.size} breaking of ${changes.length} changes, ${announced.size} announced`);
process.exitCode = faults.length > 0 ? 1 : 0;
