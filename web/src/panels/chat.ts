// The conversation: bubbles for what was said, one line for each thing the agent did, a box to write in.

import type { ChatItem } from "../model/chat.ts";
import { describe, outside, type Step } from "../model/steps.ts";
import type { Desk } from "./desk.ts";
import { alike, h, perFrame, place, renew } from "./dom.ts";
import { renderMarkdown } from "./markdown.ts";
import type { Questions } from "./question.ts";
import { agentShield } from "./sandbox.ts";
import { changeConsent, inWords, mayDo, origin } from "./scopes.ts";
import { Slash } from "./slash.ts";

export class ChatPane {
  readonly element: HTMLElement;
  private readonly bar = h("div", { class: "agentbar" });
  private readonly attached = h("ul", { class: "attached", "aria-label": "Attached terminals", hidden: true });
  private readonly log = h("div", { class: "chat", role: "log", "aria-label": "Conversation", tabindex: "0" });
  private readonly box = h("textarea", { rows: 1, placeholder: "Message the agent …", "aria-label": "Message the agent" });
  private readonly sendButton = h("button", { class: "button main" }, "Send");
  private readonly drawn = new Map<string, { item: ChatItem; element: HTMLElement }>();
  private readonly queue: { session: string; text: string; key: string }[] = [];
  private session = "";
  private barText = "";
  private attachedText = "";
  private atEnd = true;
  private readonly render = perFrame(() => this.draw());

  constructor(
    private readonly desk: Desk,
    questions: Questions,
    private readonly openFile: (path: string, line?: number) => void,
  ) {
    const slash = new Slash(this.box, () => desk.model.offers.get(desk.agent()) ?? [], (text) => desk.announce(text));
    this.element = h("div", { style: "display:flex;flex-direction:column;flex:1;min-height:0" }, this.bar, this.attached, this.log, questions.element, h("div", { class: "composer" }, slash.element, this.box, this.sendButton));
    this.box.addEventListener("input", () => this.grow());
    this.box.addEventListener("keydown", (event) => {
      this.desk.typed();
      if (!event.isComposing && slash.key(event)) return;
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        void this.send();
      }
    });
    this.sendButton.addEventListener("click", () => void this.send());
    // A card that comes takes room from the log: its end stays in sight.
    this.log.addEventListener("scroll", () => (this.atEnd = this.isAtEnd()));
    new ResizeObserver(() => this.atEnd && this.log.scrollTo(0, this.log.scrollHeight)).observe(this.log);
    desk.model.signals.on(["chat", "agents", "actions"], this.render);
    desk.model.signals.on("terminals", () => this.drawAttached(this.desk.agent()));
    desk.model.signals.on("connection", () => {
      if (desk.link.status.kind === "open") void this.sendQueued();
    });
    this.draw();
  }

  focus(): void {
    this.box.focus();
  }

  private isAtEnd(): boolean {
    return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
  }

  private grow(): void {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight + 2, 160)}px`;
  }

  // -- writing -------------------------------------------------------------------------------------------------------

  private async send(text = this.box.value.trim()): Promise<void> {
    const session = this.desk.agent();
    if (!text || !session) return;
    this.box.value = "";
    this.grow();
    if (this.desk.link.status.kind !== "open") {
      // The one place where typing is kept for later: a message to an agent is as good in a minute.
      const key = this.desk.model.chat(session).you(text, true);
      this.queue.push({ session, text, key });
      this.render();
      return;
    }
    const answer = await this.desk.run("openspace.agent.prompt", { sessionId: session, text }, true);
    if (!answer.success) {
      if (!this.box.value) this.box.value = text;
      this.desk.model.chat(session).notice(`${answer.error}${answer.hint ? ` — ${answer.hint}` : ""}`, true);
      this.render();
    }
  }

  private async sendQueued(): Promise<void> {
    for (const { session, text, key } of this.queue.splice(0)) {
      this.desk.model.chat(session).remove(key); // it comes back by the event that every browser gets
      await this.desk.run("openspace.agent.prompt", { sessionId: session, text });
    }
    this.render();
  }

  // -- showing -------------------------------------------------------------------------------------------------------

  private draw(): void {
    const { model } = this.desk;
    const session = this.desk.agent();
    this.drawBar(session);
    this.drawAttached(session);
    if (session !== this.session) {
      this.session = session;
      this.drawn.clear();
    }
    this.box.disabled = this.sendButton.disabled = !session;
    const items = session ? model.chat(session).items : [];
    if (items.length === 0) {
      const text = session
        ? "Describe what you want. You see everything the agent does, and can stop it at any time."
        : "No agent is here yet.";
      if (this.log.dataset.empty === text) return;
      this.log.dataset.empty = text;
      const start = h("button", { class: "button" }, "Connect an agent");
      start.addEventListener("click", () => this.desk.askArguments("openspace.agent.start", {}));
      this.log.replaceChildren(h("div", { class: "empty" }, h("p", {}, text), session ? null : start));
      return;
    }
    delete this.log.dataset.empty;
    const atEnd = this.isAtEnd();
    const elements = items.map((item) => {
      const old = this.drawn.get(item.key);
      if (old?.item === item && item.kind !== "step") return old.element;
      const element = alike(old?.element, this.drawItem(item, old?.element));
      this.drawn.set(item.key, { item, element });
      return element;
    });
    place(this.log, elements);
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
  }

  private drawBar(session: string): void {
    const agents = [...this.desk.model.agents.values()];
    const text = JSON.stringify([session, agents.map((one) => [one.id, one.name, one.title, one.status, one.paused, one.consent, one.scopes, one.allowedBy, one.askBy, one.state.cwd, one.isolation, one.rung]), this.desk.model.titles.get(session)]);
    if (text === this.barText) return;
    this.barText = text;
    this.bar.hidden = agents.length === 0;
    const choose = h("select", { "aria-label": "Agent" }, ...agents.map((one) => h("option", { value: one.id }, one.title || one.name)));
    choose.addEventListener("change", () => {
      this.desk.chosenAgent = choose.value;
      this.desk.model.signals.fire(["agents", "chat"]);
    });
    const agent = agents.find((one) => one.id === session);
    const state = agent ? (agent.paused ? "paused" : agent.status) : "";
    const reset = h("button", { class: "button small", title: "Forget this chat and what the agent made" }, "New ", h("span", { class: "wide" }, "chat"));
    reset.addEventListener("click", () => void this.desk.run("openspace.agent.reset", { sessionId: this.desk.agent() }));
    const title = this.desk.model.titles.get(session) ?? "";
    const words = [inWords(agent?.scopes ?? []), agent ? origin(agent) : ""].filter((one) => one).join("; ");
    const may = h("button", { class: "link", title: `Change what this agent may do here: ${words}` }, agent ? mayDo(agent) : "");
    may.addEventListener("click", () => void changeConsent(this.desk, this.desk.agent()));
    const named = title ? [h("div", { class: "title", title }, title)] : [];
    const cwd = agent?.state.cwd;
    const place = cwd ? [h("span", { class: "state cwd", title: "Its programs start in this directory" }, `in ${cwd}`)] : [];
    const kept = agent ? agentShield(agent) : null;
    renew(this.bar, [choose, h("span", { class: "state" }, state), ...place, ...(kept ? [kept] : []), may, reset, ...named]);
    this.bar.querySelector("select")!.value = session;
  }

  // A chip for each terminal of which the agent is told what is new.
  private drawAttached(session: string): void {
    const { model } = this.desk;
    const found = (model.agents.get(session)?.attached ?? []).map((one) => ({ ...one, title: model.title(one.terminalId) || one.title }));
    const text = JSON.stringify([session, found]);
    if (text === this.attachedText) return;
    this.attachedText = text;
    this.attached.hidden = found.length === 0;
    this.attached.replaceChildren(
      ...found.map(({ terminalId, title }) => {
        const go = h("button", { class: "link", title: "Show this terminal" }, title);
        go.addEventListener("click", () => void this.desk.run("openspace.terminal.show", { terminalId }));
        const off = h("button", { class: "off", title: "Detach", "aria-label": `Detach ${title}` }, "×");
        off.addEventListener("click", () => void this.desk.run("openspace.agent.detach", { sessionId: session, terminalId }));
        return h("li", {}, go, off);
      }),
    );
  }

  private drawItem(item: ChatItem, old?: HTMLElement): HTMLElement {
    switch (item.kind) {
      case "you":
        return h("div", { class: `bubble you${item.queued ? " queued" : ""}` }, h("span", { class: "away" }, "You: "), item.text, item.queued ? " (will be sent)" : null);
      case "said": {
        const element = old ?? h("div", { class: "bubble said" });
        element.replaceChildren(...renderMarkdown(item.text));
        return element;
      }
      case "thought":
        return h("details", { class: "thought" }, h("summary", {}, item.done ? "Thought" : "Thinking …"), h("div", {}, ...renderMarkdown(item.text)));
      case "step":
        return this.drawStep(item.step);
      case "tool":
        return h("div", { class: `step ${item.status === "failed" ? "failed" : item.status === "completed" ? "done" : "running"}` }, h("span", { class: "what", title: item.detail }, item.title), this.placeOf(item));
      case "plan":
        return h("ol", { class: "plan", "aria-label": "Plan" }, ...item.entries.map((entry) => h("li", { class: entry.status }, entry.content)));
      case "notice":
        return h("div", { class: `notice${item.bad ? " bad" : ""}` }, item.text);
    }
  }

  // Where to look at what a tool of the agent's own does: its terminal, or the file it changed.
  private placeOf({ terminal, path }: { terminal: string; path: string }): Node | null {
    const link = (label: string, run: () => void) => h("button", { class: "link", on: { click: run } }, label);
    if (terminal) return link("show", () => void this.desk.run("openspace.terminal.show", { terminalId: terminal }));
    return path ? link("open", () => this.openFile(path)) : null;
  }

  private drawStep(step: Step): HTMLElement {
    const [verb, what, where] = describe(step, this.desk.model.title);
    const failed = step.state === "failed";
    const action = this.actionOf(step);
    return h(
      "div",
      { class: `step ${step.state}` },
      h("span", { class: "what", title: typeof step.args.text === "string" ? step.args.text : step.command }, `${failed ? "failed: " : ""}${verb} `, what ? h("code", {}, what) : null, where ? ` ${where}` : null, failed ? ` — ${step.error}` : null),
      action,
    );
  }

  // The highlight that a step made, if it is still there. One that was given no name is known by its first line.
  private markOf({ args, session }: Step): string | undefined {
    const first = Array.isArray(args.ranges) ? (args.ranges[0] as { startLine?: number } | undefined) : undefined;
    const named = typeof args.highlightId === "string" ? args.highlightId : null;
    return [...this.desk.model.highlights.values()].find((mark) =>
      named ? mark.id === named : mark.owner === session && mark.path === args.path && mark.ranges[0]?.startLine === first?.startLine,
    )?.id;
  }

  // The one thing that one may want to do about a step.
  private actionOf(step: Step): Node | null {
    const link = (label: string, run: () => void) => h("button", { class: "link", on: { click: run } }, label);
    const path = typeof step.args.path === "string" ? step.args.path : "";
    if (step.state === "running") return null;
    const leaving = outside(step);
    if (leaving) return link("Run outside", () => void this.desk.run("openspace.terminal.run_outside", leaving));
    if (step.state === "failed") return null;
    if (step.command === "openspace.editor.highlight") {
      const id = this.markOf(step);
      return id ? link("clear", () => void this.desk.run("openspace.editor.clear_highlight", { highlightId: this.markOf(step) ?? id })) : null;
    }
    if (path && ["openspace.editor.open", "openspace.editor.scroll_to", "openspace.tool.show"].includes(step.command)) {
      const line = typeof step.args.line === "number" ? step.args.line : undefined;
      return link("go", () => this.openFile(path, line));
    }
    const undo = this.desk.model.actions.find((one) => one.callId === step.callId && one.status === "done");
    if (undo) return link("undo", () => void this.desk.run("openspace.workbench.undo", { callId: step.callId }));
    if (typeof step.args.terminalId === "string") {
      const terminalId = step.args.terminalId;
      return link("show", () => void this.desk.run("openspace.terminal.show", { terminalId }));
    }
    return null;
  }
}
