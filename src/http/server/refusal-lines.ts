import type { Logger } from 'pino';

/** So many refusals of a kind have a line of their own in each window; the others are counted in one. */
const LINES_MAX = 10;
const WINDOW_MS = 10_000;

/** Of one operation and status. */
interface Kind {
  readonly operation: string;
  readonly status: number;
}

interface Window {
  readonly kind: Kind;
  readonly timer: NodeJS.Timeout;
  lines: number;
  counted: number;
}

/** Warnings about requests that got no answer: an outage must not fill the disk with one for each of them. */
export class RefusalLines {
  readonly #log: Logger;
  readonly #windowMs: number;
  readonly #windows = new Map<string, Window>();

  constructor(log: Logger, windowMs = WINDOW_MS) {
    this.#log = log;
    this.#windowMs = windowMs;
  }

  write(line: Kind): void {
    const window = this.#windowOf(line);
    if (window.lines >= LINES_MAX) {
      window.counted++;
      return;
    }
    window.lines++;
    this.#log.warn(line, 'request failed');
  }

  #windowOf({ operation, status }: Kind): Window {
    const name = `${operation} ${status}`;
    const known = this.#windows.get(name);
    if (known !== undefined) return known;
    const timer = setTimeout(() => this.#end(name), this.#windowMs).unref();
    const window: Window = { kind: { operation, status }, timer, lines: 0, counted: 0 };
    this.#windows.set(name, window);
    return window;
  }

  #end(name: string): void {
    const window = this.#windows.get(name);
    this.#windows.delete(name);
    if (window === undefined || window.counted === 0) return;
    const { kind, counted } = window;
    this.#log.warn({ ...kind, more: counted, seconds: this.#windowMs / 1000 }, 'more requests failed');
  }
}
