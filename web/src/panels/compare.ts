// Two texts side by side over the whole page, with something to decide about them.

import { ask, type Option } from "./dialog.ts";
import { h } from "./dom.ts";

export async function compare(path: string, before: string, after: string, options: Option[]): Promise<string> {
  const { createDiff } = await import("./monaco.ts");
  const holder = h("div", { class: "comparison" });
  const answer = ask(path, holder, [...options, { label: "Close", value: "" }], "wide");
  const dispose = createDiff(holder, path, before, after);
  const value = await answer;
  dispose();
  return value;
}
