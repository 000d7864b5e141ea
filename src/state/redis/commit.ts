import { journalText } from '../journal-text.ts';
import {
  answerKey,
  decisionKey,
  journalKey,
  journalLossKey,
  nameOf,
  OWNED,
  orderDecisionsKey,
  outcomeKey,
  ownedKey,
  PARTITIONS,
  partitionOf,
  stateKey,
  unusedKey,
} from '../keys.ts';
import { type Change, RETENTION } from '../store.ts';
import { RedisScript } from './script.ts';

export const commitScript = new RedisScript('commit-8.lua');

/** What became of a change. Expired: it arrived after its caller had given it up. */
export type CommitFate = 'committed' | 'conflict' | 'expired';

/** Arguments 14 to 19 of the script. */
const LIMITS: readonly string[] = [
  RETENTION.stateMs,
  RETENTION.decisionMs,
  RETENTION.idempotencyMs,
  Math.ceil(RETENTION.journalEntries / PARTITIONS.length),
  RETENTION.decisionsPerOrder,
  RETENTION.ordersPerClient,
].map(String);

/** The keys and arguments of commit-8.lua, which says what each of them is. */
export function commitCall(change: Change, nextRaw: string, validUntilMs: number) {
  const { stamp, entry } = change;
  const { hash } = change.client;
  const decision = decisionPart(change);
  const outcome = outcomePart(change);
  const answer = answerPart(change);
  return {
    keys: [
      stateKey(hash),
      journalKey(partitionOf(hash)),
      ownedKey(hash),
      ...decision.keys,
      ...outcome.keys,
      ...answer.keys,
      journalLossKey(partitionOf(hash)),
    ],
    args: [
      String(validUntilMs),
      stamp.raw ?? '',
      nextRaw,
      entry.kind,
      entry.platform,
      hash,
      journalText(entry),
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
  const names = shown.flatMap(({ kind, id, formerId }) =>
    kind === 'fingerprint' || kind === 'ip' ? idsOf(id, formerId).map((name) => OWNED[kind] + name) : [],
  );
  return [String(RETENTION.sightingMs), ...names];
}

function idsOf(id: string, formerId: string | undefined): readonly string[] {
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
    default:
      throw new Error(`commit-8.lua returned ${String(reply)}`);
  }
}

interface Part {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

function decisionPart({ client: { hash }, decision }: Change): Part {
  if (decision === undefined) return { keys: [unusedKey(hash), unusedKey(hash)], args: ['', ''] };
  const order = nameOf(decision.orderRef);
  return {
    keys: [decisionKey(hash, decision.seq), orderDecisionsKey(hash, order)],
    args: [String(decision.seq), OWNED.order + order],
  };
}

function outcomePart({ client: { hash }, outcome }: Change): Part {
  if (outcome === undefined) return { keys: [unusedKey(hash)], args: ['', ''] };
  const order = nameOf(outcome.orderRef);
  return { keys: [outcomeKey(hash, order)], args: [JSON.stringify(outcome.order), OWNED.order + order] };
}

function answerPart({ client: { hash }, answer }: Change): Part {
  if (answer === undefined) return { keys: [unusedKey(hash)], args: ['', ''] };
  const name = nameOf(answer.idempotencyKey);
  return { keys: [answerKey(hash, name)], args: [JSON.stringify(answer.stored), OWNED.answer + name] };
}
