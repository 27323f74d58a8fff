// The conversation with one agent: what was said on both sides, and what the agent did between.

import type { Step } from "./steps.ts";
import type { ToolNews } from "./tool.ts";

export interface PlanEntry {
  content: string;
  status: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

// From what an agent sent: whatever is no entry of a plan is left out.
export function readPlan(entries: unknown): PlanEntry[] {
  const found: PlanEntry[] = [];
  for (const one of Array.isArray(entries) ? (entries as unknown[]) : []) {
    if (typeof one !== "object" || one === null) continue;
    const { content, status } = one as Record<string, unknown>;
    found.push({ content: text(content), status: text(status) });
  }
  return found;
}

export type ChatItem =
  | { kind: "you"; key: string; text: string; queued: boolean }
  | { kind: "said" | "thought"; key: string; text: string; done: boolean }
  | { kind: "step"; key: string; step: Step }
  | ({ kind: "tool"; key: string } & ToolNews)
  | { kind: "plan"; key: string; entries: PlanEntry[] }
  | { kind: "notice"; key: string; text: string; bad: boolean };

const KEPT = 2000;

export class Chat {
  items: ChatItem[] = [];
  private last = 0;

  you(text: string, queued = false, key = this.fresh("you")): string {
    this.add({ kind: "you", key, text, queued });
    return key;
  }

  sent(key: string): void {
    this.items = this.items.map((item) => (item.key === key && item.kind === "you" ? { ...item, queued: false } : item));
  }

  remove(key: string): void {
    this.items = this.items.filter((item) => item.key !== key);
  }

  // `text` is what was added since the last piece of the same message.
  said(kind: "said" | "thought", text: string, messageId: string, done: boolean): void {
    const key = `${kind}:${messageId}`;
    const at = this.items.findLastIndex((item) => item.key === key);
    const item = this.items[at];
    if (item && (item.kind === "said" || item.kind === "thought") && (messageId || at === this.items.length - 1)) {
      this.items = this.items.with(at, { ...item, text: item.text + text, done });
    } else if (text || !done) {
      this.add({ kind, key, text, done });
    }
  }

  step(step: Step): void {
    this.put({ kind: "step", key: `step:${step.callId}`, step });
  }

  tool(id: string, news: ToolNews): void {
    const before = this.items.find((item) => item.key === `tool:${id}`);
    const kept = before?.kind === "tool" ? before : undefined;
    this.put({
      kind: "tool",
      key: `tool:${id}`,
      title: news.title || kept?.title || id,
      status: news.status || kept?.status || "",
      detail: news.detail || kept?.detail || "",
      terminal: news.terminal || kept?.terminal || "",
      path: news.path || kept?.path || "",
    });
  }

  plan(entries: PlanEntry[]): void {
    this.put({ kind: "plan", key: "plan", entries });
  }

  notice(text: string, bad = false): void {
    this.add({ kind: "notice", key: this.fresh("notice"), text, bad });
  }

  // What waits to be sent is known to this page only.
  unsent(): ChatItem[] {
    return this.items.filter((item) => item.kind === "you" && item.queued);
  }

  clear(): void {
    this.items = [];
  }

  private put(item: ChatItem): void {
    const at = this.items.findLastIndex((one) => one.key === item.key);
    if (at >= 0) this.items = this.items.with(at, item);
    else this.add(item);
  }

  private add(item: ChatItem): void {
    this.items = [...this.items, item].slice(-KEPT);
  }

  private fresh(kind: string): string {
    return `${kind}:${++this.last}`;
  }
}
