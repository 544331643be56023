// The tour of the API: one tab per file of `tour/`, ordered by file name. The server's tests execute them.

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
  /** The subject of the stop, such as `Home timeline`. */
  title: string;
  query: string;
  variables: string;
}

/** Derives the title from the path: `../tour/18-home-timeline.graphql` becomes `Home timeline`. */
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
