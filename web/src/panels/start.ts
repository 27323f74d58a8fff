// What is seen before anything is open: three ways to begin.

import type { Model } from "../model/state.ts";
import { copyText, h, icon, setText } from "./dom.ts";

export interface StartActions {
  openFile: () => void;
  newTerminal: () => void;
  connect: () => void;
  tour: () => void;
}

export function startCards(model: Model, actions: StartActions): HTMLElement {
  const code = h("code", { tabindex: "0" });
  const tell = () => setText(code, `${model.program} . --agent claude`);
  model.signals.on("layout", tell); // with the first state comes how this server is called
  tell();
  const copy = h("button", { class: "button small" }, "Copy");
  copy.addEventListener("click", () => {
    void copyText(code.textContent ?? "").then((done) => (copy.textContent = done ? "Copied" : "Select it"));
  });
  return h(
    "div",
    { class: "start" },
    h("h2", {}, "Four hands, one workbench"),
    h("p", {}, "What you and the agent open appears here, for both of you."),
    h(
      "div",
      { class: "cards" },
      h(
        "button",
        { class: "card", on: { click: actions.openFile } },
        icon("file"),
        h("b", {}, "Open a file"),
        h("span", {}, "Search by name, or pick one on the left."),
      ),
      h(
        "button",
        { class: "card", on: { click: actions.newTerminal } },
        icon("terminal"),
        h("b", {}, "New terminal"),
        h("span", {}, "A shell that goes on when this page is closed."),
      ),
      h(
        "div",
        { class: "card agent" },
        icon("agent"),
        h("b", {}, "Connect an agent"),
        h("span", {}, "Here, or by typing in this directory:"),
        h("div", { class: "copyline" }, code, copy),
        h(
          "div",
          { class: "copyline" },
          h("button", { class: "button small", on: { click: actions.tour } }, "Take the tour"),
          h("button", { class: "button small", on: { click: actions.connect } }, "Choose one"),
        ),
      ),
    ),
  );
}
