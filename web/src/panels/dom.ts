// Elements in one line each. Text is always set as text: nothing here, or anywhere on the page, writes HTML.

type Child = Node | string | null | undefined | false;
type Listeners = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Props {
  class?: string;
  title?: string;
  on?: Listeners;
  [attribute: string]: unknown;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value as Listeners)) {
        element.addEventListener(event, listener as EventListener);
      }
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

const PATHS: Record<string, string> = {
  shield: "M8 1.8 13 3.6v4.2c0 3-2 5.2-5 6.4-3-1.2-5-3.4-5-6.4V3.6z",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  refresh: "M13 5A6 6 0 1 0 14 8M13 2v3h-3",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10.5h3",
  agent: "M8 2v2M4 5h8a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1zM6 8.5v1M10 8.5v1",
  pin: "M6 2h4l-.6 4 2.6 2.5H4L6.6 6zM8 8.5V14",
  pause: "M5 3v10M11 3v10",
  play: "M5 3l8 5-8 5z",
  stop: "M4 4h8v8H4z",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6z",
  right: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  up: "M4 10l4-4 4 4",
  help: "M6 6a2 2 0 1 1 2.7 1.9c-.5.2-.7.6-.7 1.1M8 11.7v.1",
};

export function icon(name: keyof typeof PATHS & string, solid = false): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", solid ? "icon solid" : "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name] ?? "");
  svg.append(path);
  return svg;
}

// Put these children in place of what is there, touching only what is different: focus and scroll survive.
export function place(parent: Element, children: Node[]): void {
  for (const [index, child] of children.entries()) {
    if (parent.childNodes[index] !== child) parent.insertBefore(child, parent.childNodes[index] ?? null);
  }
  while (parent.childNodes.length > children.length) parent.lastChild!.remove();
}

// The same for children that were made anew: one that looks like what is there leaves it in place. A button that goes while
// it is pressed would take the click along.
export function renew(parent: Element, children: Node[]): void {
  place(parent, children.map((child, index) => alike(parent.childNodes[index], child)));
}

export function alike<N extends Node>(old: Node | undefined, fresh: N): N {
  return old?.isEqualNode(fresh) ? (old as N) : fresh;
}

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

// Listen as long as the page lives, or until the returned function is called.
export function listen<K extends keyof WindowEventMap>(
  name: K,
  listener: (event: WindowEventMap[K]) => void,
  options?: AddEventListenerOptions,
): () => void {
  addEventListener(name, listener, options);
  return () => removeEventListener(name, listener, options);
}

// Call later, once, however often it is asked for meanwhile.
export function debounce(action: () => void, milliseconds: number): (() => void) & { flush(): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = () => {
    timer = undefined;
    action();
  };
  return Object.assign(
    () => {
      clearTimeout(timer);
      timer = setTimeout(run, milliseconds);
    },
    {
      flush() {
        if (timer !== undefined) {
          clearTimeout(timer);
          run();
        }
      },
      cancel() {
        clearTimeout(timer);
        timer = undefined;
      },
    },
  );
}

// Once per frame at most.
export function perFrame(action: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    // A hidden page gets no frames, and must still know what is going on.
    const run = () => {
      asked = false;
      action();
    };
    if (document.hidden) setTimeout(run, 0);
    else requestAnimationFrame(run);
  };
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// Write a style only if it is another: untouched elements cost no layout.
export function setStyle(element: HTMLElement, name: "left" | "top" | "width" | "height", value: string): void {
  if (element.style[name] !== value) element.style[name] = value;
}
