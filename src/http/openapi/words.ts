import { Type } from 'typebox';
import type { ClientGroup } from '../../client/client-group.ts';
import type { OverrideGroup } from '../../client/client-state.ts';
import type { Outcome, OutcomeCause } from '../../client/order.ts';
import type { FactValue } from '../../facts/fact.ts';
import { RULE_VERSION_PATTERN, type Verdict } from '../../rules/rule-set.ts';
import { choice, meaning, shape, word, yesNo } from '../../shapes.ts';

/** The words that the shapes of answers are written in. */

export const ruleVersion = Type.String({
  pattern: RULE_VERSION_PATTERN,
  description: 'Version of the rule set, like p2.v10',
});

export const clientGroup = meaning<ClientGroup>(
  {
    NEW: 'first contact',
    STICKY: 'bound to a requisite',
    PAYING: 'has paid without a binding',
    TRUSTED: 'stable history of payments',
    BLOCKED: 'blocked by decision or by a chain of unpaid attempts',
  },
  "The payer's segment",
);

const VERDICT_MEANINGS = {
  GET_NEW: 'issue a new requisite',
  GET_SAME_STICKY: 'show the bound requisite',
  WAIT: 'show a timer for waitSeconds, then ask again',
  BLOCK: 'do not issue a requisite, show support contact',
} as const satisfies Record<Verdict, string>;

export const verdict = meaning<Verdict>(VERDICT_MEANINGS, 'What the caller is to do');
/** The word of one verdict. */
export const verdictWord = <const V extends Verdict>(name: V) => choice([name], VERDICT_MEANINGS[name]);
export const overrideGroup = meaning<OverrideGroup>(
  { BLOCKED: 'refused until it is lifted or ends', TRUSTED: 'let through, whatever the signals say' },
  'The group that the client is put into',
);
export const outcome = meaning<Outcome>(
  { PAID: 'the money arrived', UNPAID: 'it did not, or was taken back' },
  'The final result of the order',
);
export const outcomeCause = meaning<OutcomeCause>(
  {
    DECLINED: 'the payment was refused',
    EXPIRED: 'the payer let the time run out',
    CANCELLED: 'the payer gave up',
    TECHNICAL: 'nobody can tell, and it counts neither way',
    REVERSED: 'it was paid and taken back',
  },
  'Why it is unpaid',
);
export const isBot = yesNo('Bot flag');
export const factValue = Type.Unsafe<FactValue>({
  type: ['number', 'boolean', 'string'],
  description: 'What a fact of the catalogue was',
});
export const location = shape('A place in a rule file', {
  file: word('Like verdicts.yaml'),
  line: Type.Integer({ minimum: 1, description: 'From 1' }),
  column: Type.Integer({ minimum: 1, description: 'From 1' }),
});
