// The panes: one host element whose children are placed by percentage and keyed by id, so that nothing is ever moved in
// the document. A terminal, an editor or a frame that changes its pane only changes its style and keeps its state.
//
// The server owns the tree. A drag shows its effect at once, is sent as one command when the pointer is released, and
// whatever the server then says is shown. While the pointer is down, trees that arrive wait.

import { type Box, type Node, place as placeTree, type PlacedPane, type Sash, type Side, sideAt, withSizes } from "../model/geometry.ts";
import type { Pane, Tab } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { ask } from "./dialog.ts";
import { h, icon, place, setStyle, setText } from "./dom.ts";
import { type MenuItem, openMenu } from "./menu.ts";
import { type SashHost, Sashes } from "./sashes.ts";

export interface View {
  readonly element: HTMLElement;
  shown(visible: boolean): void;
  focus(): void;
  dispose(): void;
}

export type Factory = (tab: Tab) => View;

const STRIP = "var(--tabs)";
const THRESHOLD = 5;

interface Strip {
  element: HTMLElement;
  list: HTMLElement;
  tabs: Map<string, HTMLElement>;
}

export class Dock implements SashHost {
  readonly element = h("main", { class: "host", id: "workbench", "aria-label": "Editors and terminals" });
  readonly views = new Map<string, View>(); // by type and content
  narrow: "" | "editor" | "terminal" = "";
  private readonly strips = new Map<string, Strip>();
  private readonly sashes: Sashes;
  private readonly fronts = new Map<string, string>(); // the tab in front, as this browser shows it
  private readonly news = new Set<string>(); // tabs that an agent brought forward behind the person's back
  dragging = false; // while the pointer is down, trees that arrive wait
  private tree: Node | null = null; // the one that is shown
  private sizes: { split: string; sizes: number[] } | null = null;
  private readonly mark = h("div", { class: "dropmark", hidden: true });
  private readonly start: HTMLElement;

  constructor(
    private readonly desk: Desk,
    private readonly factories: Record<string, Factory>,
    start: HTMLElement,
  ) {
    this.start = start;
    this.sashes = new Sashes(desk, this);
    this.element.append(start, this.mark);
    desk.model.signals.on(["layout", "terminals", "editors", "drafts"], () => this.render());
    desk.focusActive = () => this.focusActive();
  }

  view(type: string, content: string): View | undefined {
    return this.views.get(`${type}:${content}`);
  }

  // The tab in front of the active pane, as this browser shows it.
  active(): Tab | null {
    const { layout } = this.desk.model;
    const placed = placeTree(layout.root).panes;
    const pane = placed.find((one) => one.pane.id === layout.activePane)?.pane ?? placed[0]?.pane;
    return pane ? (this.front(pane) ?? null) : null;
  }

  focusActive(): void {
    const tab = this.active();
    if (tab) this.view(tab.type, tab.content)?.focus();
  }

  // What is to be seen, pane by pane.
  inFront(): View[] {
    const fronts = placeTree(this.desk.model.layout.root).panes.map(({ pane }) => this.front(pane));
    return fronts.flatMap((tab) => (tab && this.view(tab.type, tab.content)) ?? []);
  }

  preview(split: string, sizes: number[] | null): void {
    this.sizes = sizes ? { split, sizes } : null;
    this.draw();
  }

  render(): void {
    if (!this.dragging) this.draw();
  }

  private draw(): void {
    if (!this.dragging) this.tree = this.desk.model.layout.root;
    const root = this.sizes && this.tree ? withSizes(this.tree, this.sizes.split, this.sizes.sizes) : this.tree;
    this.show(root === null ? { panes: [], sashes: [] } : placeTree(root));
  }

  private show(tree: { panes: PlacedPane[]; sashes: Sash[] }): void {
    const live = new Set<string>();
    const shownPanes = this.narrow ? this.onlyOne(tree.panes) : tree.panes;
    for (const { pane } of tree.panes) this.choose(pane);
    for (const { pane, box } of tree.panes) {
      const visible = shownPanes.some((one) => one.pane.id === pane.id);
      const area = this.narrow ? { x: 0, y: 0, width: 100, height: 100 } : box;
      this.showStrip(pane, area, visible);
      const front = this.front(pane);
      for (const tab of pane.tabs) {
        const key = `${tab.type}:${tab.content}`;
        live.add(key);
        let view = this.views.get(key);
        if (!view) {
          const factory = this.factories[tab.type];
          if (!factory) continue;
          view = factory(tab);
          view.element.setAttribute("role", "tabpanel");
          view.element.classList.add("view", "hidden");
          this.views.set(key, view);
          this.element.append(view.element);
        }
        view.element.setAttribute("aria-label", tab.title);
        const inFront = visible && tab.id === front?.id;
        setStyle(view.element, "left", `${area.x}%`);
        setStyle(view.element, "width", `${area.width}%`);
        setStyle(view.element, "top", `calc(${area.y}% + ${STRIP})`);
        setStyle(view.element, "height", `calc(${area.height}% - ${STRIP})`);
        if (view.element.classList.contains("hidden") === inFront) {
          view.element.classList.toggle("hidden", !inFront);
          view.shown(inFront);
        }
      }
    }
    for (const [key, view] of this.views) {
      if (!live.has(key)) {
        this.views.delete(key);
        view.element.remove();
        view.dispose();
      }
    }
    this.drop(this.strips, new Set(tree.panes.map(({ pane }) => pane.id)), (strip) => strip.element.remove());
    this.sashes.show(tree.sashes);
    this.start.hidden = tree.panes.length > 0;
  }

  private drop<T>(map: Map<string, T>, live: Set<string>, remove: (value: T) => void): void {
    for (const [key, value] of map) {
      if (!live.has(key)) {
        map.delete(key);
        remove(value);
      }
    }
  }

  // Under 700 pixels one pane is shown at a time: the one in use, of the kind that the bottom tabs ask for.
  private onlyOne(placed: PlacedPane[]): PlacedPane[] {
    const has = (one: PlacedPane) => one.pane.tabs.some((tab) => tab.type === this.narrow);
    const { activePane } = this.desk.model.layout;
    const found = placed.find((one) => one.pane.id === activePane && has(one)) ?? placed.find(has);
    return found ? [found] : [];
  }

  // -- which tab is in front -----------------------------------------------------------------------------------------

  private front(pane: Pane): Tab | undefined {
    const mine = this.fronts.get(pane.id);
    const wanted = pane.tabs.find((tab) => tab.id === mine) ?? pane.tabs.find((tab) => tab.id === pane.activeTab);
    if (this.narrow && wanted?.type !== this.narrow) return pane.tabs.find((tab) => tab.type === this.narrow) ?? wanted;
    return wanted;
  }

  // A tab that another actor brings forward does not cover what the person is typing in, nor anything while they do not
  // follow the agent: it gets a dot instead.
  private choose(pane: Pane): void {
    const before = this.fronts.get(pane.id);
    const there = pane.tabs.find((tab) => tab.id === before);
    if (!there || before === pane.activeTab || this.desk.pending > 0) {
      this.fronts.set(pane.id, pane.activeTab);
      this.news.delete(pane.activeTab);
      return;
    }
    const inUse = this.view(there.type, there.content)?.element.contains(document.activeElement) && this.desk.typing;
    if (inUse || !this.desk.following) this.news.add(pane.activeTab);
    else this.fronts.set(pane.id, pane.activeTab);
  }

  // -- tabs ----------------------------------------------------------------------------------------------------------

  private showStrip(pane: Pane, box: Box, visible: boolean): void {
    let strip = this.strips.get(pane.id);
    if (!strip) {
      const list = h("div", { role: "tablist", "aria-label": "Open here", style: "display:flex;min-width:0" });
      const add = h("button", { class: "add", title: "New terminal", "aria-label": "New terminal" }, icon("plus"));
      add.addEventListener("click", () => void this.newTerminal());
      strip = { element: h("div", { class: "strip" }, list, add), list, tabs: new Map() };
      const { element } = strip;
      element.addEventListener("wheel", (event) => (element.scrollLeft += event.deltaY), { passive: true });
      this.strips.set(pane.id, strip);
      this.element.append(strip.element);
    }
    const { element, list, tabs } = strip;
    element.hidden = !visible;
    element.classList.toggle("active", pane.id === this.desk.model.layout.activePane);
    (element.querySelector(".add") as HTMLElement).hidden = !pane.tabs.some((tab) => tab.type === "terminal");
    setStyle(element, "left", `${box.x}%`);
    setStyle(element, "top", `${box.y}%`);
    setStyle(element, "width", `${box.width}%`);
    const front = this.front(pane);
    const elements = pane.tabs.map((tab) => {
      let one = tabs.get(tab.id);
      if (!one) tabs.set(tab.id, (one = this.makeTab(tab.id)));
      this.fillTab(one, tab, tab.id === front?.id);
      return one;
    });
    this.drop(tabs, new Set(pane.tabs.map((tab) => tab.id)), (one) => one.remove());
    place(list, elements);
  }

  private makeTab(id: string): HTMLElement {
    const close = h("span", { class: "close", title: "Close", "aria-hidden": "true" }, icon("close"));
    const element = h(
      "div",
      { class: "tab", role: "tab", "data-tab": id },
      h("span", { class: "dot", hidden: true }),
      h("span", { class: "name" }),
      close,
    );
    close.addEventListener("pointerdown", (event) => event.stopPropagation());
    close.addEventListener("click", (event) => {
      event.stopPropagation();
      void this.close(id);
    });
    element.addEventListener("auxclick", (event) => {
      if (event.button === 1) void this.close(id);
    });
    element.addEventListener("pointerdown", (event) => this.dragTab(event, element, id));
    element.addEventListener("keydown", (event) => this.tabKey(event, element, id));
    element.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const byKey = event.clientX === 0 && event.clientY === 0;
      openMenu("Tab", byKey ? box.left : event.clientX, byKey ? box.bottom : event.clientY, this.menuOf(id));
    });
    return element;
  }

  // What can be done about a tab.
  private menuOf(id: string): MenuItem[] {
    const tab = this.find(id)?.tab;
    if (!tab) return [];
    const { desk } = this;
    const terminal = tab.type === "terminal" ? desk.model.terminals.get(tab.content) : undefined;
    const items: MenuItem[] = [];
    for (const agent of terminal ? desk.model.agents.values() : []) {
      const args = { sessionId: agent.id, terminalId: tab.content };
      if (agent.attached.some((one) => one.terminalId === tab.content)) {
        items.push({ label: `Detach from ${agent.name}'s chat`, run: () => void desk.run("openspace.agent.detach", args) });
      } else if (terminal?.status === "running") {
        items.push({ label: `Attach to ${agent.name}'s chat`, run: () => void desk.run("openspace.agent.attach", args) });
      }
    }
    const split = (splitDirection: "vertical" | "horizontal") => async () => {
      const answer = await desk.run("openspace.pane.open", { type: tab.type, contentId: tab.content, splitDirection });
      if (answer.success && answer.note) desk.toasts.show("Not split", answer.note, "info");
    };
    if (terminal) items.push({ label: "Rename …", run: () => desk.askArguments("openspace.terminal.rename", { terminalId: tab.content }) });
    items.push({ label: "Split right", run: split("vertical") }, { label: "Split below", run: split("horizontal") });
    items.push({ label: "Close", run: () => void this.close(id) });
    return items;
  }

  private fillTab(element: HTMLElement, tab: Tab, front: boolean): void {
    const { model } = this.desk;
    const editor = tab.type === "editor" ? model.editors.get(tab.content) : undefined;
    const terminal = tab.type === "terminal" ? model.terminals.get(tab.content) : undefined;
    const byAgent = model.agents.has(tab.owner);
    const dot = element.firstElementChild as HTMLElement;
    const dirty = editor?.dirty ?? false;
    dot.hidden = !(dirty || this.news.has(tab.id));
    dot.className = dirty ? "dot unsaved" : "dot";
    dot.title = dirty ? "not saved" : "new here";
    setText(element.querySelector(".name")!, terminal?.title ?? tab.title);
    element.classList.toggle("by-agent", byAgent);
    if (front && element.getAttribute("aria-selected") !== "true") requestAnimationFrame(() => bringIntoStrip(element));
    element.setAttribute("aria-selected", String(front));
    element.tabIndex = front ? 0 : -1;
    const state = terminal && terminal.status !== "running" ? ` (${terminal.status})` : "";
    const label = `${terminal?.title ?? tab.title}${state}${dirty ? ", not saved" : ""}${byAgent ? ", opened by the agent" : ""}`;
    element.title = tab.type === "editor" ? tab.content : label;
    element.setAttribute("aria-label", label);
  }

  private find(id: string): { pane: Pane; tab: Tab } | undefined {
    for (const { pane } of placeTree(this.desk.model.layout.root).panes) {
      const tab = pane.tabs.find((one) => one.id === id);
      if (tab) return { pane, tab };
    }
    return undefined;
  }

  // The person chose a tab: bring it forward here at once and for everybody by a command.
  pick(id: string): void {
    const found = this.find(id);
    if (!found) return;
    this.fronts.set(found.pane.id, id);
    this.news.delete(id);
    this.render();
    this.view(found.tab.type, found.tab.content)?.focus();
    void this.desk.run("openspace.pane.focus", { paneId: id });
  }

  private tabKey(event: KeyboardEvent, element: HTMLElement, id: string): void {
    const tabs = [...element.parentElement!.children] as HTMLElement[];
    const at = tabs.indexOf(element);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      const target = tabs.at(next % tabs.length);
      if (target) {
        this.pick(target.dataset.tab!);
        target.focus();
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.pick(id);
    } else if (event.key === "Delete") {
      event.preventDefault();
      void this.close(id);
    }
  }

  async newTerminal(): Promise<void> {
    const answer = await this.desk.run("openspace.terminal.create", {});
    if (answer.success) this.view("terminal", answer.terminalId)?.focus();
  }

  async openFile(path: string, line?: number): Promise<void> {
    const answer = await this.desk.run("openspace.editor.open", line ? { path, line } : { path });
    if (answer.success) this.view("editor", path)?.focus();
  }

  async close(id: string): Promise<void> {
    const found = this.find(id);
    if (!found) return;
    const { tab } = found;
    if (tab.type === "terminal") await this.closeTerminal(tab);
    else await this.closeEditor(tab);
  }

  private async closeTerminal(tab: Tab): Promise<void> {
    const terminal = this.desk.model.terminals.get(tab.content);
    if (!terminal || terminal.status !== "running" || terminal.shellState === "prompt") {
      await this.desk.run("openspace.terminal.close", { terminalId: tab.content });
      return;
    }
    const choice = await ask(`${terminal.title} is still running`, "A program is still running.", [
      { label: "Kill", value: "end", style: "bad" },
      { label: "Keep running in background", value: "hide" },
      { label: "Cancel", value: "" },
    ]);
    if (choice === "end") await this.desk.run("openspace.terminal.close", { terminalId: tab.content });
    if (choice === "hide") await this.desk.run("openspace.pane.close", { paneId: tab.id });
  }

  private async closeEditor(tab: Tab): Promise<void> {
    if (this.desk.model.editors.get(tab.content)?.dirty) {
      const choice = await ask(`${tab.title} has unsaved text`, "Closing it would lose the text.", [
        { label: "Save", value: "save" },
        { label: "Discard", value: "discard", style: "bad" },
        { label: "Cancel", value: "" },
      ]);
      if (choice === "") return;
      const path = tab.content;
      const view = this.view("editor", path) as (View & { save?: () => Promise<boolean> }) | undefined;
      if (choice === "save" && view?.save && !(await view.save())) return;
      if (choice === "discard" && !(await this.desk.run("openspace.editor.discard", { path })).success) return;
    }
    await this.desk.run("openspace.pane.close", { paneId: tab.id });
  }

  private dragTab(event: PointerEvent, element: HTMLElement, id: string): void {
    if (event.button !== 0) return;
    const { clientX: x0, clientY: y0 } = event;
    let target: { pane: string; side: Side; index: number | null } | null = null;
    let moving = false;
    const baseRev = this.desk.model.rev;
    element.setPointerCapture(event.pointerId);
    const move = (to: PointerEvent) => {
      if (!moving && Math.hypot(to.clientX - x0, to.clientY - y0) < THRESHOLD) return;
      if (!moving) {
        moving = this.dragging = true;
        document.body.classList.add("dragging");
      }
      target = this.targetAt(to.clientX, to.clientY);
    };
    const done = (cancelled: boolean) => {
      element.removeEventListener("pointermove", move);
      document.body.classList.remove("dragging");
      this.mark.hidden = true;
      this.dragging = false;
      if (!moving) {
        if (!cancelled) this.pick(id);
        return;
      }
      this.render();
      if (target && !cancelled) {
        const { pane, side, index } = target;
        void this.desk.run("openspace.pane.move", { paneId: id, target: pane, side, index, baseRev });
      }
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", () => done(false), { once: true });
    element.addEventListener("pointercancel", () => done(true), { once: true });
  }

  // What a tab that is let go here would do; shows it.
  private targetAt(x: number, y: number): { pane: string; side: Side; index: number | null } | null {
    const host = this.element.getBoundingClientRect();
    for (const { pane, box } of placeTree(this.desk.model.layout.root).panes) {
      const left = host.left + (host.width * box.x) / 100;
      const top = host.top + (host.height * box.y) / 100;
      const width = (host.width * box.width) / 100;
      const height = (host.height * box.height) / 100;
      if (x < left || x >= left + width || y < top || y >= top + height) continue;
      const strip = this.strips.get(pane.id);
      const tall = strip?.element.offsetHeight ?? 0;
      let side: Side = "center";
      let index: number | null = null;
      if (y < top + tall) {
        const before = [...(strip?.list.children ?? [])].filter((tab) => {
          const rect = tab.getBoundingClientRect();
          return rect.left + rect.width / 2 < x;
        });
        index = before.length;
      } else {
        side = sideAt((x - left) / width, (y - top - tall) / (height - tall));
      }
      const part = { left: [0, 0, 0.5, 1], right: [0.5, 0, 0.5, 1], top: [0, 0, 1, 0.5], bottom: [0, 0.5, 1, 0.5] };
      const [fx, fy, fw, fh] = side === "center" ? [0, 0, 1, 1] : part[side];
      this.mark.hidden = false;
      setStyle(this.mark, "left", `${left - host.left + width * fx!}px`);
      setStyle(this.mark, "top", `${top - host.top + height * fy!}px`);
      setStyle(this.mark, "width", `${width * fw!}px`);
      setStyle(this.mark, "height", `${height * fh!}px`);
      return { pane: pane.id, side, index };
    }
    this.mark.hidden = true;
    return null;
  }
}

// Only the strip is scrolled: the browser's own way would move the page as well.
function bringIntoStrip(tab: HTMLElement): void {
  const strip = tab.closest<HTMLElement>(".strip");
  if (!strip) return;
  const room = strip.clientWidth - 36; // beside the button for a new terminal
  if (tab.offsetLeft < strip.scrollLeft) strip.scrollLeft = tab.offsetLeft;
  else if (tab.offsetLeft + tab.offsetWidth > strip.scrollLeft + room) strip.scrollLeft = tab.offsetLeft + tab.offsetWidth - room;
}
