import type { Hint } from '../../client/hints.ts';
import { encodeOrder } from '../../client/order-row.ts';
import { encodeDecision, type RecordShape } from '../../decision/decision-record.ts';
import { journalText } from '../journal/text.ts';
import {
  decisionKey,
  installationKey,
  journalKey,
  journalLossKey,
  NOTES,
  nameOf,
  notesKey,
  orderName,
  orderNote,
  ordersKey,
  PARTITIONS,
  partitionOf,
  shapeKey,
  stateKey,
  unusedKey,
} from '../keys.ts';
import { RETENTION } from '../retention.ts';
import type { Change } from '../store.ts';
import { BadReply } from './connection/reply.ts';
import { RedisScript } from './script.ts';

export const commitScript = new RedisScript('commit-8.lua');

/**
 * What became of a change. Expired: it arrived after its caller had given it up. Shapeless: its record has a shape that
 * is not stored beside it. Foreign: the master belongs to another installation.
 */
export type CommitFate = 'committed' | 'conflict' | 'expired' | 'shapeless' | 'foreign';

/** How long everything is kept and how much of it: arguments 12 to 18 of the script. */
export function commitLimits(decisionsHotMs: number): readonly string[] {
  return [
    RETENTION.stateMs,
    RETENTION.decisionMs,
    RETENTION.shapeMs,
    decisionsHotMs,
    -(RETENTION.decisionsPerBucket + 1),
    Math.ceil(RETENTION.journalEntries / PARTITIONS.length),
    RETENTION.notesPerClient,
  ].map(String);
}

/** The shape is believed to be stored where the record goes. */
const BELIEVED = '0';

/** How a change is committed. */
export interface CommitTerms {
  /** It is not applied after this, by the store's clock. */
  readonly validUntilMs: number;
  readonly storesShape: boolean;
  /** As `commitLimits` gives them. */
  readonly limits: readonly string[];
  /** Whose masters are written to. */
  readonly installation: string;
}

/** The keys and arguments of commit-8.lua, which says what each of them is. */
export function commitCall(
  change: Change,
  nextRaw: string,
  { validUntilMs, storesShape, limits, installation }: CommitTerms,
) {
  const { stamp, entry, client, decision, shape } = change;
  const { hash, platform } = client;
  const partition = partitionOf(hash);
  const order = decision === undefined ? '' : orderName(platform, decision.orderRef);
  const record = decision === undefined ? '' : encodeDecision(decision, shape);
  // A decision that does not fit the shape repeats everything, and needs none.
  const shaped = shape !== undefined && record !== '' && !record.startsWith('{') ? shape : null;
  return {
    keys: [
      stateKey(hash),
      journalKey(partition),
      journalLossKey(partition),
      notesKey(hash),
      decision === undefined ? unusedKey(hash) : decisionKey(hash, decision.seq),
      shaped === null ? unusedKey(hash) : shapeKey(partition, shaped.id),
      decision === undefined ? unusedKey(hash) : ordersKey(partition, order),
      installationKey(partition),
    ],
    args: [
      String(validUntilMs),
      stamp.raw ?? '',
      nextRaw,
      entry.kind,
      entry.platform,
      hash,
      journalText(entry),
      record,
      decision === undefined ? '' : orderNote(order, `${hash}.${decision.seq}`),
      String(entry.at),
      shapeArgument(shaped, storesShape),
      ...limits,
      installation,
      ...notesOf(change),
    ],
  };
}

function shapeArgument(shape: RecordShape | null, storesShape: boolean): string {
  if (shape === null) return '';
  return storesShape ? shape.text : BELIEVED;
}

/** Name, text and how long it is kept, of each note. */
function notesOf({ decision, idempotencyKey, displaced, state: { hints } }: Change): readonly string[] {
  const notes: string[] = [];
  const note = (name: string, text: string, keptMs: number) => notes.push(name, text, String(keptMs));
  for (const order of displaced?.orders ?? [])
    note(NOTES.order + order.token, encodeOrder(order), displaced?.keptMs ?? 0);
  if (decision === undefined) return notes;
  if (idempotencyKey !== undefined)
    note(NOTES.answer + nameOf(idempotencyKey), String(decision.seq), RETENTION.idempotencyMs);
  // So that an erasure finds the devices on which a verdict was noted after the state has newer ones.
  for (const { hint } of hints?.shown ?? []) {
    const { kind } = hint;
    if (kind !== 'fingerprint' && kind !== 'ip') continue;
    for (const id of deviceIds(hint)) note(NOTES[kind] + id, '', RETENTION.sightingMs);
  }
  return notes;
}

/** What a device is called, and was called before the secret of the HMACs was changed. */
export function deviceIds({ id, formerId }: Pick<Hint, 'id' | 'formerId'>): readonly string[] {
  return formerId === undefined ? [id] : [id, formerId];
}

export function readCommitReply(reply: unknown): CommitFate {
  switch (reply) {
    case 1:
      return 'committed';
    case 0:
      return 'conflict';
    case -1:
      return 'expired';
    case -2:
      return 'shapeless';
    case -3:
      return 'foreign';
    default:
      throw new BadReply('commit-8.lua', reply);
  }
}
