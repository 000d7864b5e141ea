import { ClockOffset, type ClockReading, medianOffset } from '../clock-offset.ts';

/** The clocks of the servers, as their answers tell them. */
export class NodeClocks {
  readonly #nodes: () => readonly string[];
  readonly #offsets = new Map<string, ClockOffset>();
  #medianMs = 0;

  /** `nodes` gives the servers that there are now: a server that is gone decides nothing any more. */
  constructor(nodes: () => readonly string[]) {
    this.#nodes = nodes;
  }

  observe(node: string, reading: ClockReading): void {
    const offset = this.#offsets.get(node) ?? new ClockOffset();
    this.#offsets.set(node, offset);
    const before = offset.offsetMs;
    offset.observe(reading);
    if (offset.offsetMs !== before) this.#medianMs = this.#median();
  }

  /** By how much the clock that decides is ahead of this process's: the middle one of all servers' clocks. */
  get offsetMs(): number {
    return this.#medianMs;
  }

  /** By how much one server's clock is ahead of this process's; null while it is not known. */
  offsetOf(node: string): number | null {
    return this.#offsets.get(node)?.offsetMs ?? null;
  }

  #median(): number {
    return medianOffset(
      this.#nodes()
        .map((node) => this.offsetOf(node))
        .filter((offset) => offset !== null),
    );
  }
}
