// The tour through the API: a tab for each file of `tour/`, in the order of their names. The server's
// tests execute them.

const operations = import.meta.glob<string>("../tour/*.graphql", {
  query: "?raw",
  import: "default",
  eager: true,
});
const variables = import.meta.glob<string>("../tour/*.json", {
  query: "?raw",
  import: "default",
  eager: true,
});

export interface Stop {
  /** What the stop is about, such as `Home timeline`. */
  title: string;
  query: string;
  variables: string;
}

/** `../tour/09-home-timeline.graphql` is about the `Home timeline`. */
function title(path: string): string {
  const words = path
    .replace(/^.*\/\d+-/, "")
    .replace(/\.graphql$/, "")
    .replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const TOUR: Stop[] = Object.entries(operations)
  .sort(([one], [other]) => one.localeCompare(other))
  .map(([path, query]) => ({
    title: title(path),
    query,
    variables: variables[path.replace(/graphql$/, "json")] ?? "",
  }));
