// Runs the audits of the graphql-http library against a server, and prints those that fail.
import { auditServer } from "graphql-http";

const results = await auditServer({ url: process.argv[2] });
const failed = results.filter((result) => result.status !== "ok");
for (const { status, id, name, reason } of failed) {
  console.log(`${status} ${id} ${name}: ${reason}`);
}
console.log(`${results.length - failed.length} of ${results.length}`);
