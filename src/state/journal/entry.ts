import { tenant } from '../../client/client-key.ts';
import { BindingSchema, OverrideSchema } from '../../client/client-state.ts';
import { type Exposure, exposureOf, OrderOutcomeSchema, turnedAway } from '../../client/order.ts';
import { DecisionSchema, ScoreAnswerSchema } from '../../decision/decision.ts';
import { ScoreRequestSchema } from '../../decision/requests.ts';
import { Type } from '../../json-schema.ts';
import { ruleVersion } from '../../rules/rule-set.ts';
import { always, count, epochMs, nullable, type Shape, shape, word } from '../../shapes.ts';

const platform = tenant('The tenant');
const clientIdKey = word("The caller's identifier of the payer");
const orderRef = word("The caller's order");

export const ScoreEntrySchema = shape('One answered score request', {
  kind: always('score'),
  at: epochMs('When it was answered'),
  platform,
  clientIdKey,
  request: ScoreRequestSchema,
  ruleVersion,
  answer: ScoreAnswerSchema,
});

export const VerdictEntrySchema = shape('One answered verdict request', {
  kind: always('verdict'),
  at: epochMs('When it was decided'),
  platform,
  clientIdKey,
  decision: DecisionSchema,
});

export const OutcomeEntrySchema = shape('What became of an order, as it was reported', {
  kind: always('outcome'),
  at: epochMs('When it was accepted'),
  platform,
  clientIdKey,
  orderRef,
  /** The outcome that holds from now on. */
  order: OrderOutcomeSchema,
  /** What was reported, where that is not what holds: a repeat of another time, or news of the past. */
  report: Type.Optional(OrderOutcomeSchema),
  amount: Type.Optional(
    word('What was asked for the order, like "25.5 EUR"; absent when that was not known'),
  ),
  turnedAway: Type.Optional(turnedAway),
});

export const BindingEntrySchema = shape('A client was bound to a requisite, or unbound', {
  kind: always('binding'),
  at: epochMs('When it was accepted'),
  platform,
  clientIdKey,
  binding: nullable(BindingSchema),
});

export const OverrideEntrySchema = shape('A person decided about a client, or lifted that', {
  kind: always('override'),
  at: epochMs('When it was accepted'),
  platform,
  clientIdKey,
  override: nullable(OverrideSchema),
  who: word('The key that it was done with, as the audit names it'),
});

/**
 * Where an entry stands in the journal. All entries of a client are in one partition, in the order of `ms` and then of
 * `seq`; between partitions there is no order but that of the servers' clocks.
 */
export const EntryPlaceSchema = shape('Where an entry stands in the journal', {
  partition: count('The part of the journal that the entry stood in, from 0; always the same for a client'),
  ms: count("The journal's own clock when it took the entry, epoch ms; 0 with SQLite"),
  seq: count('Number of the entry, within journal_ms where that is not 0'),
});

export type EntryPlace = Shape<typeof EntryPlaceSchema>;

export type ScoreEntry = Shape<typeof ScoreEntrySchema>;
export type OutcomeEntry = Shape<typeof OutcomeEntrySchema>;
export type OverrideEntry = Shape<typeof OverrideEntrySchema>;

/** How far an order had come when a report of it was accepted, as far as that makes a difference. */
export function recordedExposure(turnedAway: OutcomeEntry['turnedAway']): Exposure {
  return exposureOf(turnedAway !== true);
}

/** One accepted input, with what was decided. */
export type JournalEntry =
  | ScoreEntry
  | Shape<typeof VerdictEntrySchema>
  | OutcomeEntry
  | Shape<typeof BindingEntrySchema>
  | Shape<typeof OverrideEntrySchema>;

export const ErasureEntrySchema = shape(
  'A client was erased: whoever keeps journal entries elsewhere removes those about it, too',
  {
    kind: always('erasure'),
    at: epochMs('When the platform asked for it'),
    platform,
    clientNumber: word('`clientNumber` of its hash'),
  },
);

export type ErasureEntry = Shape<typeof ErasureEntrySchema>;

/** What the journal tells in its order. */
export type JournalRecord = JournalEntry | ErasureEntry;

export type Placed<Entry extends JournalRecord> = Entry & { readonly place: EntryPlace };

/** Orders the entries of a client, the newest first. A store that was put back counts its places from there again. */
export function newestEntryFirst(a: Placed<JournalEntry>, b: Placed<JournalEntry>): number {
  return b.at - a.at || b.place.ms - a.place.ms || b.place.seq - a.place.seq;
}
