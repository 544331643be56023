// The position at which an endless list continues.

interface Page {
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

/** Returns the cursor of the page after this one; null if this is the last, undefined if it is not loaded. */
export function nextPageOf(page: Page | null | undefined): string | null | undefined {
  if (!page) return undefined;
  return page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
}
