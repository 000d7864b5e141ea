import type { Documents } from '../state/documents.ts';
import type { Registers } from '../state/store.ts';
import type { RefusedVersion } from './loaded-rules.ts';
import type { Rollout } from './rollout.ts';
import type { TrialCounts } from './trial-counts.ts';

/** A version as a node has it loaded. */
export interface NodeVersion {
  readonly version: string;
  readonly digest: string;
  readonly released: boolean;
}

/** What a node tells the fleet about itself, every second. */
export interface NodeReport {
  readonly nodeId: string;
  readonly host: string;
  readonly pid: number;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly seenAt: number;
  /** The revision of the rollout that it follows. */
  readonly revision: number;
  readonly versions: readonly NodeVersion[];
  readonly refused: readonly RefusedVersion[];
  /** Why it does not follow the newest revision; null when it does. */
  readonly trouble: string | null;
  readonly counts: TrialCounts | null;
}

const REGISTER = 'rollout';
const NODES = 'nodes';

/** A node that is silent this long is not part of the fleet any more. */
const NODE_TTL_MS = 10_000;

/** The rollout as it is stored, for a compare-and-set. */
export interface StoredRollout {
  readonly rollout: Rollout;
  readonly raw: string;
}

/** The state that all nodes share: the rollout and their reports. */
export class Fleet {
  readonly #registers: Registers;
  readonly #documents: Documents;

  constructor({ registers, documents }: { readonly registers: Registers; readonly documents: Documents }) {
    this.#registers = registers;
    this.#documents = documents;
  }

  /** Null before the first node ever started. */
  async read(): Promise<StoredRollout | null> {
    const raw = await this.#registers.read(REGISTER);
    return raw === null ? null : { rollout: JSON.parse(raw), raw };
  }

  /** False when somebody else changed the rollout meanwhile. */
  write(expected: StoredRollout | null, next: Rollout): Promise<boolean> {
    return this.#registers.compareAndSet(REGISTER, expected?.raw ?? null, JSON.stringify(next));
  }

  report(report: NodeReport): Promise<void> {
    return this.#documents.set(NODES, report.nodeId, report, NODE_TTL_MS);
  }

  leave(nodeId: string): Promise<void> {
    return this.#documents.delete(NODES, nodeId);
  }

  async nodes(): Promise<readonly NodeReport[]> {
    const reports = await this.#documents.list<NodeReport>(NODES);
    return reports.toSorted((a, b) => a.host.localeCompare(b.host) || a.pid - b.pid);
  }
}
