// The users shown on the page, each with the number of places.

import { createShown } from "@fanfold/client";

export const shownUsers = createShown();
