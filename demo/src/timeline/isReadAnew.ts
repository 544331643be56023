// Whether the home timeline is being read anew, page after page. What is shown of it stays until all of it is there.

import { createStore } from "../ui/store";

export const isReadAnew = createStore(false);
