// The button that copies a link to what stands in the tab.

import { ToolbarButton, useGraphiQL } from "@graphiql/react";
import { useState } from "react";

import { linkTo } from "./link";

const SAID_FOR = 1500;

export function LinkButton() {
  const query = useGraphiQL((state) => state.queryEditor);
  const variables = useGraphiQL((state) => state.variableEditor);
  const [said, setSaid] = useState("");
  const copy = async () => {
    const link = linkTo({ query: query?.getValue() ?? "", variables: variables?.getValue() ?? "" });
    // Where nothing may be copied, the link is left in the address.
    const copied = navigator.clipboard?.writeText(link) ?? Promise.reject(new Error("no clipboard"));
    const wasCopied = await copied.then(
      () => true,
      () => false,
    );
    if (!wasCopied) history.replaceState(null, "", link);
    setSaid(wasCopied ? "Link copied" : "The link is in the address bar");
    setTimeout(() => setSaid(""), SAID_FOR);
  };
  return (
    <>
      <ToolbarButton label={said || "Copy a link to this tab"} onClick={() => void copy()}>
        <svg className="graphiql-toolbar-icon" viewBox="0 0 24 24" aria-hidden="true">
          <path
            d="M9.5 14.5l5-5M11 6.5l1.8-1.8a4 4 0 0 1 5.7 5.7L16.5 12.3M12.5 17.5l-1.8 1.8a4 4 0 0 1-5.7-5.7L7 11.7"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.7"
            strokeLinecap="round"
          />
        </svg>
      </ToolbarButton>
      <span className="visually-hidden" role="status">
        {said}
      </span>
    </>
  );
}
