// One terminal's socket: output with positions one way, keys the other. Goes on from the exact position after a loss.

import { Outgoing, type Progress } from "../model/outgoing.ts";
import { protocols, socketAddress } from "./key.ts";

export interface Screen {
  position: number;
  cols: number;
  rows: number;
  data: string;
}

export interface Ended {
  code: number | null;
  signal: string | null;
  lost: boolean;
}

export interface StreamEvents {
  output(data: Uint8Array, position: number): void;
  screen(screen: Screen): void;
  gap(from: number, to: number): void;
  size(cols: number, rows: number): void;
  exit(end: Ended): void;
  refused(error: string, code: string): void;
  connected(connected: boolean): void;
  pasting(progress: Progress | null): void;
  cutOff(progress: Progress): void; // a paste, by the end of the connection
}

const encoder = new TextEncoder();

export class Stream {
  position: number | null = null; // behind the last byte that was handed on
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private delay = 300;
  private waiting = true; // not to be connected now
  private closed = false;
  private ended = false;
  private held: (string | ArrayBuffer)[] | null = null;
  private early: (string | Uint8Array)[] | null = []; // typed before the first connection, which is a moment away
  private readonly outgoing: Outgoing;

  constructor(
    private readonly terminal: string,
    private readonly events: StreamEvents,
  ) {
    this.outgoing = new Outgoing(
      (piece) => this.socket?.send(piece as Uint8Array<ArrayBuffer>),
      (progress) => this.events.pasting(progress),
    );
  }

  // From a position, or with null from the present screen.
  start(position: number | null): void {
    this.position = position;
    this.resume();
  }

  // Connect already, but keep what comes until the caller says which part of it is known.
  startHeld(position: number): void {
    this.held = [];
    this.start(position);
  }

  release(position: number | null): void {
    const held = this.held ?? [];
    this.held = null;
    if (position !== null && this.position !== null && position < this.position) {
      // It begins in the middle of a sequence: what we are shown ends before that.
      this.hangUp();
      this.early = [];
      return this.start(position);
    }
    if (position !== null) this.position = position;
    for (const data of held) this.receive(data);
  }

  // Not visible: close the connection, and come back to the same position when it is shown again.
  pause(): void {
    this.waiting = true;
    clearTimeout(this.timer);
    this.hangUp();
  }

  resume(): void {
    this.waiting = false;
    this.retry();
  }

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  // Keys are never kept for later: what a person typed blind must not run when the line is back.
  keys(data: string | Uint8Array): boolean {
    if (!this.open) return (this.early?.push(data) ?? 0) > 0;
    this.outgoing.push(typeof data === "string" ? encoder.encode(data) : data);
    return true;
  }

  get pasting(): boolean {
    return this.outgoing.busy;
  }

  // What the program has not taken of a large paste is forgotten, here and by the server.
  cancelPaste(): Progress {
    const progress = this.outgoing.cancel();
    this.tell({ type: "cancel" });
    return progress;
  }

  // The terminal's own answer to a program's question, which was not typed.
  reply(data: string): void {
    this.tell({ type: "reply", data });
  }

  ack(position: number): void {
    this.tell({ type: "ack", position });
  }

  resize(cols: number, rows: number): void {
    this.tell({ type: "resize", cols, rows });
  }

  retry(): void {
    if (this.socket === null && !this.waiting && !this.closed && !this.ended) {
      clearTimeout(this.timer);
      this.connect();
    }
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.hangUp();
  }

  private hangUp(): void {
    const { socket } = this;
    this.socket = null;
    this.drop();
    // A browser calls it an error when one hangs up before it was answered.
    if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket?.close();
  }

  private drop(): void {
    const progress = this.outgoing.reset();
    if (progress && !this.closed && !this.ended) this.events.cutOff(progress);
  }

  private tell(message: object): void {
    if (this.open) this.socket!.send(JSON.stringify(message));
  }

  private connect(): void {
    const from = this.position === null ? "" : `&from=${this.position}`;
    const path = `/ws/terminals/${encodeURIComponent(this.terminal)}?ack=1${from}`;
    const socket = new WebSocket(socketAddress(path), protocols());
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.delay = 300;
      const { early } = this;
      this.early = null;
      for (const keys of early ?? []) this.keys(keys);
      this.events.connected(true);
    };
    socket.onmessage = (message) => {
      if (this.socket !== socket) return; // hung up already
      if (this.held) this.held.push(message.data as string | ArrayBuffer);
      else this.receive(message.data as string | ArrayBuffer);
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.early = null;
      this.drop();
      if (this.closed) return;
      this.events.connected(false);
      if (this.ended) return;
      this.timer = setTimeout(() => this.connect(), this.delay);
      this.delay = Math.min(this.delay * 1.7, 5000);
    };
  }

  private receive(data: string | ArrayBuffer): void {
    if (typeof data === "string") this.control(JSON.parse(data));
    else this.output(data);
  }

  private output(frame: ArrayBuffer): void {
    const start = Number(new DataView(frame).getBigUint64(0));
    let data = new Uint8Array(frame, 8);
    const seen = this.position === null ? 0 : this.position - start;
    if (seen >= data.length) return;
    if (seen > 0) data = data.subarray(seen);
    const position = start + Math.max(seen, 0) + data.length;
    this.position = position;
    this.events.output(data, position);
  }

  private control(message: Record<string, unknown> & { type: string }): void {
    switch (message.type) {
      case "screen": {
        const screen = message as unknown as Screen;
        this.position = screen.position;
        this.events.screen(screen);
        break;
      }
      case "gap":
        this.events.gap(Number(message.from), Number(message.to));
        this.position = Number(message.to);
        break;
      case "size":
        this.events.size(Number(message.cols), Number(message.rows));
        break;
      case "typed":
        this.outgoing.told(Number(message.bytes), Number(message.dropped ?? 0));
        break;
      case "exit":
        this.outgoing.reset();
        this.ended = true;
        this.events.exit(message as unknown as Ended);
        break;
      case "refused":
        if (message.code === "not-found") this.ended = true;
        this.events.refused(String(message.error), String(message.code));
        break;
    }
  }
}
