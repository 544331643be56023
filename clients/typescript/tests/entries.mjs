// Applies the events of timelines to entries. Reads calls from standard input, one per line, and writes the entries after
// each: `tests/it/protocols/client.rs` compares them with those that the server returns.

import { createInterface } from "node:readline";
import { appendEntries, applyToEntries } from "../dist/index.js";

let entries = [];
let hasMore = false;

for await (const line of createInterface({ input: process.stdin })) {
  const { read, append, event } = JSON.parse(line);
  const page = read ?? append;
  if (page) {
    hasMore = page.pageInfo.hasNextPage;
    entries = appendEntries(read ? [] : entries, page.edges, hasMore);
  } else {
    entries = applyToEntries(entries, event, hasMore);
  }
  console.log(JSON.stringify({ entries, hasMore }));
}
