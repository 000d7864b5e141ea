import { CURRENCY_PATTERN, DECIMAL_PATTERN, REQUESTED_CURRENCY_PATTERN } from '../../client/amount.ts';
import { PLATFORM_NAME_PATTERN } from '../../client/client-key.ts';
import { CLIENT_GROUPS, OVERRIDE_GROUPS } from '../../client/client-state.ts';
import { OUTCOME_CAUSES, OUTCOMES } from '../../client/order.ts';
import { LIST_KINDS } from '../../decision/shared-lists.ts';
import { DURATION } from '../../rules/duration.ts';
import { NAME_CHARACTERS_MAX, NAME_PATTERN, VERDICTS } from '../../rules/rule-set.ts';
import { STEP_KINDS, type StepKind } from '../cases/expectations.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

export const DURATION_TEXT = {
  type: 'string',
  pattern: DURATION.source,
  description: 'A whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d.',
} as const;

export const CURRENCY_TEXT = { type: 'string', pattern: CURRENCY_PATTERN } as const;

export const LIST_NAME = { type: 'string', pattern: NAME_PATTERN, maxLength: NAME_CHARACTERS_MAX } as const;

export const RULE_NAME = { ...LIST_NAME, not: { const: 'otherwise' } } as const;

/** A text that is not blank. */
export function text(description: string): JsonSchema {
  return { type: 'string', pattern: '\\S', description };
}

export function choice(values: readonly string[], description: string): JsonSchema {
  return { type: 'string', enum: values, description };
}

export function listOf(items: JsonSchema, description: string): JsonSchema {
  return { type: 'array', items, minItems: 1, description };
}

/** A mapping with these members and no others. */
export function mappingOf(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  description: string,
): JsonSchema {
  return {
    type: 'object',
    description,
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

/** The schema of `cases/*.yaml`. */
export function caseFileSchema(): JsonSchema {
  const step = mappingOf(
    {
      after: { ...DURATION_TEXT, description: 'Time since the step before.' },
      client: text('Who acts; payer-1 when left out.'),
      ...ACTIONS,
      times: { type: 'integer', minimum: 1, maximum: 1000, description: 'How often it happens.' },
      every: { ...DURATION_TEXT, description: 'Time from one time to the next.' },
      expect: { type: 'object', description: 'What the answer must be; null: the member must be absent.' },
    },
    [],
    'Something that happens, and what is expected of it.',
  );
  const kinds = STEP_KINDS.map((kind) => ({ required: [kind] }));
  const steps = listOf(
    { ...step, oneOf: kinds, dependencies: { every: ['times'] }, allOf: STEP_KINDS.map(expectationsOf) },
    'What happens, in order.',
  );
  const ruleCase = mappingOf(
    {
      name: text('What the case shows.'),
      platform: {
        type: 'string',
        pattern: PLATFORM_NAME_PATTERN,
        description: 'Whose settings hold; demo when left out.',
      },
      startsAt: {
        type: 'string',
        description:
          'When it begins, with its offset, like 2026-07-03T23:30:00+02:00; 1 January 2026, 00:00 UTC when left out.',
      },
      lists: SHARED_LISTS,
      heldOut: { ...HELD_OUT, description: 'The rules that the clients of the case are held out of.' },
      steps,
    },
    ['name', 'steps'],
    'A test of the rules.',
  );
  return mappingOf({ cases: listOf(ruleCase, 'The cases.') }, ['cases'], 'Tests beside the rules.');
}

const SHARED_LISTS: JsonSchema = {
  type: 'object',
  description: 'The shared lists while the case runs, by name; others have no entries.',
  propertyNames: LIST_NAME,
  additionalProperties: mappingOf(
    {
      kind: choice(LIST_KINDS, 'What the entries are.'),
      entries: listOf(text('A value, or for ip also a range.'), 'Who or what is on the list.'),
    },
    ['kind', 'entries'],
    'A shared list.',
  ),
};

const optionalText = { type: ['string', 'null'], pattern: '\\S' };
const currency = { type: ['string', 'null'], pattern: REQUESTED_CURRENCY_PATTERN };
const amount = { type: 'string', pattern: DECIMAL_PATTERN };
const overrideGroup = choice(OVERRIDE_GROUPS, 'The group that a person sets.');

const ACTIONS: Readonly<Record<StepKind, JsonSchema>> = {
  score: mappingOf(
    {
      sellPointKey: text('The point of sale.'),
      amountRequested: amount,
      selectedMethodKey: text('The payment method.'),
      toPayCurrency: currency,
      fingerprint: optionalText,
      ip: optionalText,
      userAgent: optionalText,
      clientHints: mappingOf(
        { jsOk: { type: 'boolean' }, honeypotTriggered: { type: 'boolean' } },
        [],
        'What the page saw.',
      ),
    },
    [],
    'A score request; {} is that of an ordinary payer.',
  ),
  verdict: mappingOf(
    {
      sellPointKey: text('The point of sale.'),
      amountRequested: amount,
      method: text('The payment method.'),
      orderRef: text('The order.'),
      toPayCurrency: currency,
    },
    [],
    'A verdict request; {} is that of an ordinary payer.',
  ),
  outcome: mappingOf(
    {
      orderRef: text('The order.'),
      outcome: choice(OUTCOMES, 'The final result of the order.'),
      cause: choice(OUTCOME_CAUSES, 'Why; TECHNICAL counts neither way.'),
      ago: { ...DURATION_TEXT, description: 'How long before its report the order became final.' },
    },
    ['outcome'],
    'The platform reports the result of an order.',
  ),
  binding: {
    ...mappingOf(
      {
        requisiteRef: text('The bound requisite.'),
        acceptorKeys: listOf(text('An acceptor.'), 'The acceptors.'),
        method: optionalText,
        expiresAfter: DURATION_TEXT,
      },
      ['requisiteRef', 'acceptorKeys'],
      'The platform binds the client; null unbinds.',
    ),
    type: ['object', 'null'],
  },
  override: {
    description: "A person's decision about the client; null lifts it.",
    anyOf: [
      { type: 'null' },
      overrideGroup,
      mappingOf({ group: overrideGroup, expiresAfter: DURATION_TEXT }, ['group'], 'With an end.'),
    ],
  },
};

const HELD_OUT = {
  type: 'array',
  items: { type: 'string', pattern: '^(groups|bot-signals|verdicts)/[a-z][a-z0-9-]*$' },
};

const PAYER_EXPECTATIONS = {
  clientGroup: choice(CLIENT_GROUPS, 'The client group.'),
  paymentScore: { type: 'string', pattern: '^[01]\\.\\d{4}$' },
  isBot: { type: 'boolean' },
  signals: { type: 'array', items: { type: 'string' }, description: 'Names of the signals that match.' },
};
const texts = { type: ['array', 'null'], items: { type: 'string' } };

const EXPECTATIONS: Readonly<Record<StepKind, Readonly<Record<string, JsonSchema>>>> = {
  score: { ...PAYER_EXPECTATIONS, preferredAcceptorKey: texts, payLimitValue: texts },
  verdict: {
    ...PAYER_EXPECTATIONS,
    verdict: choice(VERDICTS, 'The command to the caller.'),
    waitSeconds: { type: ['integer', 'null'], minimum: 1 },
    ladder: optionalText,
    heldOut: { ...HELD_OUT, description: 'The rules that matched and were skipped.' },
    stickyRequisiteRef: optionalText,
    rule: text('Name of the rule that decides, or otherwise.'),
    reason: text('What the caller reads.'),
    ruleVersion: text('The version that decides.'),
  },
  outcome: { effect: choice(['recorded', 'superseded', 'unchanged', 'stale'], 'What the report did.') },
  binding: {},
  override: {},
};

/** What a step may expect depends on what it does. */
function expectationsOf(kind: StepKind): JsonSchema {
  const members = EXPECTATIONS[kind];
  const expect = Object.keys(members).length === 0 ? false : mappingOf(members, [], 'What must be answered.');
  // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
  return { if: { required: [kind] }, then: { properties: { expect } } };
}
