// The browser's key: exchanged once for the code in the address, kept in the origin's own storage, sent with every call.

import type { TerminalReplayed, WorkbenchEverything } from "./types.ts";

const STORED = "fourhands.key";

export function storedKey(): string {
  return localStorage.getItem(STORED) ?? "";
}

// Take the one-time code out of the address. A used one must neither stay in the history nor be sent again by a reload.
export function takeCode(): string {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

// What a page that has just been opened shows.
export interface First {
  state: WorkbenchEverything;
  screens: Record<string, TerminalReplayed>; // of the terminals in front
}

// Exchange a code for a key, which is yet to be kept, and for what is shown first; null: the code is no longer good.
export async function exchange(code: string): Promise<{ key: string; first: First } | null> {
  const response = await fetch("/api/browser", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  return response.ok ? await response.json() : null;
}

export async function askFirst(): Promise<First | null> {
  const response = await fetch("/openspace/first", { headers: headers() });
  return response.ok ? await response.json() : null;
}

export function keep(key: string): void {
  localStorage.setItem(STORED, key);
}

export function headers(): Record<string, string> {
  return { "x-fourhands-key": storedKey() };
}

export function protocols(key = storedKey()): string[] {
  return ["fourhands", `fourhands.key.${key}`];
}

export function socketAddress(path: string): string {
  return `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
}
