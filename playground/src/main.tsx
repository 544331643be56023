// The playground: GraphiQL over this server.

import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./style.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Playground } from "./Playground";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Playground />
  </StrictMode>,
);
