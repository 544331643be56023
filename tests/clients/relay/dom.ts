// A document for React to draw on, where there is no browser.

import { Window } from "happy-dom";

const window = new Window();
const { document, navigator } = window;
const globals = { window, document, navigator, IS_REACT_ACT_ENVIRONMENT: true };
for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value });
