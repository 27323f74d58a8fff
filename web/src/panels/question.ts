// What an agent asks a person: consent to act at all, leave for one command, a form to fill in, a link to open. Cards in
// the agent's pane; when that is not to be seen, a dialog that does not block the page.
//
// The way out is the default: Deny has the focus, and for a moment after it appears nothing can be approved by a key
// that was meant for something else.

import type { Question, Review } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { debounce, h } from "./dom.ts";
import { FormFields } from "./form.ts";
import { rehearseButton } from "./rehearsal.ts";
import { type Scope, ScopeBoxes } from "./scopes.ts";
import { size } from "./size.ts";

export { size } from "./size.ts";

type Choice = Question["options"][number];

const DEAF_MS = 400;
const REVIEW_MS = 250;
const ALERT = "%3Ccircle cx='12' cy='4' r='4' fill='%23ef6f6c'/%3E%3C/svg";

interface Shown {
  element: HTMLElement;
  tick: () => void;
}

export class Questions {
  readonly element = h("div", { class: "questions" });
  private readonly float = h("dialog", { class: "floating", "aria-label": "A question from the agent" });
  private readonly cards = new Map<string, Shown>();
  private readonly title = document.title;
  private readonly icon = document.querySelector<HTMLLinkElement>("link[rel=icon]")?.href ?? "";
  paneVisible: () => boolean = () => true;

  constructor(private readonly desk: Desk) {
    desk.model.signals.on(["questions", "agents"], () => this.render());
    setInterval(() => {
      for (const card of this.cards.values()) card.tick();
    }, 500);
    document.addEventListener("visibilitychange", () => this.mark());
  }

  // Where the cards are now.
  get place(): HTMLElement {
    return this.paneVisible() ? this.element : this.float;
  }

  focus(): void {
    this.place.querySelector<HTMLElement>("[data-default]")?.focus();
  }

  // Also when the pane is shown or hidden.
  render(): void {
    const { questions } = this.desk.model;
    for (const [id, card] of this.cards) {
      if (!questions.has(id)) {
        const had = card.element.contains(document.activeElement);
        card.element.remove();
        this.cards.delete(id);
        if (had) this.desk.focusActive();
      }
    }
    for (const question of questions.values()) if (!this.cards.has(question.id)) this.add(question);
    const { place } = this;
    for (const card of this.cards.values()) if (card.element.parentElement !== place) place.append(card.element);
    if (!this.float.isConnected) document.body.append(this.float);
    if (place === this.float && this.cards.size && !this.float.open) this.float.show();
    else if (place !== this.float || !this.cards.size) this.float.close();
    this.mark();
  }

  // A question while the page is not visible is seen in the browser's own bar and, where allowed, as a notification.
  private mark(): void {
    const waiting = this.cards.size;
    const name = this.desk.model.workspace.split("/").at(-1) || this.title;
    document.title = waiting ? `● Question — ${name}` : `${name} — Fourhands`;
    const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    const href = waiting ? this.icon.replace("%3C/svg", ALERT) : this.icon;
    if (link && link.href !== href) link.href = href;
  }

  private add(question: Question): void {
    const card = this.card(question);
    this.cards.set(question.id, card);
    const who = this.nameOf(question);
    this.desk.announce(announcement(question, who), true);
    if (document.hidden && "Notification" in window && Notification.permission === "granted") {
      new Notification(`${who} asks`, { body: question.shown || question.text, tag: question.id });
    }
    requestAnimationFrame(() => {
      // The keyboard is not taken from a person in mid-word.
      if (!this.desk.typing) card.element.querySelector<HTMLElement>("[data-default]")?.focus();
    });
  }

  private nameOf(question: Question): string {
    return question.actor?.name ?? this.desk.model.agents.get(question.session)?.name ?? "The agent";
  }

  private placeOf({ terminal }: Question): string {
    return terminal ? ` in ${this.desk.model.terminals.get(terminal)?.title ?? terminal}` : "";
  }

  private answer(question: Question, choice: Choice, more: { text?: string; reason?: string; scopes?: Scope[] } = {}): void {
    void this.desk.answer({ questionId: question.id, choice, ...more }, seenOf(question));
  }

  private card(question: Question): Shown {
    if (question.kind === "network") return this.network(question);
    if (question.kind === "browser") return this.browser(question);
    if (question.kind === "form") return this.form(question);
    if (question.kind === "link" && question.link) return this.link(question, question.link);
    return question.kind === "consent" ? this.consent(question) : this.confirmation(question);
  }

  // A further browser wants to sign in.
  private browser(question: Question): Shown {
    const left = h("span", { class: "left" });
    const deny = h("button", { class: "button", "data-default": "" }, "Deny");
    deny.addEventListener("click", () => this.answer(question, "deny"));
    const allow = this.guarded("Allow this browser", "risky", () => this.answer(question, "once"));
    const element = h(
      "section",
      { class: "ask", role: "alertdialog", "aria-label": "Allow this browser?", "data-question": question.id },
      h("h3", {}, "Allow this browser?"),
      h("p", {}, question.text),
      h("p", { class: "level" }, `Only if you have just opened it yourself: ${question.reason}.`),
      h("div", { class: "row" }, allow, deny, left),
    );
    return { element, tick: () => countDown(question, left) };
  }

  private guarded(label: string, style: string, run: () => void): HTMLButtonElement {
    const born = performance.now();
    const button = h("button", { class: `button ${style}` }, label);
    button.addEventListener("click", (event) => {
      // A click by key in the first moment was meant for something else.
      if (event.detail === 0 && performance.now() - born < DEAF_MS) return;
      run();
    });
    return button;
  }

  private consent(question: Question): Shown {
    const who = this.nameOf(question);
    const has = (choice: Choice) => question.options.includes(choice);
    const left = h("span", { class: "left" });
    const deny = h("button", { class: "button", "data-default": "" }, "Not now");
    deny.addEventListener("click", () => this.answer(question, "deny"));
    const boxes = new ScopeBoxes(question.scopes, question.scopes, (chosen) => {
      for (const button of yes) button.disabled = chosen.length === 0;
    });
    const allow = (choice: Choice) => () => this.answer(question, choice, question.scopes.length ? { scopes: boxes.chosen } : {});
    const yes = [
      ...(has("session") ? [this.guarded("Allow for this session", "main", allow("session"))] : []),
      ...(has("once") && !has("session") ? [this.guarded("Allow", "main", allow("once"))] : []),
      ...(has("always") ? [this.guarded("Always allow in this workspace", "", allow("always"))] : []),
    ];
    const element = h(
      "section",
      { class: "ask", role: "alertdialog", "aria-label": `${who} asks for consent`, "data-question": question.id },
      h("h3", {}, `Allow ${who} to work here?`),
      question.reason ? h("p", { class: "level" }, question.reason) : null,
      h("p", {}, `First action: ${this.desk.model.commands.get(question.command)?.label ?? question.command}`),
      question.scopes.length ? boxes.element : null,
      h("div", { class: "row" }, ...yes, deny, left),
    );
    return { element, tick: () => countDown(question, left) };
  }

  // A host that no one has decided about: the connection waits for the answer.
  private network(question: Question): Shown {
    const left = h("span", { class: "left" });
    const line = typeof question.detail.line === "string" ? question.detail.line : "";
    const labels: [Choice, string, string][] = [
      ["once", "Allow once", "main"],
      ["session", "Allow for this session", ""],
      ["always", "Always allow in this workspace", ""],
      ["never", "Never", ""],
    ];
    const offered = labels.filter(([choice]) => question.options.includes(choice));
    const deny = h("button", { class: "button", "data-default": "" }, "Deny");
    deny.addEventListener("click", () => this.answer(question, "deny"));
    const element = h(
      "section",
      { class: "ask", role: "alertdialog", "aria-label": question.text, "data-question": question.id },
      h("h3", {}, question.text),
      h("pre", { tabindex: "0" }, question.shown),
      line ? h("p", {}, "While this runs: ", h("code", {}, line)) : null,
      h("div", { class: "row" }, ...offered.map(([choice, label, style]) => this.guarded(label, style, () => this.answer(question, choice))), deny, left),
    );
    return { element, tick: () => countDown(question, left) };
  }

  // What an agent wants to know. Sent is what the server finds nothing wrong with; until then the form stays.
  private form(question: Question): Shown {
    const who = this.nameOf(question);
    const left = h("span", { class: "left" });
    const fields = new FormFields(question.fields, question.id);
    const sending = h("button", { class: "button main", type: "submit" }, "Send");
    let deafUntil = performance.now() + DEAF_MS;
    // By a key in the first moment: it was meant for something else. Whoever has clicked means this form.
    sending.addEventListener("click", (event) => {
      if (event.detail > 0) deafUntil = 0;
      else if (performance.now() < deafUntil) event.preventDefault();
    });
    const send = async () => {
      const values = fields.values();
      if (!values) return;
      sending.disabled = true;
      const answer = await this.desk.answer({ questionId: question.id, choice: "once", values }, seenOf(question), true);
      sending.disabled = false;
      if (!answer.success && !fields.refuse(answer.data?.field, answer.error)) this.desk.toasts.show(answer.error, answer.hint, "error");
    };
    const element = h(
      "section",
      { class: "ask", role: "dialog", "aria-label": `${who} asks you`, "data-question": question.id },
      h("h3", {}, `${who} asks`),
      h(
        "form",
        { novalidate: "", autocomplete: "off" },
        h("p", { class: "message" }, question.text),
        fields.element,
        h("div", { class: "row" }, sending, ...this.waysOut(question), left),
      ),
    );
    element.querySelector("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      void send();
    });
    (fields.first ?? element.querySelector(".row .button:nth-child(2)"))?.setAttribute("data-default", "");
    return { element, tick: () => countDown(question, left) };
  }

  // An address that an agent wants to be opened: the whole of it is shown, and it is opened by the person's own click.
  private link(question: Question, { url, host, warnings }: NonNullable<Question["link"]>): Shown {
    const who = this.nameOf(question);
    const left = h("span", { class: "left" });
    const at = url.toLowerCase().indexOf(host.toLowerCase());
    const shown = [url.slice(0, at), h("b", {}, url.slice(at, at + host.length)), url.slice(at + host.length)];
    const open = h("a", { class: `button ${warnings.length ? "risky" : "main"}`, href: url, target: "_blank", rel: "noopener noreferrer" }, `Open ${host}`);
    const born = performance.now();
    open.addEventListener("click", (event) => {
      if (event.detail === 0 && performance.now() - born < DEAF_MS) event.preventDefault();
      else this.answer(question, "once");
    });
    const [decline, cancel] = this.waysOut(question);
    decline.setAttribute("data-default", "");
    const element = h(
      "section",
      { class: "ask", role: "alertdialog", "aria-label": `${who} asks you to open a page`, "data-question": question.id },
      h("h3", {}, `${who} asks you to open a page`),
      h("p", { class: "message" }, question.text),
      h("pre", { tabindex: "0", class: "url", "aria-label": "Address" }, ...shown),
      ...warnings.map((words) => h("p", { class: "level" }, words)),
      h("div", { class: "row" }, open, decline, cancel, left),
    );
    return { element, tick: () => countDown(question, left) };
  }

  private waysOut(question: Question): [HTMLElement, HTMLElement] {
    const button = (label: string, title: string, choice: Choice) =>
      h("button", { class: "button", type: "button", title, on: { click: () => this.answer(question, choice) } }, label);
    return [button("Decline", "Tell the agent that you do not want to", "deny"), button("Cancel", "Leave it without an answer", "dismiss")];
  }

  private confirmation(question: Question): Shown {
    const who = this.nameOf(question);
    const dangerous = question.level === "dangerous";
    const left = h("span", { class: "left" });
    const body = h("pre", { tabindex: "0" }, question.shown);
    const reason = h("input", { type: "text", placeholder: "Reason (shown to the agent)", "aria-label": "Reason for refusing" });
    const deny = h("button", { class: "button", "data-default": "" }, "Deny");
    const refuse = () => this.answer(question, "deny", reason.value ? { reason: reason.value } : {});
    deny.addEventListener("click", refuse);
    reason.addEventListener("keydown", (event) => event.key === "Enter" && refuse());
    const has = (choice: Choice) => question.options.includes(choice);
    const once = this.guarded("Run once", dangerous ? "risky" : "main", () => this.answer(question, "once"));
    const rehearse = rehearseButton(this.desk, question, () => this.answer(question, "once"));
    const verdict = h("div", { "aria-live": "polite" }, ...verdictOf(question));
    const always = has("session") && !dangerous ? this.guarded("Always in this session", "", () => this.answer(question, "session")) : null;
    const rule = always && question.rule ? h("p", { class: "rule" }, `Always: ${question.rule}`) : null;
    const less = this.askLess(question);
    const edit = this.guarded("Edit", "", () => {
      const { box, run } = this.editor(question, verdict);
      body.replaceWith(box);
      box.focus();
      edit.replaceWith(run);
      // They would answer for the text that stood there before.
      for (const old of [once, always, rule, rehearse, less]) old?.remove();
    });
    const element = h(
      "section",
      { class: "ask", role: "alertdialog", "aria-label": `${who} wants to run a command`, "data-question": question.id },
      h("h3", {}, `${who} wants to run this${this.placeOf(question)}`),
      body,
      verdict,
      h("div", { class: "row" }, has("once") ? once : null, has("edit") ? edit : null, rehearse, always, deny, left, reason),
      rule,
      less,
    );
    return { element, tick: () => countDown(this.desk.model.questions.get(question.id) ?? question, left) };
  }

  // Where what is dangerous can be undone, a person may want to be asked only where it cannot.
  private askLess(question: Question): HTMLElement | null {
    if (!question.facts.some((fact) => fact.startsWith("Can be undone"))) return null;
    const link = this.guarded("From now on, only ask about what cannot be undone", "", async () => {
      const done = await this.desk.run("openspace.safety.set_asking", { ask: "irreversible" });
      if (done.success) line.replaceChildren("You are now asked only about what cannot be undone, here and for all agents in a sandbox.");
    });
    link.className = "link";
    const line = h("p", { class: "rule" }, link);
    return line;
  }

  // A box for a better text; what is said of it follows as it is written.
  private editor(question: Question, verdict: HTMLElement): { box: HTMLTextAreaElement; run: HTMLButtonElement } {
    const box = h("textarea", { rows: 2, "aria-label": "Changed command", spellcheck: "false" });
    box.value = question.shown;
    const run = this.guarded("Run edited", question.level === "dangerous" ? "risky" : "main", () => {
      // A line for a shell needs its Enter.
      const text = question.command === "openspace.terminal.send" && !box.value.endsWith("\n") ? `${box.value}\n` : box.value;
      this.answer(question, "edit", { text });
    });
    let judged = question.shown;
    const review = debounce(() => void look(), REVIEW_MS);
    const look = async () => {
      const text = box.value;
      if (text === judged || !box.isConnected) return;
      judged = text;
      const answer = await this.desk.run("openspace.workbench.review", { questionId: question.id, text }, true);
      if (box.value !== text) return; // the next look is on its way
      verdict.replaceChildren(...(answer.success ? verdictOf(answer) : [h("p", { class: "minus" }, `${answer.error}${answer.hint ? ` — ${answer.hint}` : ""}`)]));
      run.disabled = !answer.success;
      run.className = `button ${answer.success && answer.level === "dangerous" ? "risky" : "main"}`;
    };
    box.addEventListener("input", review);
    return { box, run };
  }
}

// What a person has read before they answer, which is signed with the answer.
function seenOf({ text, shown }: Question): string {
  return `${text}\n${shown}`;
}

function announcement(question: Question, who: string): string {
  if (question.kind === "form" || question.kind === "link") return `${who} asks: ${question.text}`;
  if (question.kind === "network") return question.text;
  if (question.kind === "browser") return "Allow this browser?";
  return question.kind === "consent" ? `${who} asks for consent` : `${who} wants to run: ${question.shown}`;
}

// Why a person is asked: how bad it is, which part of it, and what it would touch.
function verdictOf({ level, reason, parts, facts, detail }: Pick<Review, "level" | "reason" | "parts" | "facts" | "detail">): Node[] {
  const word = { dangerous: "Dangerous", safe: "Safe" }[level] ?? "Unknown";
  const bad = parts.filter((part) => part.level !== "safe");
  return [
    h("p", { class: `level ${level}` }, reason ? `${word}: ${reason}` : word),
    ...(bad.length > 1 ? [h("ul", {}, ...bad.map((part) => h("li", {}, h("code", {}, part.text), ` — ${part.reason || part.level}`)))] : []),
    ...(facts.length ? [h("p", { class: "facts" }, facts.join(" · "))] : []),
    ...glance(detail),
  ];
}

function countDown(question: Question, left: HTMLElement): void {
  if (question.deadline === null) return void (left.textContent = "");
  const seconds = Math.max(0, Math.ceil(question.deadline - Date.now() / 1000));
  left.textContent = `${seconds} s`;
}

// What the command would touch, as the server found out without running anything.
function glance(detail: Review["detail"]): Node[] {
  const told = Object.entries(detail).filter(
    ([, value]) => value !== null && value !== "" && value !== 0 && !(Array.isArray(value) && value.length === 0),
  );
  if (told.length === 0) return [];
  const words = told.map(([name, value]) => {
    if (name === "bytes" && typeof value === "number") return size(value);
    const label = name.replace(/([A-Z])/g, " $1").toLowerCase();
    if (typeof value === "number") return `${value} ${value === 1 ? label.replace(/s$/, "") : label}`;
    if (typeof value === "boolean") return value ? label : `not ${label}`;
    const text = Array.isArray(value) ? value.map(String).join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value);
    return `${label}: ${text}`;
  });
  return [h("p", { class: "glance" }, words.join(" · "))];
}
