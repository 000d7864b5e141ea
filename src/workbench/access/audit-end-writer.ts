import type { AuditLog } from '#state/audit-log.ts';

const HOUR_MS = 3_600_000;

interface AuditEndParts {
  readonly auditLog: Pick<AuditLog, 'end'>;
  /** The time in epoch ms. */
  readonly clock: () => number;
  /** Receives the number and hash of the newest entry, in the form that `audit verify --known` takes. */
  readonly onTold: (known: string) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Writes the newest entry of the audit to a log that is kept elsewhere, so that a rewritten chain is noticed. */
export class AuditEndLogger {
  readonly #parts: AuditEndParts;
  #toldAt: number;

  constructor(parts: AuditEndParts) {
    this.#parts = parts;
    this.#toldAt = parts.clock();
  }

  /** Writes the newest entry if an hour has passed since the last time. */
  async writeIfDue(): Promise<void> {
    if (this.#parts.clock() - this.#toldAt >= HOUR_MS) await this.write();
  }

  async write(): Promise<void> {
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
