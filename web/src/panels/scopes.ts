// What an agent may do, as check boxes: on the card that asks for consent, and in the dialog that changes it later.

import type { Question, SessionInfo } from "../wire/types.ts";
import type { Desk } from "./desk.ts";
import { ask } from "./dialog.ts";
import { h } from "./dom.ts";

export type Scope = Question["scopes"][number];

const WORDS: Record<Scope, [short: string, long: string]> = {
  see: ["look", "look at panes, terminals and files, except secret ones"],
  arrange: ["arrange", "open files and panes, highlight lines"],
  write: ["write", "write files (you can undo it)"],
  run: ["run", "type in terminals; what is dangerous or unknown is asked first"],
};
const ALL = Object.keys(WORDS) as Scope[];

export class ScopeBoxes {
  readonly element: HTMLElement;
  private readonly boxes: [Scope, HTMLInputElement][];

  constructor(offered: readonly Scope[], checked: readonly Scope[], changed: (chosen: Scope[]) => void = () => {}) {
    this.boxes = offered.map((scope) => {
      const box = h("input", { type: "checkbox", value: scope });
      box.checked = checked.includes(scope);
      box.addEventListener("change", () => changed(this.chosen));
      return [scope, box];
    });
    const rows = this.boxes.map(([scope, box]) => h("label", {}, box, h("span", {}, WORDS[scope][1])));
    this.element = h("fieldset", { class: "scopes" }, h("legend", {}, "It may"), ...rows);
  }

  get chosen(): Scope[] {
    return this.boxes.filter(([, box]) => box.checked).map(([scope]) => scope);
  }
}

// In as few words as a button has room for.
export function mayDo({ consent, scopes }: SessionInfo): string {
  if (consent === "unasked") return "Asks first";
  if (consent === "denied") return "No access";
  return scopes.length === ALL.length ? "Acts by itself, asks before danger" : `${scopes.length} of ${ALL.length} permissions`;
}

// Who it is and who said what it may do, where no person was asked; as a line below its permissions.
export function origin({ name, client, allowedBy, askBy, kept }: SessionInfo): string {
  const asked = { "": "", page: "asked about on the page alone", forms: "asked about by its own forms alone", never: "never asked about: refused instead" }[askBy] ?? "";
  const words = [client && `${name} calls itself ${client}`, allowedBy, asked, kept && "its terminals stay when it goes"];
  return words.filter((one) => one).join("; ");
}

// Each of them in a word.
export function inWords(scopes: readonly Scope[]): string {
  return scopes.map((scope) => WORDS[scope][0]).join(", ") || "nothing yet";
}

export async function changeConsent(desk: Desk, session: string): Promise<void> {
  const agent = desk.model.agents.get(session);
  if (!agent) return;
  const boxes = new ScopeBoxes(ALL, agent.consent === "granted" ? agent.scopes : ALL);
  const words = origin(agent);
  const body = words ? h("div", {}, h("p", {}, words), boxes.element) : boxes.element;
  const chosen = await ask(`What may ${agent.name} do here?`, body, [
    { label: "Allow", value: "allow", style: "main" },
    { label: "Revoke", value: "revoke", style: "bad" },
    { label: "Cancel", value: "" },
  ]);
  const scopes = boxes.chosen;
  if (chosen === "allow" && scopes.length) await desk.run("openspace.agent.consent", { sessionId: session, allow: true, scopes });
  else if (chosen) await desk.run("openspace.agent.consent", { sessionId: session, allow: false });
}
