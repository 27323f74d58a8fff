// Where panes and sashes lie, in percent of the workbench area. The server owns the sizes; nothing is normalised here.

import type { Pane, Split, Tab } from "../wire/types.ts";

export type Node = Pane | Split;

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedPane {
  pane: Pane;
  box: Box;
}

export interface Sash {
  key: string;
  split: Split;
  index: number; // between child index and index + 1
  box: Box; // of the split
  at: number; // percent of the workbench along the split's direction
}

export interface Placed {
  panes: PlacedPane[];
  sashes: Sash[];
}

const WHOLE: Box = { x: 0, y: 0, width: 100, height: 100 };

export function place(root: Node | null, box: Box = WHOLE, into: Placed = { panes: [], sashes: [] }): Placed {
  if (root === null) return into;
  if (root.kind === "pane") {
    into.panes.push({ pane: root, box });
    return into;
  }
  const across = root.direction === "vertical";
  const length = across ? box.width : box.height;
  let done = 0;
  root.children.forEach((child, index) => {
    const start = (across ? box.x : box.y) + (length * done) / 100;
    done += root.sizes[index] ?? 0;
    const end = (across ? box.x : box.y) + (length * done) / 100;
    const inner = across ? { ...box, x: start, width: end - start } : { ...box, y: start, height: end - start };
    place(child, inner, into);
    if (index + 1 < root.children.length) {
      into.sashes.push({ key: `${root.id}:${index}`, split: root, index, box, at: end });
    }
  });
  return into;
}

export function panes(root: Node | null): Pane[] {
  return place(root).panes.map((placed) => placed.pane);
}

export function tabs(root: Node | null): { pane: Pane; tab: Tab }[] {
  return panes(root).flatMap((pane) => pane.tabs.map((tab) => ({ pane, tab })));
}

export function findSplit(root: Node | null, id: string): Split | null {
  if (root === null || root.kind === "pane") return null;
  if (root.id === id) return root;
  for (const child of root.children) {
    const found = findSplit(child, id);
    if (found) return found;
  }
  return null;
}

export const LEAST = 4; // percent of the workbench that every pane keeps, as in the server

// The sizes of a split after the sash behind `index` was moved by `delta` percent of the split.
export function moveSash(split: Split, index: number, delta: number, box: Box): number[] {
  const length = split.direction === "vertical" ? box.width : box.height;
  const least = length > 0 ? (LEAST * 100) / length : 0;
  const sizes = [...split.sizes];
  const first = sizes[index] ?? 0;
  const second = sizes[index + 1] ?? 0;
  const room = first + second;
  const wanted = Math.min(Math.max(first + delta, Math.min(least, room / 2)), room - Math.min(least, room / 2));
  sizes[index] = Math.round(wanted * 10) / 10;
  sizes[index + 1] = Math.round((room - sizes[index]!) * 10) / 10;
  return sizes;
}

// The same tree with other sizes in one split: what is shown until the server has answered.
export function withSizes(root: Node, id: string, sizes: number[]): Node {
  if (root.kind === "pane") return root;
  if (root.id === id) return { ...root, sizes };
  return { ...root, children: root.children.map((child) => withSizes(child, id, sizes)) };
}

export type Side = "left" | "right" | "top" | "bottom" | "center";

// Which side of a pane a pointer at these fractions of it means: the outer quarter is a side, the rest the middle.
export function sideAt(fx: number, fy: number): Side {
  const sides: [Side, number][] = [
    ["left", fx],
    ["right", 1 - fx],
    ["top", fy],
    ["bottom", 1 - fy],
  ];
  sides.sort((a, b) => a[1] - b[1]);
  const nearest = sides[0]!;
  return nearest[1] < 0.25 ? nearest[0] : "center";
}
