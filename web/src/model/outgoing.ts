// Keys on their way to a program: only so far ahead of what it has taken, the rest waits here in its order. The server tells
// how many bytes were typed. A large paste thus goes as fast as the program reads, can be watched, and can be cancelled.

export const PIECE = 32 * 1024;
export const AHEAD = 256 * 1024; // less than what the server takes before it stops listening to us
export const LARGE = 64 * 1024; // worth telling about

export interface Progress {
  done: number;
  total: number;
}

const BEGIN = [0x1b, 0x5b, 0x32, 0x30, 0x30, 0x7e];
const END = new Uint8Array([0x1b, 0x5b, 0x32, 0x30, 0x31, 0x7e]);

const bracketed = (data: Uint8Array): boolean => BEGIN.every((byte, at) => data[at] === byte);

export class Outgoing {
  private waiting: Uint8Array[] = [];
  private offset = 0; // of what is sent of the first that waits
  private queued = 0;
  private sent = 0;
  private typed = 0;
  private start = 0; // what was sent when the present paste began
  private total = 0;
  private paste: { begin: number; end: number } | null = null; // a bracketed one: between its marks all is text
  private cancelling = false;

  constructor(
    private readonly send: (piece: Uint8Array) => void,
    private readonly tell: (progress: Progress | null) => void,
  ) {}

  get busy(): boolean {
    return this.total > 0;
  }

  push(data: Uint8Array): void {
    if (data.length === 0) return;
    if (this.queued === 0 && !this.cancelling && data.length <= LARGE && this.sent - this.typed < AHEAD) return this.put(data);
    if (!this.busy) this.start = this.sent;
    this.waiting.push(data);
    this.queued += data.length;
    this.total += data.length;
    this.pump();
  }

  // So many bytes of all that were sent are typed, or will never be: `dropped` of them were waiting when we cancelled.
  told(typed: number, dropped = 0): void {
    this.typed = Math.max(this.typed, typed);
    const reached = this.typed - dropped;
    if (this.cancelling && typed >= this.sent) {
      this.cancelling = false;
      if (this.paste && reached > this.paste.begin && reached < this.paste.end) this.put(END);
      this.paste = null;
    } else if (this.paste && reached >= this.paste.end) this.paste = null;
    this.pump();
  }

  // Forgets what is not sent yet; the caller asks the server to do the same with what is.
  cancel(): Progress {
    const progress = this.progress();
    this.forget();
    this.cancelling = true;
    this.tell(null);
    return progress;
  }

  // The connection is gone and with it what was on its way. Says how far a paste had come.
  reset(): Progress | null {
    const progress = this.busy ? this.progress() : null;
    this.forget();
    this.sent = this.typed = 0;
    this.paste = null;
    this.cancelling = false;
    if (progress) this.tell(null);
    return progress;
  }

  private forget(): void {
    this.waiting = [];
    this.offset = this.queued = this.total = 0;
  }

  private progress(): Progress {
    return { done: Math.min(this.total, Math.max(0, this.typed - this.start)), total: this.total };
  }

  private put(piece: Uint8Array): void {
    this.sent += piece.length;
    this.send(piece);
  }

  private pump(): void {
    while (this.queued > 0 && !this.cancelling && this.sent - this.typed < AHEAD) {
      const first = this.waiting[0]!;
      let end = Math.min(this.offset + PIECE, first.length);
      while (end < first.length && (first[end]! & 0xc0) === 0x80) end--; // between two characters
      if (this.offset === 0 && bracketed(first)) this.paste = { begin: this.sent, end: this.sent + first.length };
      const piece = first.subarray(this.offset, end);
      this.queued -= piece.length;
      this.offset = end;
      if (end === first.length) {
        this.waiting.shift();
        this.offset = 0;
      }
      this.put(piece);
    }
    if (!this.busy) return;
    if (this.queued === 0 && this.sent - this.typed < LARGE) {
      this.total = 0;
      this.tell(null);
    } else this.tell(this.progress());
  }
}
