import type { Registers } from '../../state/store.ts';

const REGISTER = 'archive-lease';

/** The holder renews the lease far more often; one that is silent this long counts as dead. */
const SILENCE_MS = 30_000;

interface Holder {
  readonly holder: string | null;
  /** Counts up with every renewal, so that others see the holder live without comparing clocks. */
  readonly renewals: number;
}

/**
 * One node of the fleet ships. The lease spares the others the work; it is not what keeps entries from being shipped
 * twice: of two commits with the same number only one succeeds.
 */
export class Lease {
  readonly #registers: Registers;
  readonly #holder: string;
  readonly #monotonicMs: () => number;
  #seen: { readonly text: string | null; readonly sinceMs: number } | null = null;

  constructor(registers: Registers, holder: string, monotonicMs: () => number) {
    this.#registers = registers;
    this.#holder = holder;
    this.#monotonicMs = monotonicMs;
  }

  /** Takes or renews the lease; false while another holder is alive. */
  async hold(): Promise<boolean> {
    const text = await this.#registers.read(REGISTER);
    const current = parse(text);
    if (current.holder !== null && current.holder !== this.#holder && !this.#isSilent(text)) return false;
    const next: Holder = { holder: this.#holder, renewals: current.renewals + 1 };
    return this.#registers.compareAndSet(REGISTER, text, JSON.stringify(next));
  }

  /** Lets another node take over at once. */
  async release(): Promise<void> {
    const text = await this.#registers.read(REGISTER);
    const { holder, renewals } = parse(text);
    if (holder !== this.#holder) return;
    const none: Holder = { holder: null, renewals: renewals + 1 };
    await this.#registers.compareAndSet(REGISTER, text, JSON.stringify(none));
  }

  /** Whether the holder has not renewed its lease for long enough, as seen from here. */
  #isSilent(text: string | null): boolean {
    const now = this.#monotonicMs();
    if (this.#seen?.text !== text) this.#seen = { text, sinceMs: now };
    return now - this.#seen.sinceMs >= SILENCE_MS;
  }
}

/** Who ships, for people: `host/pid/..`; null when nobody holds the lease. */
export async function leaseHolder(registers: Pick<Registers, 'read'>): Promise<string | null> {
  return parse(await registers.read(REGISTER)).holder;
}

/** An unreadable lease holds nobody back. */
function parse(text: string | null): Holder {
  const nobody: Holder = { holder: null, renewals: 0 };
  if (text === null) return nobody;
  try {
    const { holder, renewals }: Partial<Holder> = JSON.parse(text);
    return { holder: holder ?? null, renewals: renewals ?? 0 };
  } catch {
    return nobody;
  }
}
