// Wraps long lines, so that the tour is readable at any width of the editor.

import { useGraphiQL } from "@graphiql/react";
import { useEffect } from "react";

export function LongLines() {
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => editor?.updateOptions({ wordWrap: "on", wrappingIndent: "indent" }), [editor]);
  return null;
}
