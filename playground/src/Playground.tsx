// GraphiQL with the tour, a sign-in panel and links to tabs.

import { explorerPlugin } from "@graphiql/plugin-explorer";
import { HISTORY_PLUGIN } from "@graphiql/plugin-history";
import { GraphiQL } from "graphiql";

import { fetcher } from "./fetcher";
import { takeSharedTab } from "./link";
import { LinkButton } from "./LinkButton";
import { LongLines } from "./LongLines";
import { SIGN_IN_PLUGIN } from "./SignIn";
import { useEditorThemes } from "./theme";
import { TOUR_PLUGIN } from "./TourPanel";
import { TOUR } from "./tour";

const plugins = [TOUR_PLUGIN, SIGN_IN_PLUGIN, HISTORY_PLUGIN, explorerPlugin()];
const shared = takeSharedTab();

/** A shared tab is opened first, in addition to the tabs of the last visit. */
const initial = shared ? { initialQuery: shared.query, initialVariables: shared.variables } : {};
const tabs = shared ? [shared, ...TOUR] : TOUR;

export function Playground() {
  useEditorThemes();
  return (
    <GraphiQL
      fetcher={fetcher}
      plugins={plugins}
      defaultTabs={tabs}
      defaultQuery=""
      inputValueDeprecation
      schemaDescription
      {...initial}
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
            <LongLines />
          </>
        )}
      </GraphiQL.Toolbar>
    </GraphiQL>
  );
}
