// Questions of the page itself, each a modal dialog with one answer.

import { h } from "./dom.ts";

export interface Option {
  label: string;
  value: string;
  style?: string;
}

// Ask, and give the chosen value; Escape gives the empty text. The first option without a style gets the focus.
export async function ask(title: string, text: string | Node, options: Option[], style = ""): Promise<string> {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: style, "aria-labelledby": "dialog-title" });
    const close = (value: string) => {
      dialog.close();
      dialog.remove();
      resolve(value);
    };
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close("");
    });
    const buttons = options.map((option) =>
      h(
        "button",
        { class: `button ${option.style ?? ""}`, on: { click: () => close(option.value) } },
        option.label,
      ),
    );
    dialog.append(
      h(
        "div",
        { class: "dialog" },
        h("h2", { id: "dialog-title" }, title),
        typeof text === "string" ? h("p", {}, text) : text,
        h("div", { class: "row" }, ...buttons),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
    (buttons.at(options.findIndex((option) => !option.style)) ?? buttons[0])?.focus();
  });
}

export function show(title: string, content: Node): void {
  void ask(title, content, [{ label: "Close", value: "close" }]);
}
