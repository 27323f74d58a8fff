// Help: the keys, what the agent may do, and where to read more.

import type { Desk } from "./desk.ts";
import { show } from "./dialog.ts";
import { h } from "./dom.ts";

const KEYS: [string, string][] = [
  ["Ctrl K / F1", "commands and files (F1 also in a terminal)"],
  ["F6 / Shift F6", "to the next region of the page, or back (in a terminal with Ctrl)"],
  ["Escape", "clear highlights: first yours, then all"],
  ["Ctrl S", "save the file"],
  ["Ctrl Shift F", "search in the terminal"],
  ["Ctrl Shift C / V", "copy, paste in a terminal"],
  ["Ctrl B / Ctrl Alt B", "show or hide the files, the agent"],
  ["Ctrl M", "in an editor: Tab moves on instead of indenting"],
  ["Alt + pointer", "on a terminal's line: who typed it, and when"],
  ["Arrow keys", "on a sash: resize (with Shift by more); on tabs: switch, Delete closes; in files and activity: up and down"],
];

export function showHelp(desk: Desk): void {
  const own = [...desk.model.commands.values()].filter((command) => command.key && command.key !== "Escape" && command.key !== "Ctrl S");
  const bound = [...desk.bound].map(([key, { command }]): [string, string] => [key, `${desk.model.commands.get(command)?.label ?? command} (your own)`]);
  const rows = [...KEYS, ...own.map((command): [string, string] => [command.key!, command.label]), ...bound];
  const content = h(
    "div",
    {},
    h("div", { class: "keys" }, ...rows.flatMap(([key, text]) => [h("span", {}, h("kbd", {}, key)), h("span", {}, text)])),
    h("h2", {}, "What an agent may do"),
    h(
      "ul",
      {},
      h("li", {}, "Nothing before you agreed, and only what you agreed to. The button over the chat changes that; Stop, pressed twice, revokes it."),
      h("li", {}, "The same commands as you, and you see each of them as it happens. Blue is you, orange is the agent."),
      h("li", {}, "Safe commands run at once. Unknown ones are asked, with a time limit; dangerous ones always are."),
      h("li", {}, "It never types into a line that you have begun, and sees nothing while a password is wanted."),
      h("li", {}, "What it did to files and panes can be undone. What a program did cannot, and the list says so."),
    ),
  );
  show("Help", content);
}
