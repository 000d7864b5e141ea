import { Type } from '#base/json-schema.ts';
import * as s from '#base/shapes.ts';
import { type RuleVersion, ruleVersionSchema } from '#decision/rules/rule-set.ts';
import { createAuditNote } from '#state/audit-note.ts';
import type { Store } from '#state/store.ts';
import { createVersionRefSchema, parseRollout, type Rollout } from './rollout.ts';
import type { TrialStageCounts } from './trial-counts.ts';

/** What a node reports about itself every second. */
export const NodeSchema = s.named(
  'Node',
  s.shape('One node, as it reports itself', {
    nodeId: s.plainText('Id of the process, new at every start'),
    host: s.plainText('Name of its machine'),
    pid: s.count('Id of its process'),
    startedAt: s.epochMs('Start'),
    seenAt: s.epochMs('Last report'),
    revision: s.count('Revision of the rollout that it follows'),
    active: createVersionRefSchema('The version that decides on this node'),
    versions: s.list(
      s.shape('A loaded version', {
        version: s.plainText('The version, like p2.v10'),
        digest: s.digestText('Digest of its files'),
        released: s.yesNo('False for a draft'),
      }),
      'The versions that it has loaded',
    ),
    refused: s.list(
      s.shape('A rule set folder that has problems', {
        version: Type.Unsafe<RuleVersion>(ruleVersionSchema),
        problems: s.list(Type.String(), 'Each problem with file, line and column'),
      }),
      'The folders that it refuses',
    ),
    trouble: s.nullable(s.plainText('Why it does not follow the newest revision; null when it does')),
    hasStaleLists: s.yesNo(
      'It could not read the shared lists from the store for more than 10 s, and decides by the lists as they were then',
    ),
  }),
);

export type NodeView = s.ValueOf<typeof NodeSchema>;

/**
 * What a node knows about itself, within its process. The trial counts go to the store and are not shown to the other
 * nodes.
 */
export interface OwnNodeReport extends NodeView {
  /** The counts of each candidate's trial since this process began to follow the trial. */
  readonly counts: readonly TrialStageCounts[];
  /**
   * When somebody last went back to an earlier version without an approval by a second person, in epoch ms. Null if
   * the history shows no such case.
   */
  readonly emergencyAt: number | null;
  /** Whether the store has lost the rollout that the process follows, or has an older one. */
  readonly hasLostRollout: boolean;
}

const REGISTER = 'rollout';
const NODES = 'nodes';

/** A node that has been silent for this long no longer belongs to the fleet. */
const NODE_TTL_MS = 10_000;

/** The rollout with its stored text, which a compare-and-set needs. */
export interface StoredRollout {
  /** Null if the stored text is no rollout: it is damaged, or another version of the service wrote it. */
  readonly rollout: Rollout | null;
  readonly raw: string;
}

/** A known rollout is read again after this time, in case its writer ended before it announced the change. */
const REREAD_MS = 10_000;

export class Fleet {
  readonly #store: Pick<Store, 'registers' | 'documents' | 'auditLog'>;
  #followed: {
    readonly stored: StoredRollout | null;
    readonly version: string;
    readonly readMs: number;
  } | null = null;

  constructor(store: Pick<Store, 'registers' | 'documents' | 'auditLog'>) {
    this.#store = store;
  }

  /** Reads the rollout. Returns null before the first node ever started. */
  async read(): Promise<StoredRollout | null> {
    const raw = await this.#store.registers.read(REGISTER);
    return raw === null ? null : { rollout: parseRollout(raw), raw };
  }

  /** Whether a rollout was ever written into this store, as far as the store remembers. */
  async wasEverWritten(): Promise<boolean> {
    return (await this.#store.registers.version(REGISTER)) !== '';
  }

  /** Reads the rollout as `read` does. Uses the copy in memory if no change was announced. */
  async follow(): Promise<StoredRollout | null> {
    const version = await this.#store.registers.version(REGISTER);
    const readMs = performance.now();
    const known = this.#followed;
    if (known?.version === version && readMs - known.readMs < REREAD_MS) return known.stored;
    const stored = await this.read();
    this.#followed = { stored, version, readMs };
    return stored;
  }

  /**
   * Writes the rollout and notes the change in the audit log. Returns false if somebody else changed the rollout
   * meanwhile.
   */
  async write(expected: StoredRollout | null, next: Rollout): Promise<boolean> {
    const written = await this.#store.registers.compareAndSet(
      REGISTER,
      expected?.raw ?? null,
      JSON.stringify(next),
    );
    if (written) await this.#note(expected?.rollout ?? null, next);
    return written;
  }

  report(report: NodeView): Promise<void> {
    return this.#store.documents.set(NODES, report.nodeId, report, NODE_TTL_MS);
  }

  leave(nodeId: string): Promise<void> {
    return this.#store.documents.delete(NODES, nodeId);
  }

  async listNodes(): Promise<readonly NodeView[]> {
    const reports = await this.#store.documents.list<NodeView>(NODES);
    return reports.toSorted((a, b) => a.host.localeCompare(b.host) || a.pid - b.pid);
  }

  /** Appends the change to the audit log, in the form that the workbench's audit reads. */
  async #note(before: Rollout | null, after: Rollout): Promise<void> {
    const change = after.history.at(-1);
    if (change === undefined) return;
    const { at, who, reason, acceptedDifference, emergency } = change;
    const accepted = acceptedDifference === undefined ? {} : { acceptedDifference };
    const alone = emergency === undefined ? {} : { emergency };
    const deed = {
      who,
      action: 'rollout',
      before: before && summarizeRollout(before),
      after: { ...summarizeRollout(after), ...accepted, ...alone },
      reason,
    };
    await this.#store.auditLog.append(createAuditNote(at, deed));
  }
}

/** Summarizes a rollout: which versions decide, and for which share of the clients. */
function summarizeRollout({ revision, active, candidates }: Rollout) {
  const trials = candidates.map(({ version, mode, percent }) => ({ version, mode, percent }));
  return { revision, active: active.version, candidates: trials };
}
