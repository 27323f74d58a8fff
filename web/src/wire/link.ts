// The socket for calls and events: reconnects by itself, and refuses calls while it is down instead of keeping them.

import type { Begun } from "./begin.ts";
import type { Hand } from "./hand.ts";
import { type First, headers, keep, protocols, socketAddress } from "./key.ts";
import type { Actor, Commands, Event } from "./types.ts";

export interface Hello {
  actor: Actor;
  workspace: string;
  revision: number;
  manifest: string;
  browsers?: number;
  challenge: string;
}

export interface Failed {
  success: false;
  error: string;
  code: string;
  hint: string;
  data?: Record<string, unknown>;
}

export type Answer<T> = ({ success: true } & T) | Failed;

export type Status =
  | { kind: "connecting" }
  | { kind: "open" }
  | { kind: "lost"; retryAt: number }
  | { kind: "refused" };

const FIRST_MS = 500;
const LONGEST_MS = 5000;
const LARGEST = 1024 * 1024; // bytes of one message that the server takes

export class Link {
  status: Status = { kind: "connecting" };
  onStatus: (status: Status) => void = () => {};
  onFirst: (first: First) => void = () => {};
  onHello: (hello: Hello) => void = () => {};
  onEvent: (event: Event) => void = () => {};

  // Whether a call needs the person's signature, as the server's list of commands says.
  needsHand: (command: string, args: Record<string, unknown>) => boolean = () => false;

  private hand: Promise<Hand | null> = Promise.resolve(null);
  private challenge = "";
  private signing: Promise<unknown> = Promise.resolve();
  private socket: WebSocket | null = null;
  private waiting = new Map<number, (answer: Answer<unknown>) => void>();
  private last = 0;
  private delay = FIRST_MS;
  private opened: () => void = () => {};
  private opening: Promise<void> | null = new Promise((resolve) => (this.opened = resolve));
  private timer: ReturnType<typeof setTimeout> | undefined;

  start({ signedIn, first, socket, early, hand }: Begun): void {
    this.hand = hand;
    void signedIn.then((key) => key && keep(key));
    void first.then((all) => all && this.onFirst(all));
    void socket.then((open) => (open ? this.take(open, early) : this.set({ kind: "refused" })));
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.retry();
    });
  }

  // Try again at once, if it is waiting to.
  retry(): void {
    if (this.status.kind === "lost") {
      clearTimeout(this.timer);
      this.delay = FIRST_MS;
      this.connect();
    }
  }

  async call<Id extends keyof Commands>(command: Id, args: Commands[Id]["args"]): Promise<Answer<Commands[Id]["result"]>>;
  async call(command: string, args: Record<string, unknown>): Promise<Answer<Record<string, unknown>>>;
  async call(command: string, args: object): Promise<Answer<unknown>> {
    if (this.needsHand(command, args as Record<string, unknown>)) return this.sign(command, args);
    if (this.opening) await this.opening; // a page that has just come is about to be connected
    const { socket } = this;
    if (!socket || socket.readyState !== WebSocket.OPEN) return offline();
    const id = ++this.last;
    return this.send(socket, id, JSON.stringify({ id, command, args }));
  }

  // Make a call with the person's signature; `seen` is what they read before they decided.
  async sign<Id extends keyof Commands>(command: Id, args: Commands[Id]["args"], seen?: string): Promise<Answer<Commands[Id]["result"]>>;
  async sign(command: string, args: object, seen?: string): Promise<Answer<unknown>>;
  async sign(command: string, args: object, seen = ""): Promise<Answer<unknown>> {
    if (this.opening) await this.opening;
    const hand = await this.hand;
    if (!hand) return handless();
    // One after the other: the server takes the numbers of signed calls in their order only.
    const turn = this.signing.then(async () => {
      const { socket, challenge } = this;
      if (!socket || socket.readyState !== WebSocket.OPEN) return { answer: Promise.resolve<Answer<unknown>>(offline()) };
      const id = ++this.last;
      const signed = JSON.stringify({ challenge, id, command, args, seen });
      const signature = await hand.sign(signed);
      if (socket.readyState !== WebSocket.OPEN) return { answer: Promise.resolve<Answer<unknown>>(offline()) };
      return { answer: this.send(socket, id, JSON.stringify({ signed, signature })) };
    });
    this.signing = turn.catch(() => {});
    return (await turn).answer;
  }

  private async send(socket: WebSocket, id: number, message: string): Promise<Answer<unknown>> {
    // The server would hang up.
    if (message.length > LARGEST / 3 && new Blob([message]).size > LARGEST) return tooLarge();
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      socket.send(message);
    });
  }

  private connect(): void {
    if (this.status.kind !== "lost") this.set({ kind: "connecting" });
    this.take(new WebSocket(socketAddress("/ws?attend=1"), protocols()), []);
  }

  private take(socket: WebSocket, early: string[]): void {
    this.socket = socket;
    socket.onopen = () => this.began();
    if (socket.readyState === WebSocket.OPEN) this.began();
    socket.onmessage = (message) => this.receive(JSON.parse(String(message.data)));
    socket.onclose = () => {
      if (this.socket === socket) void this.lost();
    };
    for (const text of early) this.receive(JSON.parse(text));
    if (socket.readyState === WebSocket.CLOSED) void this.lost();
  }

  private receive(message: { hello?: Hello; event?: Event; id?: number | null; result?: Answer<unknown> }): void {
    if (message.event) {
      this.onEvent(message.event);
    } else if (message.hello) {
      this.delay = FIRST_MS;
      this.challenge = message.hello.challenge;
      this.set({ kind: "open" });
      this.onHello(message.hello);
    } else if (message.result && typeof message.id === "number") {
      this.waiting.get(message.id)?.(message.result);
      this.waiting.delete(message.id);
    }
  }

  private began(): void {
    this.opening = null;
    this.opened();
  }

  private async lost(): Promise<void> {
    this.socket = null;
    this.began();
    for (const resolve of this.waiting.values()) resolve(offline());
    this.waiting.clear();
    // A browser does not say why an upgrade failed; a plain request does.
    if (this.status.kind !== "open" && (await refused())) {
      this.set({ kind: "refused" });
      return;
    }
    const wait = this.delay * (0.8 + Math.random() * 0.4);
    this.delay = Math.min(this.delay * 1.7, LONGEST_MS);
    this.set({ kind: "lost", retryAt: Date.now() + wait });
    this.timer = setTimeout(() => this.connect(), wait);
  }

  private set(status: Status): void {
    this.status = status;
    this.onStatus(status);
  }
}

async function refused(): Promise<boolean> {
  try {
    return (await fetch("/openspace/manifest", { headers: headers() })).status === 401;
  } catch {
    return false;
  }
}

function tooLarge(): Failed {
  return { success: false, error: "this is too large to be sent at once", code: "too-large", hint: "at most 1 MB; a program in a terminal can do it" };
}

function handless(): Failed {
  return {
    success: false,
    error: "this page cannot sign for you",
    code: "hand-needed",
    hint: "open it by https or as localhost: only there does a browser keep a key that no other program can use",
  };
}

function offline(): Failed {
  return { success: false, error: "the connection is lost", code: "offline", hint: "it is being tried again" };
}
