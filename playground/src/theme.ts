// The editor's colours: GraphiQL's, with Fanfold's accent and readable numbers.

import { useMonaco } from "@graphiql/react";
import { useEffect } from "react";

interface Palette {
  ground: string;
  accent: string;
  lineNumber: string;
  number: string;
  comment: string;
  argument: string;
}

const LIGHT: Palette = {
  ground: "#ffffff",
  accent: "#9a3412",
  lineNumber: "#237893",
  number: "#05683f",
  comment: "#007000",
  argument: "#5b57c4",
};
const DARK: Palette = {
  ground: "#212a3b",
  accent: "#fdba74",
  lineNumber: "#a3acbb",
  number: "#b5cea8",
  comment: "#8dbb7a",
  argument: "#908aff",
};

function colours({ ground, accent, lineNumber }: Palette): Record<string, string> {
  const faint = `${accent}22`;
  const of = (colour: string, ...names: string[]) => names.map((name) => [name, colour]);
  return Object.fromEntries([
    ...of(lineNumber, "editorLineNumber.foreground"),
    ...of("#ffffff00", "editor.background", "scrollbar.shadow"),
    ...of(ground, "editorHoverWidget.background", "editorSuggestWidget.background", "editorWidget.background"),
    ...of(ground, "menu.background", "quickInput.background"),
    ...of(accent, "textLink.foreground", "textLink.activeForeground", "editorLink.activeForeground"),
    ...of(accent, "list.highlightForeground", "list.focusHighlightForeground", "focusBorder"),
    ...of(accent, "editorSuggestWidget.selectedForeground", "menu.selectionForeground", "pickerGroup.foreground"),
    ...of(faint, "list.hoverBackground", "editorSuggestWidget.selectedBackground", "menu.selectionBackground"),
    ...of(faint, "toolbar.hoverBackground", "inputOption.hoverBackground", "quickInputList.focusBackground"),
  ]);
}

/** Applies our colours to GraphiQL's two themes once the editor is loaded. */
export function useEditorThemes() {
  const monaco = useMonaco((state) => state.monaco);
  useEffect(() => {
    const themes = [
      ["graphiql-LIGHT", "vs", LIGHT],
      ["graphiql-DARK", "vs-dark", DARK],
    ] as const;
    for (const [name, base, palette] of themes) {
      const rules = [
        { token: "number", foreground: palette.number.slice(1) },
        { token: "comment", foreground: palette.comment.slice(1) },
        { token: "argument.identifier.gql", foreground: palette.argument.slice(1) },
      ];
      monaco?.editor.defineTheme(name, { base, inherit: true, colors: colours(palette), rules });
    }
  }, [monaco]);
}
