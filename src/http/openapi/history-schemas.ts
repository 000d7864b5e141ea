import { type TSchema, Type } from 'typebox';
import { OUTCOME_CAUSES, OUTCOMES } from '../../client/outcomes.ts';
import { choice } from '../request/schemas.ts';
import { BindingSchema, DecisionSchema, OverrideSchema, ScoreAnswerSchema } from './schemas.ts';
import { epochMs, list, nullable, ref, ruleVersion, shape, word, yesNo } from './words.ts';

/** The shapes of a client's history. Tests hold them equal to the types of the code and to live answers. */

const kind = <const Name extends string>(name: Name) => choice([name] as const, `Always "${name}"`);
const at = epochMs('When it was accepted');

const ScoredRequestSchema = shape('What the caller asked with', {
  sellPointKey: word('Point of sale'),
  method: word('The selectedMethodKey'),
  amount: word('The amountRequested'),
  currency: nullable(word("The toPayCurrency; null: the platform's")),
  jsOk: nullable(yesNo('The page executed JavaScript; null when the caller did not say')),
  honeypotTriggered: yesNo('A trap field was filled in'),
  fingerprintPresent: yesNo('A fingerprint came with it'),
  ipPresent: yesNo('An IP came with it'),
  userAgentPresent: yesNo('A User-Agent came with it'),
  userAgentIsAutomated: yesNo('The User-Agent is that of a program'),
});

/** One thing that happened to a client, told apart by `kind`. */
export const HistoryEntrySchema = Type.Union(
  [
    shape('A score was asked', {
      kind: kind('score'),
      at,
      request: ScoredRequestSchema,
      ruleVersion,
      answer: ref('ScoreAnswer', ScoreAnswerSchema),
    }),
    shape('A verdict was asked', {
      kind: kind('verdict'),
      at,
      decision: ref('Decision', DecisionSchema),
    }),
    shape('An outcome was reported, and counted or corrected', {
      kind: kind('outcome'),
      at,
      orderRef: word("The caller's order"),
      outcome: choice(OUTCOMES, 'The final result of the order'),
      cause: nullable(choice(OUTCOME_CAUSES, 'Why; TECHNICAL counts neither way')),
      occurredAt: epochMs('When the order became final, as reported'),
    }),
    shape('A binding was set or lifted', {
      kind: kind('binding'),
      at,
      binding: nullable(ref('Binding', BindingSchema)),
    }),
    shape('An override was set or lifted', {
      kind: kind('override'),
      at,
      override: nullable(ref('Override', OverrideSchema)),
    }),
  ],
  { description: 'One thing that happened to a client; `kind` says which members it has' },
);

export const ClientHistorySchema = shape('What happened to a client', {
  clientIdKey: word('As the caller chose it'),
  entries: list(ref('HistoryEntry', HistoryEntrySchema), 'Newest first, at most `limit`'),
  complete: yesNo('False: older entries exist, or existed and are not kept any more'),
});

/** The names under which the document keeps these schemas. */
export type HistorySchemaName = 'ClientHistory' | 'HistoryEntry';

export const HISTORY_SCHEMAS: Readonly<Record<HistorySchemaName, TSchema>> = {
  ClientHistory: ClientHistorySchema,
  HistoryEntry: HistoryEntrySchema,
};
