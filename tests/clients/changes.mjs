// Rejects a schema that breaks clients of the last release, unless the changelog announces each breaking change:
//
//     node changes.mjs <schema> [<changelog> [<schema of the last release>]]
//
// Before the first release, nothing can break, and nothing may be announced.
//
// The newest release in the changelog has a section for them, with entries of the form "- `FIELD_REMOVED User.bio`:
// reason". The kind and path of a change are those printed here when the change is rejected. Entries without a reason,
// and entries for changes that were not made, are rejected, too.

import { existsSync, readFileSync } from "node:fs";

import { CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildSchema } from "graphql";

const HEADING = "### Breaking changes of the schema\n";

const [schema, changelog = "../../CHANGELOG.md", released = "released.graphql"] = process.argv.slice(2);
const read = (file) => readFileSync(file, "utf8");

/** Returns the entries for the newest release, each as a change and a reason. */
function announcedIn(changelog) {
  const [, newest = ""] = changelog.split(/^## /m);
  const [, section = ""] = newest.split(HEADING);
  const [list] = section.split(/^###? /m);
  const [, ...entries] = list.split(/^- /m);
  return entries.map((entry) => {
    const [, change, reason] = /^`(.+?)`:(.*)$/s.exec(entry) ?? [];
    return { change: change ?? entry.trim(), reason: reason?.trim() ?? "" };
  });
}

const before = existsSync(released) ? released : schema;
const changes = await diff(buildSchema(read(before)), buildSchema(read(schema)));
const breaking = changes
  .filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking)
  .map(({ type, path, message }) => ({ change: `${type} ${path}`, message }));
const announced = announcedIn(read(changelog));
const isIn = (list, change) => list.some((entry) => entry.change === change);

const faults = [
  ...breaking
    .filter(({ change }) => !isIn(announced, change))
    .map(({ change, message }) => `${change}: ${message}, but it is not announced`),
  ...announced
    .filter(({ change }) => !isIn(breaking, change))
    .map(({ change }) => `${change}: announced, but not found`),
  ...announced.filter(({ reason }) => !reason).map(({ change }) => `${change}: announced without a reason`),
];
for (const fault of faults) console.log(fault);
console.log(`${breaking.length} breaking of ${changes.length} changes, ${announced.length} announced`);
process.exitCode = faults.length > 0 ? 1 : 0;
