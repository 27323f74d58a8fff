// A menu at a place on the page: arrow keys choose, Enter or a click runs, Escape or a click elsewhere closes.

import { h } from "./dom.ts";

export interface MenuItem {
  label: string;
  run: () => void;
}

let shown: (() => void) | null = null; // closes the one that is open

export function openMenu(label: string, x: number, y: number, items: MenuItem[]): void {
  shown?.();
  const before = document.activeElement;
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label });
  const close = () => {
    shown = null;
    document.removeEventListener("pointerdown", elsewhere, true);
    window.removeEventListener("blur", close);
    const inside = menu.contains(document.activeElement);
    menu.remove();
    if (inside && before instanceof HTMLElement && before.isConnected) before.focus();
  };
  const elsewhere = (event: Event) => {
    if (!menu.contains(event.target as Node)) close();
  };
  const buttons = items.map(({ label: text, run }) => {
    const button = h("button", { role: "menuitem", tabindex: "-1" }, text);
    button.addEventListener("click", () => {
      close();
      run();
    });
    return button;
  });
  menu.append(...buttons);
  menu.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (next !== undefined) buttons.at(next % buttons.length)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  menu.addEventListener("contextmenu", (event) => event.preventDefault());
  document.addEventListener("pointerdown", elsewhere, true);
  window.addEventListener("blur", close);
  document.body.append(menu);
  menu.style.left = `${Math.max(0, Math.min(x, innerWidth - menu.offsetWidth - 4))}px`;
  menu.style.top = `${Math.max(0, Math.min(y, innerHeight - menu.offsetHeight - 4))}px`;
  buttons[0]?.focus();
  shown = close;
}
