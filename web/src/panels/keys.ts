// The keys of the page. In a terminal nearly all keys are the program's: only F1 and those that shells do not know count.

import { matches, nameOf, parseKey } from "../model/keys.ts";
import { argumentsOf } from "../model/schema.ts";
import type { Desk } from "./desk.ts";
import type { Dock } from "./dock.ts";
import { EditorView } from "./editor.ts";
import type { Palette } from "./palette.ts";
import { undoLast } from "./status.ts";
import { TerminalView } from "./terminal.ts";

export interface KeyActions {
  stop(): void;
  toggleSide(side: "left" | "right"): void;
  goRound(back: boolean): void;
  context(name: string): string | undefined;
}

const WRITABLE = "textarea, input, [contenteditable], .native-edit-context";

export class Keys {
  constructor(
    private readonly desk: Desk,
    private readonly dock: Dock,
    private readonly palette: Palette,
    private readonly actions: KeyActions,
  ) {
    addEventListener("keydown", (event) => this.pressed(event), { capture: true });
  }

  private pressed(event: KeyboardEvent): void {
    const focus = document.activeElement;
    const writing = focus?.matches(WRITABLE) ?? false;
    if (writing && (event.key.length === 1 || event.key === "Enter" || event.key === "Backspace")) this.desk.typed();
    if (event.isComposing) return;
    if (this.palette.shown) {
      if (event.key === "F1") this.take(event, () => this.palette.close());
      return;
    }
    if (document.querySelector("dialog:modal")) return;
    const inTerminal = focus?.closest(".xterm") !== null && focus !== null;
    const { ctrlKey, metaKey, altKey, shiftKey } = event;
    const ctrl = ctrlKey || metaKey;
    const key = event.key.toLowerCase();
    if (event.key === "F1") return this.take(event, () => this.palette.open());
    // In a terminal F6 is the program's; with Ctrl hardly one has a use for it.
    if (event.key === "F6" && !altKey && (ctrl || !inTerminal)) return this.take(event, () => this.actions.goRound(shiftKey));
    if (inTerminal) {
      const view = this.terminal();
      if (ctrl && shiftKey && key === "c") return this.take(event, () => void view?.copy());
      if (ctrl && shiftKey && key === "f") return this.take(event, () => view?.openFind());
      if (!(ctrl && (shiftKey || altKey)) && !(ctrl && key === ".") && !this.desk.bound.has(nameOf(event))) return;
    } else {
      if (ctrl && !altKey && !shiftKey && key === "k") return this.take(event, () => this.palette.open());
      if (ctrl && !altKey && !shiftKey && key === "b") return this.take(event, () => this.actions.toggleSide("left"));
      if (ctrl && !altKey && !shiftKey && key === "s") return this.take(event, () => this.save());
      if (event.key === "Escape") return this.escape(focus);
    }
    if (ctrl && altKey && !shiftKey && key === "b") return this.take(event, () => this.actions.toggleSide("right"));
    this.command(event);
  }

  private take(event: Event, run: () => void): void {
    event.preventDefault();
    event.stopPropagation();
    run();
  }

  // Clears highlights, but only where Escape has nothing else to close.
  private escape(focus: Element | null): void {
    const { model } = this.desk;
    if (model.highlights.size === 0) return;
    if (focus?.closest(".find-widget, .find, dialog, .suggest-widget, .drawer > .side, [aria-activedescendant]")) return;
    if (focus?.closest(".peek")?.querySelector("ul:not([hidden])")) return;
    if (document.querySelector(".monaco-editor .find-widget.visible")) return;
    void this.desk.run("openspace.editor.escape", {});
  }

  private save(): void {
    const tab = this.dock.active();
    const focused = [...this.dock.views.values()].find((view) => view.element.contains(document.activeElement));
    const view = focused ?? (tab ? this.dock.view(tab.type, tab.content) : undefined);
    if (view instanceof EditorView) void view.save();
  }

  private terminal(): TerminalView | undefined {
    for (const view of this.dock.views.values()) {
      if (view instanceof TerminalView && view.element.contains(document.activeElement)) return view;
    }
    return undefined;
  }

  private command(event: KeyboardEvent): void {
    const own = this.desk.bound.get(nameOf(event));
    if (own) return this.take(event, () => void this.desk.run(own.command, own.args));
    for (const command of this.desk.model.commands.values()) {
      if (!command.key || command.key === "Escape" || command.key === "Ctrl S") continue;
      if (!matches(event, parseKey(command.key))) continue;
      this.take(event, () => {
        if (command.id === "openspace.workbench.undo") return void undoLast(this.desk);
        if (command.id === "openspace.agent.stop") return this.actions.stop();
        if (command.id === "openspace.terminal.create") return void this.dock.newTerminal();
        const known: Record<string, unknown> = {};
        for (const argument of argumentsOf(command.arguments_schema)) {
          const here = argument.required ? this.actions.context(argument.name) : undefined;
          if (here !== undefined) known[argument.name] = here;
        }
        this.desk.askArguments(command.id, known);
      });
      return;
    }
  }
}
