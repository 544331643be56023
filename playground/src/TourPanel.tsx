// The panel that lists the stops of the tour, to reopen closed tabs.

import { useGraphiQL, useGraphiQLActions, type GraphiQLPlugin } from "@graphiql/react";

import { TOUR, type Stop } from "./tour";

function TourPanel() {
  const queryEditor = useGraphiQL((state) => state.queryEditor);
  const variableEditor = useGraphiQL((state) => state.variableEditor);
  const tabs = useGraphiQL((state) => state.tabs);
  const { addTab, changeTab } = useGraphiQLActions();
  const open = (stop: Stop) => {
    const openTab = tabs.findIndex((tab) => tab.query === stop.query);
    if (openTab >= 0) {
      changeTab(openTab);
      return;
    }
    addTab();
    queryEditor?.setValue(stop.query);
    variableEditor?.setValue(stop.variables);
  };
  return (
    <section className="panel" aria-labelledby="tour-title">
      <h2 id="tour-title">Tour</h2>
      <p>
        The whole API on the data of the demo world, one operation per tab. The <a href="/demo">demo client</a> shows
        what you can build with it.
      </p>
      <ol>
        {TOUR.map((stop) => (
          <li key={stop.title}>
            <button type="button" onClick={() => open(stop)}>
              {stop.title}
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Icon() {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.7" strokeLinejoin="round">
      <path d="M12 21s7-6.4 7-11.5a7 7 0 0 0-14 0C5 14.6 12 21 12 21z" />
      <circle cx="12" cy="9.5" r="2.5" />
    </svg>
  );
}

export const TOUR_PLUGIN: GraphiQLPlugin = { title: "Tour", icon: Icon, content: TourPanel };
