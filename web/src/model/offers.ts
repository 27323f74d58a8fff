// The commands that an agent offers for messages to it, such as /plan.

export interface Offer {
  name: string;
  description: string;
  hint: string; // what may be written behind it
}

const MOST = 200;

// From what an agent sent: whatever is no command is left out.
export function readOffers(commands: unknown): Offer[] {
  if (!Array.isArray(commands)) return [];
  const found: Offer[] = [];
  for (const one of commands.slice(0, MOST) as unknown[]) {
    const { name, description, input } = (one ?? {}) as Record<string, unknown>;
    if (typeof name !== "string" || !/^\S{1,100}$/.test(name)) continue;
    const hint = (input as { hint?: unknown } | null | undefined)?.hint;
    found.push({ name: name.replace(/^\//, ""), description: typeof description === "string" ? description : "", hint: typeof hint === "string" ? hint : "" });
  }
  return found;
}

// Those that a message may become, of which no more than a slash and the beginning of a word is written.
export function matching(offers: readonly Offer[], message: string): Offer[] {
  const begun = /^\/(\S*)$/.exec(message)?.[1]?.toLowerCase();
  if (begun === undefined) return [];
  const rank = ({ name, description }: Offer) => {
    const at = name.toLowerCase().indexOf(begun);
    return at === 0 ? 0 : at > 0 ? 1 : description.toLowerCase().includes(begun) ? 2 : 3;
  };
  return offers.filter((offer) => rank(offer) < 3).sort((a, b) => rank(a) - rank(b));
}
