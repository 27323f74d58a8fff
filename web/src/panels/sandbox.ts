// The sandbox of agents' programs: the words for it, the shield on a terminal, and why it is not a stronger one.

import type { SandboxInfo, SessionInfo, TerminalInfo } from "../wire/types.ts";
import { show } from "./dialog.ts";
import { h, icon } from "./dom.ts";

// The bar has no room for all of it; the rest is a click away.
export function shortLine(info: SandboxInfo): string {
  return info.line.split(/: |\. /)[0] ?? info.line;
}

export function explainSandbox(info: SandboxInfo): void {
  const parts: HTMLElement[] = [h("p", {}, info.line.endsWith(".") ? info.line : `${info.line}.`)];
  for (const rung of info.rungs.filter((one) => !one.works)) {
    parts.push(h("p", {}, h("b", {}, `No ${rung.name}: `), rung.reason));
    if (rung.remedy) parts.push(h("p", {}, "To mend it, and then restart Fourhands:"), h("pre", { tabindex: "0" }, rung.remedy));
  }
  const working = info.rungs.find((one) => one.works);
  if (working) parts.push(h("p", { class: "detail" }, working.detail));
  show("Sandbox", h("div", { class: "sandboxinfo" }, ...parts));
}

// What an agent's terminal is kept in; a person's own shell says nothing.
export function shieldOf(terminal: TerminalInfo): { word: string; title: string; weak: boolean } | null {
  if (terminal.isolation === "container") return { word: "container", title: "Its programs run in a container", weak: false };
  if (terminal.isolation === "sandbox") {
    const weaker = terminal.provider === "landlock";
    return {
      word: weaker ? "sandbox (weaker)" : "sandbox",
      title: weaker
        ? "Its programs run in a weaker sandbox: files that run by themselves later are not protected"
        : "Its programs see the workspace and tools, and nothing else of yours",
      weak: false,
    };
  }
  if (!terminal.owner) return null;
  return { word: "not isolated", title: "Its programs run as you", weak: true };
}

// What an agent's own process is kept in; one that Fourhands has not started says nothing.
export function agentShield(agent: SessionInfo): HTMLElement | null {
  if (!agent.isolation) return null;
  const kept = agent.isolation !== "none";
  const word = kept ? (agent.rung === "landlock" ? "sandbox (weaker)" : "sandbox") : "not isolated";
  const title = kept ? "The agent itself, and what it starts, runs in the sandbox of its session" : "The agent itself runs as you, with all that you can do";
  return h("span", { class: `shield ${kept ? "" : "weak"}`, title }, icon("shield"), word);
}

export function shield(terminal: TerminalInfo): HTMLElement | null {
  const found = shieldOf(terminal);
  if (!found) return null;
  return h("span", { class: `shield ${found.weak ? "weak" : ""}`, title: found.title }, icon("shield"), found.word);
}
