// What an agent says of a tool of its own, as the chat shows it: a few words, the file it changed, the terminal it runs in.

import type { AgentStep } from "../wire/types.ts";

export interface ToolNews {
  title: string;
  status: string;
  detail: string;
  terminal: string;
  path: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter((one): one is Record<string, unknown> => typeof one === "object" && one !== null) : [];

const count = (value: unknown): number => text(value).replace(/\n$/, "").split("\n").filter((line, at) => line || at).length;

export function toolNews(data: Partial<AgentStep>): ToolNews {
  const blocks = list(data.content);
  const diffs = blocks.filter((block) => block.type === "diff");
  const said = blocks.map((block) => (block.type === "content" ? text((block.content as { text?: unknown } | null)?.text) : ""));
  const changes = diffs.map((diff) => `${text(diff.path)}: ${count(diff.oldText)} → ${count(diff.newText)} lines`);
  return {
    title: text(data.title) || text(data.tool),
    status: text(data.status),
    detail: [...changes, ...said, text(data.output)].filter(Boolean).join("\n"),
    terminal: text(blocks.find((block) => block.type === "terminal")?.terminalId),
    path: text(diffs[0]?.path),
  };
}
