// Which colours are in use: the system's choice unless the person made one; terminals and editors follow.

export type Choice = "system" | "dark" | "light" | "contrast";
export type Shown = "dark" | "light" | "contrast";

const STORED = "fourhands.theme";

export class Theme {
  choice: Choice;
  shown: Shown = "dark";
  private readonly listeners = new Set<(shown: Shown) => void>();
  private readonly light = matchMedia("(prefers-color-scheme: light)");
  private readonly contrast = matchMedia("(prefers-contrast: more)");

  constructor() {
    const stored = localStorage.getItem(STORED);
    this.choice = stored === "dark" || stored === "light" || stored === "contrast" ? stored : "system";
    this.light.addEventListener("change", () => this.apply());
    this.contrast.addEventListener("change", () => this.apply());
    this.apply();
  }

  set(choice: Choice): void {
    this.choice = choice;
    if (choice === "system") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, choice);
    this.apply();
  }

  next(): void {
    const order: Choice[] = ["system", "dark", "light", "contrast"];
    this.set(order[(order.indexOf(this.choice) + 1) % order.length]!);
  }

  on(listener: (shown: Shown) => void): () => void {
    this.listeners.add(listener);
    listener(this.shown);
    return () => this.listeners.delete(listener);
  }

  private apply(): void {
    const system = this.contrast.matches ? "contrast" : this.light.matches ? "light" : "dark";
    this.shown = this.choice === "system" ? system : this.choice;
    document.documentElement.dataset.theme = this.shown;
    for (const listener of this.listeners) listener(this.shown);
  }
}

// The value of a token. The build shortens #ffffff to #fff, which Monaco does not read.
export function token(name: string): string {
  const value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return /^#[0-9a-f]{3}$/i.test(value) ? value.replace(/[0-9a-f]/gi, "$&$&") : value;
}
