// The button that copies a link to the current tab.

import { ToolbarButton, useGraphiQL } from "@graphiql/react";
import { useState } from "react";

import { linkTo } from "./link";

const MESSAGE_DURATION_MS = 1500;

export function LinkButton() {
  const query = useGraphiQL((state) => state.queryEditor);
  const variables = useGraphiQL((state) => state.variableEditor);
  const [message, setMessage] = useState("");
  const copy = async () => {
    const link = linkTo({ query: query?.getValue() ?? "", variables: variables?.getValue() ?? "" });
    // Without access to the clipboard, the link is left in the address bar.
    const copied = navigator.clipboard?.writeText(link) ?? Promise.reject(new Error("no clipboard"));
    const wasCopied = await copied.then(
      () => true,
      () => false,
    );
    if (!wasCopied) history.replaceState(null, "", link);
    setMessage(wasCopied ? "Link copied" : "The link is in the address bar");
    setTimeout(() => setMessage(""), MESSAGE_DURATION_MS);
  };
  return (
    <>
      <ToolbarButton label={message || "Copy a link to this tab"} onClick={() => void copy()}>
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
        {message}
      </span>
    </>
  );
}
