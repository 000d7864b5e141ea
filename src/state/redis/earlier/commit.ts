import { journalKey, journalLossKey, NOTES, nameOf } from '../../keys.ts';
import { answerOf } from '../../snapshot.ts';
import { type Change, type JournalEntry, RETENTION } from '../../store.ts';
import { deviceIds } from '../client/commit.ts';
import { RedisScript } from '../script.ts';
import {
  answerKey,
  EARLIER_PARTITIONS,
  earlierPartitionOf,
  movedKey,
  noKey,
  orderNumbersKey,
  outcomeKey,
  ownedKey,
  recordKey,
  stateKeyOf,
} from './keys.ts';

export const earlierCommitScript = new RedisScript('earlier/commit-9.lua');

/** What became of a change. Expired: it came too late. Moved: the client is in the layout of today by now. */
export type EarlierFate = 'committed' | 'conflict' | 'expired' | 'moved';

/** Arguments 14 to 19 of the script. */
const LIMITS: readonly string[] = [
  RETENTION.stateMs,
  RETENTION.decisionMs,
  RETENTION.idempotencyMs,
  Math.ceil(RETENTION.journalEntries / EARLIER_PARTITIONS.length),
  RETENTION.decisionsPerOrder,
  RETENTION.notesPerClient,
].map(String);

/** The keys and arguments of earlier/commit-9.lua, which says what each of them is. */
export function earlierCommitCall(change: Change, nextRaw: string, validUntilMs: number) {
  const { stamp, entry } = change;
  const { hash } = change.client;
  const decision = decisionPart(change);
  const outcome = outcomePart(change);
  const answer = answerPart(change);
  return {
    keys: [
      stateKeyOf(hash),
      journalKey(earlierPartitionOf(hash)),
      ownedKey(hash),
      ...decision.keys,
      ...outcome.keys,
      ...answer.keys,
      journalLossKey(earlierPartitionOf(hash)),
      movedKey(earlierPartitionOf(hash)),
    ],
    args: [
      String(validUntilMs),
      stamp.raw ?? '',
      nextRaw,
      entry.kind,
      entry.platform,
      hash,
      earlierText(entry),
      ...decision.args,
      ...outcome.args,
      ...answer.args,
      ...LIMITS,
      ...deviceArgs(change),
    ],
  };
}

/** The devices on which a verdict was noted, so that an erasure finds them after the state has newer ones. */
function deviceArgs({ decision, state: { hints } }: Change): readonly string[] {
  const shown = decision === undefined ? [] : (hints?.shown ?? []);
  const names = shown.flatMap((hint) =>
    hint.kind === 'fingerprint' || hint.kind === 'ip'
      ? deviceIds(hint).map((id) => NOTES[hint.kind === 'ip' ? 'ip' : 'fingerprint'] + id)
      : [],
  );
  return [String(RETENTION.sightingMs), ...names];
}

/** The version before kept the record of a verdict in the journal, too. */
function earlierText(entry: JournalEntry): string {
  return JSON.stringify(entry.kind === 'verdict' ? entry.decision : entry);
}

export function readEarlierReply(reply: unknown): EarlierFate {
  switch (reply) {
    case 1:
      return 'committed';
    case 0:
      return 'conflict';
    case -1:
      return 'expired';
    case -3:
      return 'moved';
    default:
      throw new Error(`earlier/commit-9.lua returned ${String(reply)}`);
  }
}

interface Part {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

function decisionPart({ client: { hash }, decision }: Change): Part {
  if (decision === undefined) return { keys: [noKey(hash), noKey(hash)], args: ['', ''] };
  const order = nameOf(decision.orderRef);
  return {
    keys: [recordKey(hash, decision.seq), orderNumbersKey(hash, order)],
    args: [String(decision.seq), NOTES.order + order],
  };
}

function outcomePart({ client: { hash }, outcome }: Change): Part {
  if (outcome === undefined) return { keys: [noKey(hash)], args: ['', ''] };
  const order = nameOf(outcome.orderRef);
  return { keys: [outcomeKey(hash, order)], args: [JSON.stringify(outcome.order), NOTES.order + order] };
}

function answerPart({ client: { hash }, decision, idempotencyKey }: Change): Part {
  if (decision === undefined || idempotencyKey === undefined) return { keys: [noKey(hash)], args: ['', ''] };
  const name = nameOf(idempotencyKey);
  return { keys: [answerKey(hash, name)], args: [JSON.stringify(answerOf(decision)), NOTES.answer + name] };
}
