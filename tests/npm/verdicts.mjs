// Sends documents to a server and compares the responses with graphql-js: whether a document is executed, and the keys
// of the response and their order. Prints the differences.
import { readFileSync } from "node:fs";
import { buildSchema, execute, parse, validate } from "graphql";
import { documents } from "./documents.mjs";

const [url, file] = process.argv.slice(2);
const schema = buildSchema(readFileSync(file, "utf8"));

// graphql-js collects the fields; their values are taken from the server's response, under the same keys.
const fieldResolver = (parent, _arguments, _context, info) => parent?.[info.path.key];
const typeResolver = (value) => value.__typename ?? "User";

const expected = async (document, variableValues, rootValue) => {
  let parsed;
  try {
    parsed = parse(document);
  } catch {
    return { verdict: "unparsed" };
  }
  if (validate(schema, parsed).length > 0) return { verdict: "invalid" };
  const result = await execute({ schema, document: parsed, rootValue, variableValues, fieldResolver, typeResolver });
  return "data" in result ? { verdict: "executed", ...result } : { verdict: "rejected" };
};

const VERDICTS = { GRAPHQL_PARSE_FAILED: "unparsed", GRAPHQL_VALIDATION_FAILED: "invalid", BAD_USER_INPUT: "rejected" };

const received = async (document, variables) => {
  const body = JSON.stringify({ query: document, variables });
  const result = await (
    await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
  ).json();
  if ("data" in result) return { verdict: "executed", ...result };
  return {
    verdict: VERDICTS[result.errors[0].extensions.code] ?? result.errors[0].extensions.code,
    errors: result.errors,
  };
};

let same = 0;
for (const { document, variables } of documents) {
  const result = await received(document, variables);
  // The keys of introspection results and of results with errors are not compared.
  const expectation = await expected(document, variables, result.data ?? {});
  const isCompared =
    result.verdict === "executed" && !result.errors && !document.includes("__schema") && !document.includes("__type(");
  const isSame =
    result.verdict === expectation.verdict &&
    (!isCompared || JSON.stringify(result.data) === JSON.stringify(expectation.data));
  if (isSame) {
    same += 1;
  } else {
    console.log(JSON.stringify({ document, variables, expectation, result }));
  }
}
console.log(`${same} of ${documents.length}`);
