import type { AuditLog } from '#state/audit-log.ts';

const HOUR_MS = 3_600_000;

interface AuditEndParts {
  readonly auditLog: Pick<AuditLog, 'end'>;
  /** Epoch ms. */
  readonly clock: () => number;
  /** `known` is the number and hash of the newest entry, as `audit verify --known` takes them. */
  readonly onTold: (known: string) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Writes the newest entry of the audit to a log that lies elsewhere, so that a chain that was rewritten is noticed. */
export class AuditEnd {
  readonly #parts: AuditEndParts;
  #toldAt: number;

  constructor(parts: AuditEndParts) {
    this.#parts = parts;
    this.#toldAt = parts.clock();
  }

  /** Tells it when an hour has passed since it was told. */
  async look(): Promise<void> {
    if (this.#parts.clock() - this.#toldAt >= HOUR_MS) await this.tell();
  }

  async tell(): Promise<void> {
    const { auditLog, clock, onTold, onTrouble } = this.#parts;
    this.#toldAt = clock();
    try {
      const end = await auditLog.end();
      if (end !== null) onTold(`${end.number}:${end.hash}`);
    } catch (error) {
      onTrouble(error);
    }
  }
}
