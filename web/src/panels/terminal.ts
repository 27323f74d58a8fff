// A terminal in a pane: xterm.js on one stream, the strip that says who has the keyboard, author marks, search.

import { FitAddon } from "@xterm/addon-fit";
import { WebLinksAddon } from "@xterm/addon-web-links";
import type { WebglAddon } from "@xterm/addon-webgl";
import { type ITheme, Terminal as Xterm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { afresh } from "../model/afresh.ts";
import type { Progress } from "../model/outgoing.ts";
import { isReply } from "../model/reply.ts";
import { ago, describe } from "../model/steps.ts";
import { widths } from "../model/widths.ts";
import { Stream } from "../wire/stream.ts";
import type { Tab, TerminalReplay } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import type { View } from "./dock.ts";
import { debounce, h, renew, setText } from "./dom.ts";
import { Find } from "./find.ts";
import { hasGraphics } from "./graphics.ts";
import { Gutter } from "./gutter.ts";
import { shield } from "./sandbox.ts";
import { token } from "./theme.ts";

const SCROLLBACK = 20_000;
const RESTING = 12; // terminals that are not to be seen and still keep their connection; the server takes no endless number
const FLOOD = 4096; // bytes at once that no hand's work leads to
const ESCAPE = "\x1b";
const INTERRUPT = "\x03";
const KILL_LINE = "\x15"; // before an agent may type: its words never land in the middle of a line

const amount = ({ done, total }: Progress): string => {
  const of = (bytes: number) => (bytes / 1e6).toFixed(1);
  return `${of(done)} of ${of(total)} MB`;
};

export function terminalTheme(): ITheme {
  const of = token;
  const light = document.documentElement.dataset.theme === "light";
  return {
    background: of("bg"),
    foreground: of("fg"),
    cursor: of("fg"),
    cursorAccent: of("bg"),
    selectionBackground: light ? "#0b62c440" : "#5aa9ff55",
    black: light ? "#1b1f26" : "#3a404b",
    red: of("bad"),
    green: of("ok"),
    yellow: of("warn"),
    blue: of("you"),
    magenta: light ? "#8a3fae" : "#c792ea",
    cyan: light ? "#0b7285" : "#66c7d4",
    white: light ? "#566072" : "#d3d8e0",
    brightBlack: light ? "#566072" : "#7d8797",
    brightRed: light ? "#a32220" : "#ff8f8c",
    brightGreen: light ? "#126338" : "#7fdca8",
    brightYellow: light ? "#664900" : "#f5d98b",
    brightBlue: light ? "#084c99" : "#86c1ff",
    brightMagenta: light ? "#6c2c8c" : "#ddb3f5",
    brightCyan: light ? "#075b6a" : "#93dde7",
    brightWhite: light ? "#1b1f26" : "#ffffff",
  };
}

interface Opened {
  term: Xterm;
  fit: FitAddon;
  holder: HTMLElement;
}

// An empty terminal; whatever a person can choose is left to its user.
function open(): Opened {
  const term = new Xterm({
    allowProposedApi: true,
    scrollback: SCROLLBACK,
    fontFamily: token("mono"),
    fontSize: 13,
    lineHeight: 1.15,
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    macOptionIsMeta: true,
    minimumContrastRatio: 3,
    // Windows and other control of the page are not a program's business.
    windowOptions: {},
  });
  const fit = new FitAddon();
  term.loadAddon(fit);
  term.loadAddon(new WebLinksAddon((_, uri) => void window.open(uri, "_blank", "noopener,noreferrer")));
  term.unicode.register(widths);
  term.unicode.activeVersion = widths.version;
  const holder = h("div", { class: "fit" });
  term.open(holder);
  return { term, fit, holder };
}

let spare: Opened | null = null;

// The first one is opened while the page waits for the server: nothing that is shown first takes longer.
export function openSpare(): void {
  spare = open();
}

const resting = new Set<Stream>(); // the one that was looked at last comes last

export class TerminalView implements View {
  readonly element: HTMLElement;
  readonly term: Xterm;
  readonly id: string;
  private readonly stream: Stream;
  private readonly fit: FitAddon;
  private webgl: WebglAddon | null = null;
  private readonly strip = h("div", { class: "lease", role: "status", hidden: true });
  private readonly pasteText = h("span", { class: "what" });
  private readonly pasteBar = h("progress", { max: "1", "aria-label": "Typed so far" });
  private readonly paste = h("div", { class: "pasting", role: "status", hidden: true });
  private readonly shield = h("div", { class: "shieldplace", hidden: true });
  private readonly holder: HTMLElement;
  private readonly screen: HTMLElement;
  private readonly gutter: Gutter;
  private readonly note = h("div", { class: "sizenote", hidden: true });
  private readonly ended = h("div", { class: "ended", hidden: true });
  private readonly disposers: (() => void)[] = [];
  private leaseSeen = "";
  private parsed = 0;
  private begun = false;
  private replaying = false; // questions in old output were answered long ago
  private asked = 0; // programs that asked for the cursor's place and have no answer yet
  private mine: { cols: number; rows: number } | null = null;
  private driving = false; // this browser's person typed last, so its size counts
  private readonly find: Find;
  private visible = false;
  private disposed = false;
  private since = 0;
  private readonly propose = debounce(() => this.proposeSize(), 60);
  private readonly quiet = debounce(() => this.desk.onQuiet(), 800);

  constructor(
    tab: Tab,
    private readonly desk: Desk,
  ) {
    this.id = tab.content;
    const { term, fit, holder } = spare ?? open();
    spare = null;
    this.term = term;
    this.fit = fit;
    this.holder = holder;
    this.screen = h("div", { class: "screen" }, holder, this.note, this.shield);
    this.element = h("section", {}, this.strip, this.paste, this.screen, this.ended);
    const button = (label: string, run: () => void, key = "") =>
      h("button", { class: "button small", on: { click: run } }, label, key ? h("kbd", {}, key) : null);
    this.paste.append(
      h("b", {}, "Pasting"),
      this.pasteText,
      this.pasteBar,
      button("Cancel", () => this.cancelPaste(), "Esc"),
      button("Interrupt", () => void this.desk.run("openspace.terminal.interrupt", { terminalId: this.id })),
    );
    term.options.screenReaderMode = localStorage.getItem("fourhands.screenReader") === "1";
    this.gutter = new Gutter(this.term, this.id, desk, this.screen);
    this.find = new Find(this.term, this.screen);
    this.listen();
    this.stream = new Stream(this.id, {
      output: (data, position) => this.write(data, position),
      screen: (screen) => this.restore(screen),
      gap: () => this.markGap(),
      size: (cols, rows) => this.setSize(cols, rows),
      exit: (end) => this.showEnd(end.lost ? "ended with its host, which died" : end.signal ? `ended by ${end.signal}` : `ended with ${end.code}`),
      refused: (error, code) => {
        if (code === "not-found") this.showEnd(error);
        else this.desk.toasts.show(error, "", "warning");
      },
      connected: (connected) => {
        this.term.options.cursorStyle = connected ? "block" : "underline";
        if (connected) this.propose();
      },
      pasting: (progress) => this.showPaste(progress),
      cutOff: (progress) =>
        this.desk.toasts.show(`The paste was cut off: the connection is lost`, `typed: ${amount(progress)}`, "warning"),
    });
  }

  // What was there before this page: scrollback with its authors, then the exact screen. A new terminal has no past.
  private async begin(): Promise<void> {
    this.begun = true;
    const fault = this.desk.model.terminals.get(this.id)?.fault;
    if (fault) this.desk.toasts.show(fault, "Its program goes on; close it, or look for what took the file away.", "warning");
    const given = this.desk.screens[this.id];
    delete this.desk.screens[this.id];
    if (given) {
      this.replay(given);
      return this.stream.start(given.position);
    }
    const position = this.desk.model.terminals.get(this.id)?.position ?? 0;
    if (position === 0) return this.stream.start(0);
    // Both at once: the stream from where the terminal was when we heard of it, and all that was before.
    this.stream.startHeld(position);
    const answer = await this.desk.link.call("openspace.terminal.replay", { terminalId: this.id });
    if (this.disposed) return;
    if (!answer.success) return this.stream.release(null);
    this.replay(answer);
    this.stream.release(answer.position);
  }

  private replay(answer: TerminalReplay): void {
    this.replaying = true;
    this.term.resize(Math.max(2, answer.cols), Math.max(1, answer.rows));
    for (const { text, ink } of answer.past) {
      if (ink) this.term.write("", () => this.gutter.begin(ink));
      this.term.write(text);
    }
    this.term.write(afresh(this.term.rows) + answer.screen, () => {
      this.replaying = false;
      this.asked = 0;
      this.parsed = answer.position;
      this.gutter.remember(answer.position);
    });
  }

  private listen(): void {
    const { term, disposers } = this;
    term.parser.registerCsiHandler({ final: "n" }, (params) => {
      if (params[0] === 6) this.asked++;
      return false;
    });
    term.parser.registerCsiHandler({ prefix: "?", final: "n" }, (params) => {
      if (params[0] === 6) this.asked++;
      return false;
    });
    // A program may say what to copy only where a person can see it: the clipboard stays theirs.
    term.parser.registerOscHandler(52, () => true);
    term.onData((data) => this.typed(data));
    term.onBinary((data) => this.stream.keys(Uint8Array.from(data, (letter) => letter.charCodeAt(0))));
    const sizes = new ResizeObserver(() => this.propose());
    sizes.observe(this.holder);
    disposers.push(
      () => sizes.disconnect(),
      this.desk.theme.on(() => {
        term.options.theme = terminalTheme();
      }),
      this.desk.model.signals.on(["terminals", "activity", "agents", "presence"], () => this.showLease()),
    );
    const clock = setInterval(() => this.visible && this.showLease(), 1000);
    disposers.push(() => clearInterval(clock));
  }

  shown(visible: boolean): void {
    this.visible = visible;
    resting.delete(this.stream);
    if (visible) {
      if (this.begun) this.stream.resume();
      else void this.begin();
      // The first picture comes sooner by xterm's own renderer: a WebGL context costs more than the whole rest.
      setTimeout(() => void this.accelerate(), 300);
      this.propose();
      this.showLease();
    } else {
      // Browsers keep only a few WebGL contexts: the hidden give theirs back.
      this.webgl?.dispose();
      this.webgl = null;
      resting.add(this.stream);
      for (const oldest of resting) {
        if (resting.size <= RESTING) break;
        resting.delete(oldest);
        oldest.pause();
      }
    }
  }

  focus(): void {
    this.term.focus();
  }

  dispose(): void {
    this.disposed = true;
    resting.delete(this.stream);
    this.stream.close();
    for (const dispose of this.disposers) dispose();
    this.propose.cancel();
    this.quiet.cancel();
    this.term.dispose();
  }

  retry(): void {
    this.stream.retry();
  }

  private async accelerate(): Promise<void> {
    if (new URLSearchParams(location.search).get("renderer") === "dom" || !hasGraphics()) return;
    const { WebglAddon } = await import("@xterm/addon-webgl");
    if (!this.visible || this.disposed || this.webgl || this.term.options.screenReaderMode) return;
    try {
      const addon = new WebglAddon();
      addon.onContextLoss(() => {
        addon.dispose();
        this.webgl = null;
      });
      this.term.loadAddon(addon);
      this.webgl = addon;
    } catch {
      this.webgl = null; // no WebGL here: xterm's own renderer does it
    }
  }

  // -- output --------------------------------------------------------------------------------------------------------

  private write(data: Uint8Array, position: number): void {
    this.quiet();
    // Line by line, so that the gutter knows where in the output each row begins; a flood has too many.
    let from = 0;
    while (data.length < FLOOD) {
      const end = data.indexOf(10, from) + 1;
      if (end === 0) break;
      const begun = position - data.length + end;
      this.term.write(data.subarray(from, end), () => this.gutter.remember(begun));
      from = end;
    }
    this.term.write(data.subarray(from), () => {
      this.parsed = position;
      this.stream.ack(position);
      this.gutter.remember(position);
    });
  }

  private restore(screen: { position: number; cols: number; rows: number; data: string }): void {
    this.setSize(screen.cols, screen.rows);
    this.term.write(afresh(this.term.rows) + screen.data, () => {
      this.parsed = screen.position;
      this.stream.ack(screen.position);
      this.gutter.remember(screen.position);
      void this.gutter.refresh();
    });
  }

  // What is on the screen goes to the scrollback; a line tells that something is missing behind it.
  private markGap(): void {
    if (this.term.buffer.active.type !== "normal") return;
    this.term.write(`\x1b[${this.term.rows};1H${"\r\n".repeat(this.term.rows)}`, () => this.drawGap());
  }

  private drawGap(): void {
    const marker = this.term.registerMarker(0);
    if (!marker) return;
    const line = this.term.registerDecoration({ marker, width: this.term.cols });
    line?.onRender((element) => {
      element.classList.add("gapline");
      element.title = "Some output is not shown here";
    });
  }

  // -- keys ----------------------------------------------------------------------------------------------------------

  private typed(data: string): void {
    if (isReply(data, this.asked > 0)) {
      if (this.replaying) return;
      if (data.endsWith("R") && this.asked > 0) this.asked--;
      this.stream.reply(data);
      return;
    }
    if (this.stream.pasting && (data === ESCAPE || data === INTERRUPT)) {
      this.cancelPaste();
      if (data === ESCAPE) return;
    }
    this.desk.typed();
    this.driving = true;
    this.proposeSize();
    if (!this.stream.keys(data) && this.ended.hidden) {
      this.desk.toasts.show("Not typed: the connection is lost", "what you type in a terminal is never sent later", "warning");
    }
  }

  // A program that reads slowly is given a large paste in pieces; it can be watched and stopped.
  private showPaste(progress: Progress | null): void {
    const had = this.paste.contains(document.activeElement);
    this.paste.hidden = progress === null;
    if (progress) {
      setText(this.pasteText, amount(progress));
      this.pasteBar.value = progress.total ? progress.done / progress.total : 0;
    } else if (had) this.term.focus();
  }

  private cancelPaste(): void {
    const progress = this.stream.cancelPaste();
    this.desk.toasts.show("The paste was cancelled", `typed: about ${amount(progress)}`, "info");
  }

  // For the key bar of small screens.
  press(data: string): void {
    this.typed(data);
  }

  // -- size ----------------------------------------------------------------------------------------------------------

  private proposeSize(): void {
    if (!this.visible) return;
    const wanted = this.fit.proposeDimensions();
    if (!wanted || !Number.isFinite(wanted.cols) || !Number.isFinite(wanted.rows)) return;
    this.mine = { cols: Math.max(2, wanted.cols), rows: Math.max(1, wanted.rows) };
    const { cols, rows } = this.mine;
    const decides = this.driving || this.desk.model.browsers <= 1;
    if (decides && (cols !== this.term.cols || rows !== this.term.rows)) this.stream.resize(cols, rows);
    this.showSize();
  }

  private setSize(cols: number, rows: number): void {
    const { mine } = this;
    // Another size than ours, after ours was in force: another person types now, in another browser.
    if (mine && this.driving && (cols !== mine.cols || rows !== mine.rows) && this.desk.model.browsers > 1) {
      if (this.term.cols === mine.cols && this.term.rows === mine.rows) this.driving = false;
    }
    if (cols !== this.term.cols || rows !== this.term.rows) this.term.resize(cols, rows);
    this.showSize();
  }

  private showSize(): void {
    const { mine, term } = this;
    const boxed = mine !== null && (mine.cols !== term.cols || mine.rows !== term.rows) && this.desk.model.browsers > 1;
    this.screen.classList.toggle("boxed", boxed);
    this.note.hidden = !boxed;
    setText(this.note, `${term.cols} × ${term.rows}, the size of another browser`);
  }

  // -- who has the keyboard ------------------------------------------------------------------------------------------

  private showLease(): void {
    const { model } = this.desk;
    const terminal = model.terminals.get(this.id);
    if (!terminal || !this.visible) return;
    const { lease } = terminal;
    const seen = `${lease.kind}:${lease.holder}:${lease.kept}`;
    if (seen !== this.leaseSeen) {
      this.leaseSeen = seen;
      this.since = Date.now();
      void this.gutter.refresh();
    }
    const deed = model.activity.find(
      (step) =>
        step.actorKind === "agent" &&
        step.command.startsWith("openspace.terminal.") &&
        (step.args.terminalId === this.id || step.args.terminalId === terminal.title),
    );
    const waiting = deed?.state === "running" && deed.command === "openspace.terminal.send" && lease.kind === "person";
    const button = (label: string, run: () => void, key = "", title = "") =>
      h("button", { class: "button small", ...(title ? { title } : {}), on: { click: run } }, label, key ? h("kbd", {}, key) : null);
    const call = (command: "take_over" | "hand_back" | "interrupt") => () =>
      void this.desk.run(`openspace.terminal.${command}`, { terminalId: this.id });
    let kind = "";
    let parts: HTMLElement[] = [];
    const name = model.agents.get(lease.holder)?.name ?? "Agent";
    if (terminal.status !== "running") {
      kind = "";
    } else if (lease.secret) {
      kind = "secret";
      parts = [h("b", {}, "Password prompt"), h("span", { class: "what" }, "Type it here. Agents see nothing of this terminal until it is done.")];
    } else if (waiting) {
      kind = "person";
      parts = [
        h("b", {}, "You are typing"),
        h("span", { class: "what" }, `${deed.actorName || "the agent"} waits until your line is finished`),
        button(`Clear my line, let ${deed.actorName || "the agent"} type`, () => this.press(KILL_LINE), "", "Clears your line first; Ctrl Y brings it back in a shell"),
      ];
    } else if (lease.kind === "agent") {
      kind = "agent";
      const [verb, what] = deed ? describe(deed, model.title) : ["", ""];
      const idle = terminal.shellState === "prompt";
      const doing = !deed ? "" : idle ? `${verb} ${what}` : `${verb === "ran" ? "running" : verb} ${what}`;
      const seconds = idle ? "" : ago((Date.now() - this.since) / 1000);
      parts = [
        h("b", {}, `${name} has the keyboard`),
        h("span", { class: "what" }, [doing, seconds].filter(Boolean).join(" · ")),
        button("Take over", call("take_over"), "Ctrl ."),
        button("Interrupt", call("interrupt")),
      ];
    } else if (lease.kind === "person" && lease.kept) {
      kind = "person";
      parts = [
        h("b", {}, "You have the keyboard"),
        h("span", { class: "what" }, "Agents wait until you hand it back."),
        button("Hand back", call("hand_back")),
      ];
    }
    if (terminal.slowStart && terminal.status === "running" && !parts.length) {
      kind = "starting";
      parts = [h("b", {}, "The shell is starting"), h("span", { class: "what" }, terminal.slowStart)];
    }
    this.showShield(shield(terminal), parts);
    const text = kind + parts.map((part) => part.textContent).join("|");
    if (this.strip.dataset.text === text) return;
    this.strip.dataset.text = text;
    const focused = document.activeElement;
    const had = this.strip.contains(focused);
    this.strip.className = `lease ${kind}`;
    this.strip.hidden = kind === "";
    renew(this.strip, parts);
    if (had && !this.strip.contains(focused)) (this.strip.querySelector("button") ?? this.term).focus();
  }

  // At the right end of the strip; where there is none, over the corner of the screen.
  private showShield(sign: HTMLElement | null, strip: HTMLElement[]): void {
    this.shield.hidden = !sign || strip.length > 0;
    if (!sign) return;
    if (strip.length > 0) strip.push(sign);
    else if (this.shield.textContent !== sign.textContent) this.shield.replaceChildren(sign);
  }

  private showEnd(text: string): void {
    if (!this.ended.hidden) return;
    this.ended.hidden = false;
    this.ended.replaceChildren(
      h("span", {}, `The program has ${text}.`),
      h("button", { class: "link", on: { click: () => void this.desk.run("openspace.terminal.close", { terminalId: this.id }) } }, "Close"),
    );
    this.term.options.cursorBlink = false;
  }

  // -- search and the clipboard --------------------------------------------------------------------------------------

  async copy(): Promise<void> {
    if (this.term.hasSelection()) await navigator.clipboard.writeText(this.term.getSelection());
  }

  openFind(): void {
    this.find.open();
  }

  setScreenReader(on: boolean): void {
    this.term.options.screenReaderMode = on;
    if (on) {
      this.webgl?.dispose();
      this.webgl = null;
    }
  }

  get position(): number {
    return this.parsed;
  }
}
