// The bar at the bottom, and the amber one at the top while the connection is lost.

import { tabs } from "../model/geometry.ts";
import type { Desk } from "./desk.ts";
import { h, setText } from "./dom.ts";
import { explainSandbox, shortLine } from "./sandbox.ts";

export class StatusBar {
  readonly element: HTMLElement;
  readonly lost = h("div", { class: "lostbar", role: "status", hidden: true });
  private readonly connection = h("span");
  private readonly journal = h("span", { class: "warn", role: "status", hidden: true }, "Not recorded: the journal cannot be written");
  private readonly sandbox = h("button", { class: "sandbox", hidden: true });
  private readonly here = h("span");
  private readonly place = h("span");
  private readonly ports = h("span", { class: "ports" });
  private asked = false;
  private readonly undo = h("button", {}, "Undo last agent action ", h("kbd", {}, "Ctrl Alt Z"));
  private readonly language = h("span");
  private readonly theme = h("button", { title: "Change the colours" });
  private readonly lostText = h("span");
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly desk: Desk,
    help: () => void,
  ) {
    this.undo.addEventListener("click", () => void undoLast(desk));
    this.sandbox.addEventListener("click", () => desk.model.sandbox && explainSandbox(desk.model.sandbox));
    this.theme.addEventListener("click", () => desk.theme.next());
    const again = h("button", { class: "link", on: { click: () => desk.link.retry() } }, "Try now");
    this.lost.append(this.lostText, again);
    this.element = h(
      "footer",
      { class: "status" },
      this.connection,
      this.journal,
      this.sandbox,
      this.here,
      this.place,
      h("span", { class: "grow" }),
      this.ports,
      this.undo,
      this.language,
      this.theme,
      h("button", { on: { click: help }, title: "Keyboard shortcuts and permissions" }, "Help"),
    );
    desk.model.signals.on(["agents", "presence", "connection", "actions", "layout", "editors"], () => this.render());
    desk.model.signals.on(["ports"], () => this.renderPorts());
    const names = { system: "System", dark: "Dark", light: "Light", contrast: "High contrast" };
    desk.theme.on(() => setText(this.theme, names[desk.theme.choice]));
    this.render();
  }

  setPosition(line: number, column: number, language: string): void {
    setText(this.place, line ? `Ln ${line}, Col ${column}` : "");
    setText(this.language, language);
  }

  render(): void {
    const { model, link } = this.desk;
    const open = link.status.kind === "open";
    setText(this.connection, open ? "● Connected" : "○ Not connected");
    this.connection.className = open ? "ok" : "warn";
    // What was opened or closed meanwhile came by no event.
    if (open && !this.asked) void this.askPorts();
    this.asked = open;
    this.journal.hidden = !model.unrecorded;
    this.sandbox.hidden = !model.sandbox;
    if (model.sandbox) {
      setText(this.sandbox, shortLine(model.sandbox));
      this.sandbox.className = `sandbox ${model.sandbox.isolation === "none" ? "warn" : ""}`;
      this.sandbox.title = [model.sandbox.line, model.sandbox.reason].filter(Boolean).join("\n");
    }
    const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
    const used = model.usage.get(this.desk.agent());
    const words = used ? `, ${used.used.toLocaleString()}${used.size ? ` of ${used.size.toLocaleString()}` : ""} tokens used` : "";
    setText(this.here, `${count(model.browsers, "browser")}, ${count(model.agents.size, "agent")}${words}`);
    const next = model.actions.find((action) => action.status === "done");
    this.undo.hidden = !next;
    this.undo.title = next ? next.description : "";
    if (tabs(model.layout.root).length === 0) this.setPosition(0, 0, "");
    this.renderLost();
  }

  private async askPorts(): Promise<void> {
    const answer = await this.desk.run("openspace.network.ports", {}, true);
    if (answer.success) this.desk.model.setPorts(answer.ports);
  }

  // A link for each program in a sandbox that listens; its page is another origin than this one.
  private renderPorts(): void {
    const links = [...this.desk.model.ports.values()].map(({ port, outside }) => {
      const moved = port === outside ? "" : ` (port ${port} is taken on this machine)`;
      const title = `Open http://127.0.0.1:${outside}/ in a new tab${moved}`;
      return h("a", { href: `http://127.0.0.1:${outside}/`, target: "_blank", rel: "noopener noreferrer", title }, `Open :${outside}`);
    });
    this.ports.replaceChildren(...links);
  }

  private renderLost(): void {
    const { status } = this.desk.link;
    clearInterval(this.timer);
    this.lost.hidden = status.kind !== "lost";
    if (status.kind !== "lost") return;
    const tell = () => {
      const seconds = Math.max(0, Math.ceil((status.retryAt - Date.now()) / 1000));
      setText(this.lostText, `Connection lost — trying again${seconds > 0 ? ` (${seconds} s)` : " …"}`);
    };
    tell();
    this.timer = setInterval(tell, 500);
  }
}

export async function undoLast(desk: Desk): Promise<void> {
  const answer = await desk.run("openspace.workbench.undo", {});
  if (!answer.success) return;
  const passed = answer.passed.map((action) => `${action.description}: ${action.reason ?? ""}`).join("; ");
  desk.toasts.show(`Undone: ${answer.action.description}`, passed ? `Not undone: ${passed}` : "", "info", {
    label: "Redo",
    run: () => void desk.run("openspace.workbench.redo", {}),
  });
}
