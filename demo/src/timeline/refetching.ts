// True while the home timeline is being refetched, page by page. The shown posts stay until all pages are loaded.

import { createStore } from "../ui/store";

export const refetching = createStore(false);
