// A DOM for React to render into, without a browser.

import { Window } from "happy-dom";

const window = new Window();
const { document, navigator } = window;
const globals = { window, document, navigator, IS_REACT_ACT_ENVIRONMENT: true };
for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value });
