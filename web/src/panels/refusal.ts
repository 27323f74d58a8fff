// Why something was refused, where words are not enough: an error that brings a difference shows it.

import { type Line, unifiedLines } from "../model/diff.ts";
import type { Failed } from "../wire/link.ts";
import { show } from "./dialog.ts";
import { h } from "./dom.ts";

export function diffRow(line: Line): HTMLElement {
  const sign = { add: "+ ", del: "− ", same: "  ", skip: "" }[line.kind];
  return h("div", { class: line.kind }, sign + line.text);
}

// The way to look at it, or nothing if the error has none.
export function differenceOf(answer: Failed): { label: string; run: () => void } | undefined {
  const diff = answer.data?.diff;
  const texts: [string, string][] =
    typeof diff === "string"
      ? [["", diff]]
      : diff && typeof diff === "object"
        ? Object.entries(diff).filter((entry): entry is [string, string] => typeof entry[1] === "string")
        : [];
  if (texts.length === 0) return undefined;
  const sections = texts.map(([name, text]) =>
    h(
      "section",
      {},
      name ? h("h3", {}, name.replace(/([A-Z])/g, " $1").toLowerCase()) : null,
      h("div", { class: "diff", tabindex: "0", role: "region", "aria-label": name || "Difference" }, ...unifiedLines(text.trimEnd()).map(diffRow)),
    ),
  );
  const content = h("div", { class: "differences" }, h("p", {}, [answer.error, answer.hint].filter(Boolean).join(" — ")), ...sections);
  return { label: "Show the difference", run: () => show("Not done", content) };
}
