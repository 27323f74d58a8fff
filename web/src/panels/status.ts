// The bar at the bottom, and the amber one at the top while the connection is lost.

import { tabs } from "../model/geometry.ts";
import type { Desk } from "./desk.ts";
import { h, setText } from "./dom.ts";

export class StatusBar {
  readonly element: HTMLElement;
  readonly lost = h("div", { class: "lostbar", role: "status", hidden: true });
  private readonly connection = h("span");
  private readonly journal = h("span", { class: "warn", role: "status", hidden: true }, "Not recorded: the journal cannot be written");
  private readonly here = h("span");
  private readonly place = h("span");
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
    this.theme.addEventListener("click", () => desk.theme.next());
    const again = h("button", { class: "link", on: { click: () => desk.link.retry() } }, "Try now");
    this.lost.append(this.lostText, again);
    this.element = h(
      "footer",
      { class: "status" },
      this.connection,
      this.journal,
      this.here,
      this.place,
      h("span", { class: "grow" }),
      this.undo,
      this.language,
      this.theme,
      h("button", { on: { click: help }, title: "Keyboard shortcuts and permissions" }, "Help"),
    );
    desk.model.signals.on(["agents", "presence", "connection", "actions", "layout", "editors"], () => this.render());
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
    this.journal.hidden = !model.unrecorded;
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
