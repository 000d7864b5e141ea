import { parseJsonObjectOrNull } from '#base/files/json-object.ts';
import { StepThrottle } from '#base/work/step-throttle.ts';
import { compactState } from '#decision/payer/client-state.ts';
import { decodeClientState, encodeClientState } from '#decision/payer/state-document.ts';
import type { Store } from '#state/store.ts';

/**
 * After each step the sweep rests this many times as long as the step took. A pass over fifty million payers takes
 * some hours.
 */
const REST_SHARE = 20;

/** A node reports the progress of its pass after this many pages. */
const PAGES_AT_ONCE = 50;

/** If a node reports nothing for this long, another node continues the pass. */
const SILENCE_MS = 60_000;

/** The time from the beginning of one pass to the beginning of the next. */
const PASS_MS = 24 * 3600_000;

const LOOK_INTERVAL_MS = 30_000;

/** The margin for clocks that differ, and for a request under way that began a little earlier. */
const MARGIN_MS = 60_000;

/**
 * The register that holds the progress of the fleet's pass. The node that advances the progress does the next pages.
 */
const REGISTER = 'client-sweep';

interface Progress {
  /** When this pass began and when it last advanced, in epoch ms. */
  readonly beganAt: number;
  readonly movedAt: number;
  /** The position at which the pass continues. An empty text is the beginning. Null if the pass is finished. */
  readonly cursor: string | null;
}

const NEVER: Progress = {
  beganAt: Number.NEGATIVE_INFINITY,
  movedAt: Number.NEGATIVE_INFINITY,
  cursor: null,
};

interface ClientSweepParts {
  readonly store: Pick<Store, 'registers' | 'texts'>;
  /** The store's time, in epoch ms. */
  readonly clock: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Compacts the stored states of payers who stay away, once a day and in the background. A compacted state is as small
 * as the payer's next visit would make it. Only one node of the fleet does this at a time.
 */
export class ClientCompactor {
  readonly #parts: ClientSweepParts;
  readonly #steps = new StepThrottle(REST_SHARE);
  /** The progress as this node wrote it last. */
  #written: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #underWay: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: ClientSweepParts) {
    this.#parts = parts;
  }

  /** Looks for due work again and again, until it is stopped. */
  start(): void {
    this.#timer = setTimeout(() => {
      this.#underWay = this.run().then(
        () => this.#again(),
        (error: unknown) => {
          this.#parts.onTrouble(error);
          this.#again();
        },
      );
    }, LOOK_INTERVAL_MS).unref();
  }

  /** Stops, and resolves when no work is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#underWay;
  }

  /** Does the rest of the due pass, unless another node does it. Returns how many states became smaller. */
  async run(): Promise<number> {
    let smaller = 0;
    let progress = await this.#claim();
    while (progress !== null) {
      let cursor: string | null = progress.cursor;
      for (let page = 0; page < PAGES_AT_ONCE && !this.#stopped; page++) {
        const from: string | null = cursor;
        const done = await this.#steps.run(() => this.#page(from || null));
        smaller += done.smaller;
        cursor = done.next;
        if (cursor === null) break;
      }
      const isThrough = cursor === null;
      const moved: Progress | null = await this.#moveOn({
        ...progress,
        cursor,
        movedAt: this.#parts.clock(),
      });
      progress = moved === null || isThrough || this.#stopped ? null : moved;
    }
    return smaller;
  }

  #again(): void {
    if (!this.#stopped) this.start();
  }

  async #page(from: string | null): Promise<{ readonly smaller: number; readonly next: string | null }> {
    const { texts } = this.#parts.store;
    const { states, next } = await texts.states(from);
    const replaced = await Promise.all(
      states.map(async ({ name, text }) => {
        const smaller = this.#compacted(text);
        return smaller !== null && (await texts.replaceState(name, text, smaller));
      }),
    );
    return { smaller: replaced.filter(Boolean).length, next };
  }

  /**
   * Returns a smaller text of a state. Returns null if nothing can be left out, or if the state cannot be read. The
   * command `state check` finds states that cannot be read.
   */
  #compacted(text: string): string | null {
    try {
      const state = decodeClientState(text);
      const next = encodeClientState(compactState(state, this.#parts.clock() - MARGIN_MS));
      return next.length < text.length ? next : null;
    } catch {
      return null;
    }
  }

  /** Returns the pass that this node may continue. Returns null if none is due, or if another node does it. */
  async #claim(): Promise<Progress | null> {
    const now = this.#parts.clock();
    const text = await this.#parts.store.registers.read(REGISTER);
    const progress = parseProgress(text);
    const isOver = progress.cursor === null;
    if (isOver && now - progress.beganAt < PASS_MS) return null;
    if (!isOver && text !== this.#written && now - progress.movedAt < SILENCE_MS) return null;
    this.#written = text;
    const begun = isOver ? { beganAt: now, cursor: '' } : {};
    return this.#moveOn({ ...progress, ...begun, movedAt: now });
  }

  /** Writes the progress. Returns null if another node was faster. */
  async #moveOn(progress: Progress): Promise<Progress | null> {
    const next = JSON.stringify(progress);
    if (!(await this.#parts.store.registers.compareAndSet(REGISTER, this.#written, next))) return null;
    this.#written = next;
    return progress;
  }
}

/** Parses the progress in the register. If the text cannot be read, a new pass begins. */
function parseProgress(text: string | null): Progress {
  const { beganAt, movedAt, cursor } = parseJsonObjectOrNull(text ?? '') ?? {};
  if (typeof beganAt !== 'number' || typeof movedAt !== 'number') return NEVER;
  return { beganAt, movedAt, cursor: typeof cursor === 'string' ? cursor : null };
}
