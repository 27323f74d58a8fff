// Listeners by topic; what subscribes gets back its own disposer.

export type Dispose = () => void;

export class Signals<Topic extends string> {
  private readonly listeners = new Map<Topic, Set<() => void>>();

  on(topics: Topic | readonly Topic[], listener: () => void): Dispose {
    const all = typeof topics === "string" ? [topics] : topics;
    for (const topic of all) {
      let set = this.listeners.get(topic);
      if (!set) this.listeners.set(topic, (set = new Set()));
      set.add(listener);
    }
    return () => {
      for (const topic of all) this.listeners.get(topic)?.delete(listener);
    };
  }

  // A listener that waits for several of the topics is told once.
  fire(topics: Iterable<Topic>): void {
    const told = new Set<() => void>();
    for (const topic of topics) for (const listener of this.listeners.get(topic) ?? []) told.add(listener);
    for (const listener of told) listener();
  }
}
