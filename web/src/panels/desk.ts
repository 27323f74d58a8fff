// What every panel is given: the model to look at, the way to call commands, and a few things of this browser alone.

import { type Bound, readBound } from "../model/keys.ts";
import type { Model } from "../model/state.ts";
import type { Answer, Link } from "../wire/link.ts";
import type { Commands, TerminalReplay } from "../wire/types.ts";
import type { Theme } from "./theme.ts";
import { differenceOf } from "./refusal.ts";
import type { Toasts } from "./toasts.ts";

const TYPING_MS = 5000;
const BOUND = "fourhands.keys";

export class Desk {
  following = true;
  typedAt = 0; // when a key was last pressed here, by a person
  pending = 0; // calls of this browser that are not answered yet: changes meanwhile are most likely its own
  openPalette: (start?: string) => void = () => {};
  askArguments: (command: string, known: Record<string, unknown>) => void = () => {};
  focusActive: () => void = () => {};
  onFollow: () => void = () => {};
  onQuiet: () => void = () => {}; // a terminal printed something and has stopped
  screens: Record<string, TerminalReplay> = {}; // what was in terminals when the page came, until they are shown
  announce: (text: string, urgent?: boolean) => void = () => {};

  // Keys that this person gave to commands; they stay with the browser.
  readonly bound: Map<string, Bound> = readBound(localStorage.getItem(BOUND));

  bind(key: string, bound: Bound | null): void {
    if (bound) this.bound.set(key, bound);
    else this.bound.delete(key);
    localStorage.setItem(BOUND, JSON.stringify(Object.fromEntries(this.bound)));
  }

  constructor(
    readonly model: Model,
    readonly link: Link,
    readonly theme: Theme,
    readonly toasts: Toasts,
  ) {}

  get typing(): boolean {
    return Date.now() - this.typedAt < TYPING_MS;
  }

  typed(): void {
    this.typedAt = Date.now();
  }

  setFollowing(following: boolean): void {
    if (this.following === following) return;
    this.following = following;
    this.onFollow();
    if (following) this.model.signals.fire(["layout", "editors"]);
  }

  // Call a command; what goes wrong is told in a toast unless `quiet`.
  async run<Id extends keyof Commands>(
    command: Id,
    args: Commands[Id]["args"],
    quiet?: boolean,
  ): Promise<Answer<Commands[Id]["result"]>>;
  async run(command: string, args: Record<string, unknown>, quiet?: boolean): Promise<Answer<Record<string, unknown>>>;
  async run(command: string, args: object, quiet = false): Promise<Answer<unknown>> {
    return this.told(this.link.call(command, args as Record<string, unknown>), quiet);
  }

  // Answer a question with the person's signature under it and under what they saw.
  async answer(args: Commands["openspace.workbench.answer"]["args"], seen: string, quiet = false): Promise<Answer<unknown>> {
    return this.told(this.link.sign("openspace.workbench.answer", args, seen), quiet);
  }

  private async told(call: Promise<Answer<unknown>>, quiet: boolean): Promise<Answer<unknown>> {
    this.pending++;
    try {
      const answer = await call;
      if (!answer.success && !quiet) this.toasts.show(answer.error, answer.hint, "error", differenceOf(answer));
      return answer;
    } finally {
      this.pending--; // its events come before its answer
    }
  }

  // The agent whose buttons the top bar shows: the one that was chosen, or the only one.
  chosenAgent = "";

  agent(): string {
    const { agents } = this.model;
    if (agents.has(this.chosenAgent)) return this.chosenAgent;
    return agents.keys().next().value ?? "";
  }
}
