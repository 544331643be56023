// Links to the content of a tab. The content is in the fragment of the URL, so that no server logs it. Headers are never
// included, because they may contain tokens.

export interface SharedTab {
  query: string;
  variables: string;
}

const MARK = "#tab=";

function encode(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decode(text: string): string {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (letter) => letter.charCodeAt(0)));
}

export function linkTo(tab: SharedTab): string {
  return `${location.origin}/${MARK}${encode(JSON.stringify([tab.query, tab.variables]))}`;
}

/** Returns the tab in the page's URL, if any, and removes it from the URL, so that a reload does not undo edits. */
export function takeSharedTab(): SharedTab | null {
  if (!location.hash.startsWith(MARK)) return null;
  try {
    const [query, variables] = JSON.parse(decode(location.hash.slice(MARK.length))) as unknown[];
    return typeof query === "string" && typeof variables === "string" ? { query, variables } : null;
  } catch {
    return null;
  } finally {
    history.replaceState(null, "", "/");
  }
}
