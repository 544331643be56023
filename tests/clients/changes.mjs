// Refuses a schema that breaks what clients of the last release ask, unless it was announced:
//
//     node changes.mjs <schema> [<announced changes>]
//
// A change is announced as `{ "change": "FIELD_REMOVED User.bio", "reason": "…" }`: its kind and its place, as they are
// told here when it is refused. What was announced and has not come is refused, too.

import { readFileSync } from "node:fs";

import { CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildSchema } from "graphql";

const [schema, announcements = "announced.json"] = process.argv.slice(2);
const read = (file) => buildSchema(readFileSync(file, "utf8"));

const changes = await diff(read("released.graphql"), read(schema));
const breaking = changes.filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking);
const told = new Map(breaking.map(({ type, path, message }) => [`${type} ${path}`, message]));
const announced = new Map(
  JSON.parse(readFileSync(announcements, "utf8")).map(({ change, reason }) => [change, reason]),
);

const faults = [
  ...[...told].filter(([change]) => !announced.get(change)).map(([change, message]) => `${change}: ${message}`),
  ...[...announced.keys()].filter((change) => !told.has(change)).map((change) => `${change}: announced, and not so`),
];
for (const fault of faults) console.log(fault);
console.log(`${told.size} breaking of ${changes.length} changes, ${announced.size} announced`);
process.exitCode = faults.length > 0 ? 1 : 0;
