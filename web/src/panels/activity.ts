// What was done here, by whom, newest first. Each line is a command: it can be run again or copied.

import { ago, describe, type Step } from "../model/steps.ts";
import type { Desk } from "./desk.ts";
import { copyText, h, perFrame } from "./dom.ts";

const SHOWN = 100;

export class Activity {
  readonly element: HTMLElement;
  private readonly list = h("ul", { class: "activity", "aria-label": "Activity" });
  private opened = "";
  private readonly render = perFrame(() => this.draw());

  constructor(private readonly desk: Desk) {
    this.element = h("section", { "aria-label": "Activity", style: "display:contents" }, h("div", { class: "caption" }, "Activity"), this.list);
    desk.model.signals.on(["activity", "questions", "terminals"], this.render);
    setInterval(this.render, 5000);
    this.draw();
  }

  private draw(): void {
    const { model } = this.desk;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.call : undefined;
    const waiting = [...model.questions.values()].map((question) =>
      h(
        "li",
        {},
        h(
          "div",
          { class: "deed agent", style: "cursor:default" },
          h("span", { class: "who" }),
          h("span", { class: "what" }, question.kind === "consent" ? "asks for consent" : `wants ${question.shown || question.text}`),
          h("time", {}, "now"),
        ),
      ),
    );
    const lines = model.activity.slice(0, SHOWN).map((step) => this.line(step));
    if (!waiting.length && !lines.length) lines.push(h("li", {}, h("div", { class: "deed" }, "Nothing yet.")));
    this.list.replaceChildren(...waiting, ...lines);
    if (focused) this.list.querySelector<HTMLElement>(`[data-call="${focused}"]`)?.focus();
  }

  private line(step: Step): HTMLElement {
    const [verb, what, where] = describe(step, this.desk.model.title);
    const text = [verb, what, where].filter(Boolean).join(" ");
    const brief = [verb, /^[\w.-]+\//.test(what) ? what.split("/").at(-1)! : what, where].filter(Boolean).join(" ");
    const open = this.opened === step.callId;
    const agent = step.actorKind === "agent";
    const who = agent ? step.actorName || "the agent" : "you";
    const button = h(
      "button",
      {
        class: `deed ${agent ? "agent" : "person"} ${step.state}`,
        "aria-expanded": String(open),
        "data-call": step.callId,
        title: `${who}: ${text}${step.error ? ` — ${step.error}` : ""}`,
      },
      h("span", { class: "who", "aria-hidden": "true" }),
      h("span", { class: "away" }, `${who}: `),
      h("span", { class: "what" }, brief + (step.count > 1 ? ` ×${step.count}` : "")),
      h("time", {}, ago(Date.now() / 1000 - step.time)),
    );
    button.addEventListener("click", () => {
      this.opened = open ? "" : step.callId;
      this.draw();
    });
    return h("li", {}, button, open ? this.more(step) : null);
  }

  private more(step: Step): HTMLElement {
    const json = JSON.stringify({ command: step.command, args: step.args }, null, 2);
    const again = h("button", { class: "button small" }, "Run again");
    again.disabled = !step.whole || !(this.desk.model.commands.get(step.command)?.actors.includes("person") ?? false);
    again.addEventListener("click", () => void this.desk.run(step.command, step.args));
    const copy = h("button", { class: "button small" }, "Copy as JSON");
    copy.addEventListener("click", () => void copyText(json).then((done) => (copy.textContent = done ? "Copied" : "Not allowed")));
    return h("div", { class: "more" }, step.error ? h("p", { class: "minus" }, step.error) : null, h("pre", { class: "mono" }, json), again, copy);
  }
}
