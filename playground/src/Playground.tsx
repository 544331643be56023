// GraphiQL with the tour, a sign-in and links to what stands in a tab.

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { GraphiQL } from "graphiql";

import { fetcher } from "./fetcher";
import { takeSharedTab } from "./link";
import { LinkButton } from "./LinkButton";
import { SIGN_IN_PLUGIN } from "./SignIn";
import { TOUR_PLUGIN } from "./TourPanel";
import { TOUR } from "./tour";

const plugins = [TOUR_PLUGIN, SIGN_IN_PLUGIN, HISTORY_PLUGIN, explorerPlugin()];
const shared = takeSharedTab();

/** A tab that came by a link stands before the others, also before those of the last visit. */
function firstTab() {
  return shared ? { initialQuery: shared.query, initialVariables: shared.variables } : {};
}

export function Playground() {
  return (
    <GraphiQL
      fetcher={fetcher}
      plugins={plugins}
      defaultTabs={TOUR}
      defaultQuery=""
      inputValueDeprecation
      schemaDescription
      {...firstTab()}
    >
      <GraphiQL.Logo>
        <a className="logo" href="/demo" title="The demo client">
          Fanfold
        </a>
      </GraphiQL.Logo>
      <GraphiQL.Toolbar>
        {({ prettify, copy, merge }) => (
          <>
            {prettify}
            {merge}
            {copy}
            <LinkButton />
          </>
        )}
      </GraphiQL.Toolbar>
    </GraphiQL>
  );
}
