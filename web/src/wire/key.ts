// The browser's key: exchanged once for the code in the address, kept in the origin's own storage, sent with every call.

import type { Hand } from "./hand.ts";
import type { TerminalReplay, Everything } from "./types.ts";

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
  state: Everything;
  screens: Record<string, TerminalReplay>; // of the terminals in front
}

// Exchange a code for a key, which is yet to be kept, and for what is shown first; null: the code is no longer good.
// A browser that comes again shows with a signature that the hand it is known by is its own.
export async function exchange(code: string, hand: Hand | null): Promise<{ key: string; first: First } | null> {
  const proof = hand ? await hand.sign(`sign in with ${code}`) : "";
  const body = JSON.stringify({ code, publicKey: hand?.publicKey ?? "", proof });
  return ask("POST", "/api/browser", { "content-type": "application/json" }, body);
}

export function askFirst(): Promise<First | null> {
  return ask("GET", "/openspace/first", headers());
}

// Not by `fetch`, whose head and body are handed over one after the other: on a page that is being put together, each waits
// for its turn behind everything else.
function ask<T>(method: string, path: string, sent: Record<string, string>, body?: string): Promise<T | null> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    request.responseType = "json";
    for (const [name, value] of Object.entries(sent)) request.setRequestHeader(name, value);
    request.onloadend = () => resolve(request.status === 200 ? (request.response as T) : null);
    request.send(body ?? null);
  });
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
