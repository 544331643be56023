// Long lines go on in the next one, so that the tour can be read however wide the editor is.

import { useGraphiQL } from "@graphiql/react";
import { useEffect } from "react";

export function LongLines() {
  const editor = useGraphiQL((state) => state.queryEditor);
  useEffect(() => editor?.updateOptions({ wordWrap: "on", wrappingIndent: "indent" }), [editor]);
  return null;
}
