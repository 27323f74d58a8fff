// The bar at the top: where we are, the search box, who is here, and the three things to do about an agent.

import type { Desk } from "./desk.ts";
import { h, icon, setText } from "./dom.ts";
import { Presence } from "./presence.ts";

const DOUBLE_MS = 1500;

export class TopBar {
  readonly element: HTMLElement;
  private readonly workspace = h("span", { class: "workspace" });
  private readonly presence: Presence;
  private readonly follow = h("button", { class: "button follow" });
  private readonly pause = h("button", { class: "button" });
  private readonly stop = h("button", { class: "button bad" }, icon("stop", true), "Stop");
  private stoppedAt = 0;

  constructor(
    private readonly desk: Desk,
    toggleFiles: () => void,
  ) {
    this.presence = new Presence(desk);
    const search = h(
      "button",
      { class: "searchbox", on: { click: () => desk.openPalette() } },
      h("span", {}, "Search commands and files"),
      h("kbd", {}, "Ctrl K"),
    );
    this.follow.addEventListener("click", () => desk.setFollowing(!desk.following));
    this.pause.addEventListener("click", () => void this.togglePause());
    this.stop.addEventListener("click", () => void this.stopAgent());
    this.stop.title = "Stop (press twice to kill its programs and revoke access)";
    this.element = h(
      "header",
      { class: "top" },
      h("span", { class: "logo", "aria-hidden": "true" }, h("i"), h("i")),
      h("h1", {}, "Fourhands"),
      h("button", { class: "button drawerbutton", title: "Files and activity (Ctrl B)", on: { click: toggleFiles } }, icon("file"), "Files"),
      this.workspace,
      search,
      this.presence.element,
      this.follow,
      this.pause,
      this.stop,
    );
    desk.model.signals.on(["agents", "presence", "connection", "layout"], () => this.render());
    desk.onFollow = () => this.render();
    this.render();
  }

  private render(): void {
    const { model } = this.desk;
    setText(this.workspace, model.workspace.split("/").filter(Boolean).at(-1) ?? "");
    this.workspace.title = model.workspace;
    const agent = model.agents.get(this.desk.agent());
    const { following } = this.desk;
    const words = following ? "Following agent" : "Paused following — resume";
    this.follow.replaceChildren(icon("eye"), h("span", {}, words));
    this.follow.title = words;
    this.follow.setAttribute("aria-label", words);
    this.follow.classList.toggle("on-agent", following);
    this.follow.setAttribute("aria-pressed", String(following));
    const paused = agent?.paused ?? false;
    this.pause.replaceChildren(icon(paused ? "play" : "pause", paused), paused ? "Resume" : "Pause");
    this.pause.setAttribute("aria-pressed", String(paused));
    for (const button of [this.follow, this.pause, this.stop]) button.disabled = !agent;
    this.presence.render(); // when all else has its width
  }

  async togglePause(): Promise<void> {
    const sessionId = this.desk.agent();
    const paused = this.desk.model.agents.get(sessionId)?.paused ?? false;
    await this.desk.run(paused ? "openspace.agent.resume" : "openspace.agent.pause", { sessionId });
  }

  async stopAgent(): Promise<void> {
    const sessionId = this.desk.agent();
    if (!sessionId) return;
    const kill = Date.now() - this.stoppedAt < DOUBLE_MS;
    this.stoppedAt = Date.now();
    const answer = await this.desk.run("openspace.agent.stop", { sessionId, kill });
    if (answer.success) {
      const text = kill ? "Agent killed; its access was revoked." : "Stopped.";
      this.desk.toasts.show(text, kill ? "" : "Stop again at once to end its programs too.", "info");
    }
  }
}
