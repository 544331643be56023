// Sends documents to a server and holds what it answers against graphql-js: whether a document is executed, and the
// keys of the answer and their order. Prints the differences.
import { readFileSync } from "node:fs";
import { buildSchema, execute, parse, validate } from "graphql";
import { documents } from "./documents.mjs";

const [url, file] = process.argv.slice(2);
const schema = buildSchema(readFileSync(file, "utf8"));

// graphql-js collects the fields; their values are what the server has answered under the same keys.
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
  return "data" in result ? { verdict: "executed", ...result } : { verdict: "refused" };
};

const VERDICTS = { GRAPHQL_PARSE_FAILED: "unparsed", GRAPHQL_VALIDATION_FAILED: "invalid", BAD_USER_INPUT: "refused" };

const answered = async (document, variables) => {
  const body = JSON.stringify({ query: document, variables });
  const answer = await (
    await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
  ).json();
  if ("data" in answer) return { verdict: "executed", ...answer };
  return {
    verdict: VERDICTS[answer.errors[0].extensions.code] ?? answer.errors[0].extensions.code,
    errors: answer.errors,
  };
};

let same = 0;
for (const { document, variables } of documents) {
  const answer = await answered(document, variables);
  // Introspection and what is answered by an error are not compared key by key.
  const expectation = await expected(document, variables, answer.data ?? {});
  const isCompared =
    answer.verdict === "executed" && !answer.errors && !document.includes("__schema") && !document.includes("__type(");
  const isSame =
    answer.verdict === expectation.verdict &&
    (!isCompared || JSON.stringify(answer.data) === JSON.stringify(expectation.data));
  if (isSame) {
    same += 1;
  } else {
    console.log(JSON.stringify({ document, variables, expectation, answer }));
  }
}
console.log(`${same} of ${documents.length}`);
