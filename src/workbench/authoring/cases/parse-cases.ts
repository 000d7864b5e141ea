import {
  DECIMAL_PATTERN,
  MONEY_PATTERN,
  normalizeMoneyOrNull,
  REQUESTED_CURRENCY_PATTERN,
} from '#decision/payer/amount.ts';
import {
  ATTRIBUTE_CHARACTERS_MAX,
  ATTRIBUTE_NAME_FORM_TEXT,
  ATTRIBUTE_NAME_PATTERN,
  ATTRIBUTES_MAX,
  type AttributeValue,
  isAttributeName,
} from '#decision/payer/attributes.ts';
import {
  isPlatformName,
  PLATFORM_NAME_FORM_TEXT,
  PLATFORM_NAME_PATTERN,
  type PlatformName,
  toPlatformName,
} from '#decision/payer/client-key.ts';
import { OVERRIDE_GROUPS } from '#decision/payer/client-state.ts';
import { toEpochMs } from '#decision/payer/instant.ts';
import { OUTCOME_CAUSES, OUTCOMES } from '#decision/payer/order.ts';
import { explainUndeclaredAttribute } from '#decision/rules/parse/fact-refs.ts';
import {
  choiceForm,
  durationForm,
  type Form,
  mappingForm,
  mappingReadElsewhereForm,
  NAME_SCHEMA,
  namedMembersForm,
  nonEmptyListForm,
  nullAsForm,
  nullableForm,
  numberForm,
  optionalForm,
  parsedTextForm,
  quotedDigitsForm,
  textForm,
  withDefault,
  withMessageName,
  withNode,
  withSchemaAdditions,
  yesNoForm,
} from '#decision/rules/parse/form.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import { YamlFile } from '#decision/rules/parse/yaml-file.ts';
import type { Location, RuleProblem } from '#decision/rules/problem.ts';
import { describeBadListName, isName, type ParsedRules } from '#decision/rules/rule-set.ts';
import {
  findListContentFault,
  InMemorySharedLists,
  LIST_KINDS,
  NO_LISTS,
  parseListValue,
} from '#decision/shared-lists.ts';
import { deriveCasePseudonym } from '#workbench/authoring/case-pseudonym.ts';
import {
  type CaseAction,
  type CaseStep,
  createExpectationForms,
  createExpectationSchema,
  createHoldoutRulesForm,
  type RuleCase,
  readExpectations,
  STEP_KINDS,
} from './expectations.ts';

/** The request of an ordinary payer. A case names only the members that matter to it. */
const PAYER = { sellPointKey: 'shop-1', amountRequested: '25.00', method: 'card', orderRef: 'order-1' };
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** Parses the cases in `cases/*.yaml`, and adds their problems to `problems`. */
export function parseCases(
  rules: ParsedRules,
  files: RuleFiles,
  problems: RuleProblem[],
): readonly RuleCase[] {
  const form = caseFileForm(rules);
  return [...files].flatMap(([path, content]) => {
    if (!path.startsWith('cases/')) return [];
    const file = new YamlFile(path, content, problems);
    return file.root === null ? [] : (form.read(file, file.root, 'the file') ?? []);
  });
}

/**
 * Creates the form of `cases/*.yaml`. If `rules` is null, the form accepts every name of a rule or fact. The editor's
 * schema is made from that form.
 */
export function caseFileForm(rules: ParsedRules | null): Form<readonly RuleCase[]> {
  const first = new Map<string, Location>();
  const ruleCase = mappingForm(
    'A test of the rules.',
    {
      name: textForm('What the case shows.'),
      platform: withDefault(PLATFORM, toPlatformName('demo')),
      startsAt: withDefault(START, Date.UTC(2026, 0, 1)),
      lists: optionalForm(sharedLists(rules)),
      heldOut: withDefault(
        createHoldoutRulesForm(rules, 'The rules that the clients of the case are held out of.'),
        [],
      ),
      steps: withMessageName(
        '"steps"',
        nonEmptyListForm(createStepForm(rules), 'a step', 'What happens, in this sequence.'),
      ),
    },
    ({ lists, ...own }, { file, node }): RuleCase => ({
      ...own,
      lists: lists === undefined ? NO_LISTS : createMembership(lists, own.platform),
      at: file.locate(node),
    }),
    // A report names a case, so two cases may not share a name.
    ({ name }, { file, node }) => {
      if (name === undefined) return false;
      const at = file.locate(node);
      const taken = first.getOrInsert(name, at);
      if (taken === at) return true;
      file.report(node, `the name "${name}" is taken by the case at ${taken.file}:${taken.line}`);
      return false;
    },
  );
  const cases = withMessageName('"cases"', nonEmptyListForm(ruleCase, 'a case', 'The cases.'));
  return mappingForm('Tests beside the rules.', { cases }, (file) => file.cases);
}

const PLATFORM = parsedTextForm(
  { pattern: PLATFORM_NAME_PATTERN, description: 'The platform whose settings apply; demo when left out.' },
  (name) => (isPlatformName(name) ? name : null),
  () => `must have ${PLATFORM_NAME_FORM_TEXT}`,
);

const START = parsedTextForm(
  {
    description:
      'When the case begins, with its offset, like 2026-07-03T23:30:00+02:00; 1 January 2026, 00:00 UTC when left out.',
  },
  toEpochMs,
  (found) => `must be a moment with its offset, like "2026-07-03T23:30:00+02:00", not "${found}"`,
);

const LISTED_ATTRIBUTE = parsedTextForm(
  {
    pattern: ATTRIBUTE_NAME_PATTERN,
    description: 'Only with kind attribute: the attribute whose values are the entries.',
  },
  (name) => (isAttributeName(name) ? name : null),
  (found) => `has ${ATTRIBUTE_NAME_FORM_TEXT}, unlike "${found}"`,
);

/** Creates the form of shared lists, like `lists: { blocked-devices: { kind: fingerprint, entries: [device-1] } }`. */
const sharedLists = (rules: ParsedRules | null) =>
  namedMembersForm(
    'The shared lists while the case runs, by name; others have no entries.',
    NAME_SCHEMA,
    mappingForm(
      'A shared list.',
      {
        kind: choiceForm(LIST_KINDS, 'What the entries are.'),
        attribute: withDefault(LISTED_ATTRIBUTE, null),
        entries: withMessageName(
          '"entries"',
          nonEmptyListForm(
            withNode(textForm('A value, or for ip also a range.')),
            'an entry',
            'Who or what is on the list.',
          ),
        ),
      },
      ({ kind, attribute, entries }, { file }) =>
        entries.flatMap(({ value, node }) => {
          const read = parseListValue(kind, value, deriveCasePseudonym);
          if (read.ok) return [{ kind, attribute, value: read.value, keys: read.keys }];
          file.report(node, read.problem);
          return [];
        }),
      ({ kind, attribute = null }, { file, node, members }) => {
        if (kind === undefined) return true;
        const fault = findListContentFault({ kind, attribute });
        const problem = fault === null ? explainNeverListed(rules, attribute) : `"attribute" ${fault}`;
        if (problem === null) return true;
        file.report(members.get('attribute')?.key ?? node, problem);
        return false;
      },
    ),
    {
      nameItem: () => 'a shared list',
      refuseName: (name) => (isName(name) ? null : describeBadListName(name)),
    },
  );

function explainNeverListed(rules: ParsedRules | null, attribute: string | null): string | null {
  if (rules === null || attribute === null || rules.attributes.has(attribute)) return null;
  return explainUndeclaredAttribute(attribute, rules.attributes, ', so nobody is on the list');
}

type ListEntries = NonNullable<ReturnType<ReturnType<typeof sharedLists>['read']>>;

function createMembership(lists: ListEntries, owner: PlatformName): InMemorySharedLists {
  const membership = new InMemorySharedLists(deriveCasePseudonym);
  for (const [list, entries] of lists) {
    for (const entry of entries) membership.add({ owner, list, expiresAt: null, ...entry });
  }
  return membership;
}

function createStepForm(rules: ParsedRules | null): Form<CaseStep> {
  const expected = createExpectationForms(rules);
  const step = mappingForm(
    'Something that happens, and what is expected of it.',
    {
      after: withDefault(durationForm('Time since the step before.'), 0),
      client: withDefault(textForm('The client who acts; payer-1 when left out.'), 'payer-1'),
      score: optionalForm(SCORE),
      verdict: optionalForm(VERDICT),
      outcome: optionalForm(OUTCOME),
      binding: optionalForm(BINDING),
      override: optionalForm(OVERRIDE),
      times: withDefault(numberForm({ min: 1, max: 1000, integer: true }, 'How often it happens.'), 1),
      every: withDefault(durationForm('Time from one time to the next.'), 0),
      // The allowed members depend on the kind of the step.
      expect: optionalForm(
        mappingReadElsewhereForm('What the answer must be; null: the member must be absent.'),
      ),
    },
    (read, { file, node, members }): CaseStep | null => {
      const action = STEP_KINDS.map((kind) => read[kind]).find((one) => one !== undefined);
      const expect = members.get('expect');
      if (action === undefined) return null;
      return {
        afterMs: read.after,
        clientIdKey: read.client,
        action,
        times: read.times,
        everyMs: read.every,
        expect:
          expect === undefined ? [] : readExpectations(file, action.kind, expect, expected[action.kind]),
        at: file.locate(node),
      };
    },
    (_read, { file, node, members }) => {
      const every = members.get('every');
      if (every !== undefined && !members.has('times')) {
        file.report(every.key, '"every" says nothing without "times"');
      }
      const kinds = STEP_KINDS.filter((kind) => members.has(kind));
      if (kinds.length === 1) return true;
      const found = kinds.length === 0 ? 'none' : kinds.join(' and ');
      file.report(node, `a step has exactly one of ${STEP_KINDS.join(', ')}; here is ${found}`);
      return false;
    },
  );
  return withSchemaAdditions(step, {
    oneOf: STEP_KINDS.map((kind) => ({ required: [kind] })),
    dependencies: { every: ['times'] },
    allOf: STEP_KINDS.map((kind) => ({
      if: { required: [kind] },
      // biome-ignore lint/suspicious/noThenProperty: a JSON Schema names it so.
      then: { properties: { expect: createExpectationSchema(expected[kind]) } },
    })),
  });
}

const sellPointKey = withDefault(textForm('The point of sale.'), PAYER.sellPointKey);
const amountRequested = withDefault(
  quotedDigitsForm(DECIMAL_PATTERN, 'a decimal number in quotes, like "25.00"'),
  PAYER.amountRequested,
);
const method = withDefault(textForm('The payment method.'), PAYER.method);
const orderRef = withDefault(textForm('The order.'), PAYER.orderRef);
const toPayCurrency = optionalForm(
  nullableForm(
    parsedTextForm(
      { pattern: REQUESTED_CURRENCY_PATTERN },
      (currency) => (REQUESTED_CURRENCY.test(currency) ? currency : null),
      (currency) => `must be 3 or 4 letters or digits, like EUR, not "${currency}"`,
    ),
  ),
);
const REQUESTED_CURRENCY = new RegExp(REQUESTED_CURRENCY_PATTERN);
const maybe = optionalForm(nullableForm(textForm('Null: none.')));

/** An attribute's value: a text, a number, or true or false. */
const ATTRIBUTE_VALUE: Form<AttributeValue> = {
  schema: { type: ['string', 'number', 'boolean'], maxLength: ATTRIBUTE_CHARACTERS_MAX },
  read: (file, node, what) => {
    const value = file.toPlainValue(node);
    const isSaid = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    if (isSaid && [...String(value)].length <= ATTRIBUTE_CHARACTERS_MAX) return value;
    const allowed = `a text of at most ${ATTRIBUTE_CHARACTERS_MAX} characters, a number, or true or false`;
    return file.report(node, `${what} must be ${allowed}`);
  },
};

const attributes = optionalForm(
  withSchemaAdditions(
    namedMembersForm(
      'What the caller says of the payer, by name; of any type, as a caller may send it.',
      {},
      ATTRIBUTE_VALUE,
      {
        nameItem: (name) => `attribute "${name}"`,
        refuseName: () => null,
        most: [ATTRIBUTES_MAX, (size) => `a request has at most ${ATTRIBUTES_MAX} attributes, not ${size}`],
      },
    ),
    { maxProperties: ATTRIBUTES_MAX },
  ),
);

const SCORE = requireRequest(
  mappingForm(
    'A score request; {} is that of an ordinary payer.',
    {
      sellPointKey,
      amountRequested,
      selectedMethodKey: method,
      toPayCurrency,
      fingerprint: maybe,
      ip: maybe,
      userAgent: withDefault(nullableForm(textForm('The browser; null: none.')), BROWSER),
      clientHints: optionalForm(
        mappingForm(
          'What the page saw.',
          { jsOk: optionalForm(yesNoForm()), honeypotTriggered: optionalForm(yesNoForm()) },
          removeUndefinedMembers,
        ),
      ),
      attributes,
    },
    ({
      sellPointKey: at,
      amountRequested: amount,
      selectedMethodKey,
      attributes: said,
      ...others
    }): CaseAction => ({
      kind: 'score',
      body: {
        sellPointKey: at,
        amountRequested: amount,
        selectedMethodKey,
        ...removeUndefinedMembers(others),
        ...toAttributes(said),
      },
    }),
  ),
);

const VERDICT = requireRequest(
  mappingForm(
    'A verdict request; {} is that of an ordinary payer.',
    { sellPointKey, amountRequested, method, orderRef, toPayCurrency, attributes },
    ({ toPayCurrency: currency, attributes: said, ...body }): CaseAction => ({
      kind: 'verdict',
      body: { ...body, ...removeUndefinedMembers({ toPayCurrency: currency }), ...toAttributes(said) },
    }),
  ),
);

const OUTCOME = mappingForm(
  'The platform reports the result of an order.',
  {
    orderRef,
    outcome: choiceForm(OUTCOMES, 'The final result of the order.'),
    cause: optionalForm(choiceForm(OUTCOME_CAUSES, 'Why; TECHNICAL counts neither way.')),
    ago: withDefault(
      nullableForm(durationForm('How long before its report it happened; null: the report has no moment.')),
      0,
    ),
    amount: optionalForm(
      parsedTextForm(
        { pattern: MONEY_PATTERN },
        normalizeMoneyOrNull,
        (money) => `must be an amount and a currency, like "25.00 EUR", not "${money}"`,
      ),
    ),
  },
  ({ cause = null, ago: agoMs, amount, ...report }, { file, members }): CaseAction | null => {
    const mayHaveAmount = report.outcome === 'PAID' || cause === 'REVERSED';
    const stray = amount === undefined || mayHaveAmount ? undefined : members.get('amount');
    if (stray !== undefined) {
      file.report(stray.key, '"amount" goes only with PAID and REVERSED');
      return null;
    }
    return { kind: 'outcome', ...report, cause, agoMs: agoMs ?? null, money: amount ?? null };
  },
);

const BINDING = nullAsForm<CaseAction>(
  { kind: 'binding', binding: null },
  mappingForm(
    'The platform binds the client; null unbinds.',
    {
      requisiteRef: textForm('The bound requisite.'),
      acceptorKeys: nonEmptyListForm(textForm('An acceptor.'), 'an acceptor key', 'The acceptors.'),
      method: maybe,
      expiresAfter: optionalForm(durationForm()),
    },
    ({ method: bound = null, expiresAfter: expiresAfterMs = null, ...binding }): CaseAction => ({
      kind: 'binding',
      binding: { ...binding, method: bound, expiresAfterMs },
    }),
  ),
);

const OVERRIDE_GROUP = choiceForm(OVERRIDE_GROUPS, 'The group that a person sets.');

const OVERRIDE_WITH_END = mappingForm(
  'With an end.',
  { group: OVERRIDE_GROUP, expiresAfter: optionalForm(durationForm()) },
  ({ group, expiresAfter: expiresAfterMs = null }) => ({ group, expiresAfterMs }),
);

/** Reads `override: BLOCKED`, or `{ group, expiresAfter }`. `override: null` lifts the override. */
const OVERRIDE: Form<CaseAction> = {
  schema: {
    description: "A person's decision about the client; null lifts it.",
    anyOf: [{ type: 'null' }, OVERRIDE_GROUP.schema, OVERRIDE_WITH_END.schema],
  },
  read: (file, node, what) => {
    if (file.isNull(node)) return { kind: 'override', override: null };
    if (file.isMapping(node)) {
      const override = OVERRIDE_WITH_END.read(file, node, what);
      return override === null ? null : { kind: 'override', override };
    }
    const group = OVERRIDE_GROUP.read(file, node, what);
    return group === null ? null : { kind: 'override', override: { group, expiresAfterMs: null } };
  },
};

function requireRequest(form: Form<CaseAction>): Form<CaseAction> {
  return {
    ...form,
    read: (file, node, what) =>
      file.isNull(node)
        ? file.report(node, `${what} has no request; {} is the one of an ordinary payer`)
        : form.read(file, node, what),
  };
}

function toAttributes(said: ReadonlyMap<string, AttributeValue> | undefined) {
  return said === undefined ? {} : { attributes: Object.fromEntries(said) };
}

/** Removes the members whose value is undefined. */
function removeUndefinedMembers<Members extends object>(
  members: Members,
): { readonly [Name in keyof Members]?: Exclude<Members[Name], undefined> };
function removeUndefinedMembers(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
