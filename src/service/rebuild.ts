import { hash } from 'node:crypto';
import type { Audit } from '../access/audit.ts';
import type { DecisionLookup } from '../archive/read/decision-lookup.ts';
import type { ClientKey } from '../client/client-key.ts';
import type { ClientState } from '../client/client-state.ts';
import { encodeClientState } from '../client/state-document.ts';
import type { Store } from '../state/store.ts';
import { rebuiltState } from './rebuilt-state.ts';
import { whyUnreadable } from './unreadable.ts';

/** A client whose state was made anew. */
export interface RebuiltClient {
  /** Why the state before could not be read. */
  readonly why: string;
  readonly state: ClientState;
  /** Entries that it was made from; without any the client starts again. */
  readonly entries: number;
  /** Time of the oldest of them, epoch ms; null without any. */
  readonly since: number | null;
  /** They begin with the first contact. */
  readonly complete: boolean;
}

export interface RebuildParts {
  readonly store: Store;
  readonly decisions: DecisionLookup;
  readonly audit: Audit;
}

/** Entries of one client that a state is rebuilt from: years of an ordinary payer. */
const ENTRIES_MAX = 10_000;

/**
 * Puts what was recorded of a client in the place of a state that cannot be read; one entry of the audit. Null when there
 * is no state, or it can be read, or it changed meanwhile.
 */
export async function rebuildClient(
  { store, decisions, audit }: RebuildParts,
  client: ClientKey,
  who: string,
  reason: string,
): Promise<RebuiltClient | null> {
  const place = { kind: 'client', name: client.hash } as const;
  const found = await store.texts.read(place);
  const why = found === null ? null : whyUnreadable({ ...place, text: found.text });
  if (found === null || why === null) return null;
  const { entries, complete } = await decisions.history(client, ENTRIES_MAX);
  const told = rebuiltState(entries.toReversed());
  // A number that was given once names a decision for good.
  const seq = Math.max(told.seq, await store.texts.newestDecision(client.hash));
  const state = { ...told, seq };
  const next = encodeClientState(state);
  if (!(await store.texts.replace(place, found.stamp, next))) return null;
  await audit.note(
    {
      who,
      action: 'client rebuilt',
      platform: client.platform,
      subject: client.clientIdKey,
      before: digestOf(found.text),
      after: digestOf(next),
      reason,
    },
    client,
  );
  return { why, state, entries: entries.length, since: entries.at(-1)?.at ?? null, complete };
}

/** What the audit tells of a text: which one it was, and nothing that is in it. */
function digestOf(text: string) {
  return { sha256: hash('sha256', text), bytes: Buffer.byteLength(text) };
}
