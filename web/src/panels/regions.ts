// The way around the page without a mouse: F6 goes from one region to the next, Shift F6 back, round and round.

export interface Region {
  element: HTMLElement;
  focus(): void;
}

// A region whose keyboard place is the first thing in it that matches.
export function region(element: HTMLElement, first: string): Region {
  return { element, focus: () => element.querySelector<HTMLElement>(first)?.focus() };
}

export function goRound(regions: readonly Region[], back: boolean): void {
  const there = regions.filter(({ element }) => element.checkVisibility({ visibilityProperty: true }) && element.childElementCount > 0);
  // The innermost one counts: a card is in the agent's side.
  const at = there.findIndex(({ element }) => element.contains(document.activeElement));
  const step = back ? -1 : 1;
  for (let tries = 1; tries <= there.length; tries++) {
    const next = there[(Math.max(at, back ? 0 : -1) + step * tries + there.length * 2) % there.length]!;
    next.focus();
    if (next.element.contains(document.activeElement)) return;
  }
}
