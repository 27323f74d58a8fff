// What was done here, by whom, newest first. Each line is a command: it can be run again or copied.

import { ago, describe, type Step } from "../model/steps.ts";
import { nameOf } from "../model/keys.ts";
import type { Question } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { copyText, h, perFrame, place, setText } from "./dom.ts";

const SHOWN = 100;
const UNRECORDED = "The journal could not be written, so it will not tell of this. Is the disk full?";

interface Line {
  step: Step;
  open: boolean;
  element: HTMLElement;
}

export class Activity {
  readonly element: HTMLElement;
  private readonly list = h("ul", { class: "activity", "aria-label": "Activity" });
  private opened = "";
  private lines = new Map<string, Line>();
  private readonly render = perFrame(() => this.draw());

  constructor(private readonly desk: Desk) {
    this.element = h("section", { "aria-label": "Activity", style: "display:contents" }, h("div", { class: "caption" }, "Activity"), this.list);
    desk.model.signals.on(["activity", "questions", "terminals"], this.render);
    this.list.addEventListener("keydown", (event) => this.key(event));
    setInterval(this.render, 5000);
    this.draw();
  }

  private draw(): void {
    const { model } = this.desk;
    const waiting = [...model.questions.values()].map((question) =>
      h(
        "li",
        {},
        h(
          "div",
          { class: "deed agent", style: "cursor:default" },
          h("span", { class: "who" }),
          h("span", { class: "what", title: question.shown || question.text }, wish(question)),
          h("time", {}, "now"),
        ),
      ),
    );
    const before = this.lines;
    this.lines = new Map();
    const lines = model.activity.slice(0, SHOWN).map((step) => this.line(step, before));
    if (!waiting.length && !lines.length) lines.push(h("li", {}, h("div", { class: "deed" }, "Nothing yet.")));
    // What is the same stays in place, and with it the keyboard.
    place(this.list, [...waiting, ...lines]);
    this.keepOneTabStop();
  }

  // Arrow keys go through the list; Tab goes past it.
  private keepOneTabStop(): void {
    const deeds = this.deeds();
    const here = deeds.find((deed) => deed === document.activeElement) ?? deeds[0];
    for (const deed of deeds) deed.tabIndex = deed === here ? 0 : -1;
  }

  private deeds(): HTMLElement[] {
    return [...this.list.querySelectorAll<HTMLElement>("button.deed")];
  }

  private key(event: KeyboardEvent): void {
    const deeds = this.deeds();
    const at = deeds.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: deeds.length - 1 }[event.key];
    if (at < 0 || to === undefined || !deeds[to]) return;
    event.preventDefault();
    deeds[to].focus();
    this.keepOneTabStop();
  }

  private line(step: Step, before: ReadonlyMap<string, Line>): HTMLElement {
    const open = this.opened === step.callId;
    const old = before.get(step.callId);
    const same = old?.step === step && old.open === open;
    const element = same ? old.element : this.makeLine(step, open);
    this.lines.set(step.callId, { step, open, element });
    setText(element.querySelector("time")!, ago(Date.now() / 1000 - step.time));
    if (old && !same && old.element.contains(document.activeElement)) {
      const button = element.querySelector<HTMLElement>(".deed")!;
      requestAnimationFrame(() => button.focus());
    }
    return element;
  }

  private makeLine(step: Step, open: boolean): HTMLElement {
    const [verb, what, where] = describe(step, this.desk.model.title);
    const failed = step.state === "failed" ? "failed:" : "";
    const text = [failed, verb, what, where].filter(Boolean).join(" ");
    // The whole of it where it is opened; before that as much as tells it from the others.
    const brief = open ? text : [failed, verb, /^[\w.-]+\//.test(what) ? what.split("/").at(-1)! : what, where].filter(Boolean).join(" ");
    const agent = step.actorKind === "agent";
    const who = step.actorKind === "person" ? "you" : step.actorName || "the agent";
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
      step.recorded ? null : h("span", { class: "unrecorded", title: UNRECORDED }, "not recorded"),
      h("time"),
    );
    button.addEventListener("click", () => {
      this.opened = open ? "" : step.callId;
      this.draw();
    });
    return h("li", {}, button, open ? this.more(step) : null);
  }

  // The last thing that this person did, as the command that an agent would use for it.
  showMine(): void {
    const step = this.desk.model.activity.find((one) => one.actorKind !== "agent");
    if (!step) {
      this.desk.toasts.show("No commands run yet");
      return;
    }
    this.opened = step.callId;
    this.draw();
    this.list.querySelector<HTMLElement>(`[data-call="${step.callId}"]`)?.focus();
  }

  private waitForKey(button: HTMLButtonElement, step: Step): void {
    button.textContent = "Press the key …";
    const taken = (key: string) => [...this.desk.model.commands.values()].find((command) => command.key === key)?.label;
    const listen = (event: KeyboardEvent) => {
      if (["Control", "Alt", "Shift", "Meta"].includes(event.key)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      stop();
      if (event.key === "Escape") return;
      const key = nameOf(event);
      const other = taken(key);
      if (!key) this.desk.toasts.show("Key not available", "F2 to F12, or Ctrl with Alt or Shift and a letter", "warning");
      else if (other) this.desk.toasts.show(`${key} is taken`, `it means: ${other}`, "warning");
      else {
        this.desk.bind(key, { command: step.command, args: step.args });
        this.desk.toasts.show(`${key} does this from now on`, "", "info", { label: "Undo", run: () => this.desk.bind(key, null) });
      }
    };
    const stop = () => {
      removeEventListener("keydown", listen, { capture: true });
      button.removeEventListener("blur", stop);
      button.textContent = "Bind to a key";
    };
    addEventListener("keydown", listen, { capture: true });
    button.addEventListener("blur", stop);
  }

  private more(step: Step): HTMLElement {
    const json = JSON.stringify({ command: step.command, args: step.args }, null, 2);
    const again = h("button", { class: "button small" }, "Run again");
    again.disabled = !step.whole || !(this.desk.model.commands.get(step.command)?.actors.includes("person") ?? false);
    again.addEventListener("click", () => void this.desk.run(step.command, step.args));
    const copy = h("button", { class: "button small" }, "Copy as JSON");
    copy.addEventListener("click", () => void copyText(json).then((done) => (copy.textContent = done ? "Copied" : "Not allowed")));
    const bind = h("button", { class: "button small", title: "Run it with a key from now on, in this browser" }, "Bind to a key");
    bind.disabled = again.disabled;
    bind.addEventListener("click", () => this.waitForKey(bind, step));
    return h("div", { class: "more" }, step.recorded ? null : h("p", { class: "warn" }, UNRECORDED), step.error ? h("p", { class: "minus" }, step.error) : null, h("pre", { class: "mono", tabindex: "0" }, json), again, copy, bind);
  }
}

function wish({ kind, shown, text }: Question): string {
  if (kind === "consent") return "asks for consent";
  if (kind === "form") return `asks: ${text}`;
  return `${kind === "link" ? "asks to open" : "wants"} ${shown || text}`;
}
