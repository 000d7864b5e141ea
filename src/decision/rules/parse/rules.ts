import type { Node } from 'yaml';
import { CLIENT_GROUPS, VERDICTS } from '#decision/decision-words.ts';
import { type Condition, foldCondition } from '#decision/rules/condition.ts';
import { moveNegations, type NegationCache } from '#decision/rules/negation.ts';
import {
  ANSWER_PLACEHOLDERS,
  EXEMPTION_NAME,
  type FlagParams,
  type GroupParams,
  isName,
  type ParsedRules,
  type ReasonPart,
  type Rule,
  type SignalExemption,
  type SignalParams,
  sumSignalWeights,
  type Verdict,
  type VerdictParams,
} from '#decision/rules/rule-set.ts';
import { ConditionReader, type FactsListsAndLadders, type RuleType } from './condition-reader.ts';
import { type FactRefs, findPlaceholderFactOrFault } from './fact-refs.ts';
import {
  CONSTANT_DESCRIPTIONS,
  choiceForm,
  type Form,
  type MappingPlace,
  mappingForm,
  NAME_SCHEMA,
  nonEmptyListForm,
  numberForm,
  optionalForm,
  textForm,
  withCheck,
  withDefault,
  withMessageName,
  withSchemaAdditions,
} from './form.ts';
import { PAYER_TEXT_WAIT_PLACEHOLDER, PayerTextParser } from './payer-text.ts';
import { checkMaxAmountHasHoldout, HOLDOUT_MEMBER_FORMS } from './rule-ladders.ts';
import type { YamlFile } from './yaml-file.ts';

/** The most rules in one file of a rule set. */
export const RULES_PER_FILE_MAX = 500;
export const PRIORITY_MAX = 1_000_000;
export const WEIGHT_RANGE = { min: 0.01, max: 1000 } as const;

/** The form of `groups.yaml`. */
export function groupsFileForm(names: FactsListsAndLadders): Form<ParsedRules['groups']> {
  const group = choiceForm(CLIENT_GROUPS, 'The client group (interface, section 2.2).');
  const params = mappingForm(CONCLUSION_TEXT, { group }, (written): GroupParams => written);
  const otherwise = withSchemaAdditions(group, { description: 'The group when no rule matches.' });
  return createRuleFileForm(names, 'groups', (reader) =>
    mappingForm(
      'The client group: the first match by priority, highest first.',
      {
        conditions: optionalForm(createConditionsForm(reader)),
        rules: createRulesForm(reader, { prioritised: true, eventType: 'group', params }),
        otherwise: withMessageName('group', otherwise),
      },
      (file) => ({ rules: sortByPriority(file.rules), otherwise: file.otherwise }),
    ),
  );
}

/**
 * A name that the author chooses, like the name of a rule. Messages call the name `what`, and give `like` as an
 * example.
 */
function createNameForm(what: string, description: string, like: string): Form<string> {
  return withCheck(withSchemaAdditions(textForm(description), NAME_SCHEMA), (name, file, node) => {
    if (isName(name)) return name;
    return file.report(
      node,
      `${what} must be lower-case words joined by "-", at most 64 characters, like ${like}, not "${name}"`,
    );
  });
}

const ABOUT_FORM = createNameForm('about', CONSTANT_DESCRIPTIONS.about, 'device');

const CONCLUSION_TEXT = 'What the rule concludes.';

/** The form of `bot-signals.yaml`. */
export function signalsFileForm(names: FactsListsAndLadders): Form<ParsedRules['signals']> {
  const weight = numberForm(WEIGHT_RANGE, CONSTANT_DESCRIPTIONS.weight);
  const params = mappingForm(
    CONCLUSION_TEXT,
    { weight, about: optionalForm(ABOUT_FORM) },
    ({ weight, about }): SignalParams => (about === undefined ? { weight } : { weight, about }),
  );
  return createRuleFileForm(names, 'bot-signals', (reader) =>
    mappingForm(
      'Bot signals: the weights of all that match are added.',
      {
        conditions: optionalForm(createConditionsForm(reader)),
        exempt: withDefault(createExemptionForm(reader), null),
        rules: createRulesForm(reader, {
          prioritised: false,
          eventType: 'signal',
          params,
          onRule: refuseExemptName,
        }),
        threshold: numberForm(WEIGHT_RANGE, CONSTANT_DESCRIPTIONS.threshold),
      },
      ({ rules, threshold, exempt }, { file, members }) => {
        const reachable = sumSignalWeights(rules.map(({ params }) => params));
        if (reachable >= threshold) return { rules, threshold, exempt };
        return file.report(
          members.get('threshold')?.value ?? null,
          `all signals together weigh ${reachable}, so the threshold of ${threshold} is never reached`,
        );
      },
    ),
  );
}

const FLAG = createNameForm('flag', CONSTANT_DESCRIPTIONS.flag, 'large-first-order');

/** The form of `flags.yaml`. */
export function flagsFileForm(names: FactsListsAndLadders): Form<ParsedRules['flags']> {
  const params = mappingForm(CONCLUSION_TEXT, { flag: FLAG }, (written): FlagParams => written);
  return createRuleFileForm(names, 'flags', (reader) =>
    mappingForm(
      'Flags: the flag of every rule that matches is recorded beside the verdict and does not change it.',
      {
        conditions: optionalForm(createConditionsForm(reader)),
        rules: createRulesForm(reader, { prioritised: false, mayHoldOut: false, eventType: 'flag', params }),
      },
      ({ rules }) => ({ rules }),
    ),
  );
}

/**
 * The form of the conditions under which no signal counts for a payer. They become a rule without an effect of its
 * own.
 */
function createExemptionForm(reader: ConditionReader | null): Form<SignalExemption> {
  return {
    schema: { allOf: [CONDITIONS_SCHEMA_REF], description: CONSTANT_DESCRIPTIONS.exempt },
    read: (file, node) => {
      const written = reader?.readRuleConditions(node, EXEMPTION_NAME) ?? null;
      if (written === null) return null;
      const condition = moveNegations(written);
      const description = 'No signal counts for payers who meet these conditions.';
      return {
        name: EXEMPTION_NAME,
        description,
        priority: 1,
        condition,
        written,
        params: {},
        at: file.locate(node),
      };
    },
  };
}

function refuseExemptName({ name }: SoundParts<SignalParams>, { file, members }: MappingPlace): void {
  if (name !== EXEMPTION_NAME) return;
  file.report(
    members.get('name')?.value ?? null,
    `"${EXEMPTION_NAME}" is reserved for the conditions under which no signal applies; give the signal another name`,
  );
}

const FOUR_VERDICTS = choiceForm(VERDICTS, 'The command to the caller (interface, section 4.2).');

/** Answers of other products between "allow" and "refuse". */
const MIDDLE_ANSWER = /^(review|manual.?review|flag|hint|challenge|monitor|alert)$/i;

const VERDICT: Form<Verdict> = {
  schema: FOUR_VERDICTS.schema,
  read: (file, node, what) => {
    const written = file.toPlainValue(node);
    if (typeof written !== 'string' || !MIDDLE_ANSWER.test(written))
      return FOUR_VERDICTS.read(file, node, what);
    return file.report(
      node,
      `"${written}" is not a verdict; callers know ${VERDICTS.join(', ')}; to let a payer through and tell people, write the rule in flags.yaml`,
    );
  },
};

/**
 * The form of `verdicts.yaml`. No text for the payer may contain the name of one of its rules, or a name of
 * `otherRules`.
 */
export function verdictsFileForm(
  names: FactsListsAndLadders,
  otherRules: readonly string[],
): Form<ParsedRules['verdicts']> {
  const payerTexts = new PayerTextParser();
  const rulesHere: string[] = [];
  const params = (description: string, mayBeSticky: boolean) =>
    mappingForm(
      description,
      {
        verdict: VERDICT,
        ladder: optionalForm(names.ladders.nameForm),
        reason: withCheck(
          textForm('What the caller reads. Facts in braces are filled in: {paidCount}, {verdicts(10m)}.'),
          (reason, file, node) => readReason(file, node, reason, names.refs),
        ),
        payerText: optionalForm(payerTexts.form),
      },
      ({ ladder = null, payerText = null, ...written }): VerdictParams => ({ ...written, ladder, payerText }),
      ({ verdict, payerText }, { file, node, members }) => {
        if (verdict === 'GET_SAME_STICKY' && !mayBeSticky) refuseSticky(file, node);
        if (verdict === undefined || verdict === 'WAIT') return true;
        const ladder = members.get('ladder');
        if (ladder !== undefined)
          file.report(ladder.key, `only WAIT has a ladder; ${verdict} imposes no wait`);
        if (payerText?.includes(PAYER_TEXT_WAIT_PLACEHOLDER) === true) {
          file.report(
            members.get('payerText')?.value ?? null,
            `payerText may quote ${PAYER_TEXT_WAIT_PLACEHOLDER} only with WAIT; ${verdict} imposes no wait`,
          );
        }
        return true;
      },
    );
  const onRule: RuleKind<VerdictParams>['onRule'] = (
    { name, conditions, event },
    { file, node, members },
  ) => {
    if (name !== undefined) rulesHere.push(name);
    // Conditions with a problem may demand the binding. Their problem is reported already.
    const isBound = conditions === undefined || demandsBinding(conditions);
    if (event?.verdict === 'GET_SAME_STICKY' && !isBound)
      refuseSticky(file, members.get('event')?.value ?? node);
  };
  return createRuleFileForm(names, 'verdicts', (reader) =>
    mappingForm(
      'The verdict: the first match by priority, highest first.',
      {
        conditions: optionalForm(createConditionsForm(reader)),
        rules: createRulesForm(reader, {
          prioritised: true,
          eventType: 'verdict',
          params: params(CONCLUSION_TEXT, true),
          onRule,
        }),
        otherwise: params('The answer when no rule matches.', false),
      },
      ({ rules, otherwise }) => ({ rules: sortByPriority(rules), otherwise }),
      () => {
        payerTexts.checkRuleNames([...otherRules, ...rulesHere]);
        return true;
      },
    ),
  );
}

function refuseSticky(file: YamlFile, node: Node): void {
  file.report(
    node,
    'GET_SAME_STICKY needs a bound requisite: add { fact: bindingFitsMethod, operator: equal, value: true } to the "all" of the rule',
  );
}

/** The form of a file whose conditions may name each other. The schema for editors needs no reader. */
function createRuleFileForm<T>(
  names: FactsListsAndLadders,
  stage: RuleType,
  form: (reader: ConditionReader | null) => Form<T>,
): Form<T> {
  return {
    get schema() {
      return form(null).schema;
    },
    read: (file, node, what) => form(new ConditionReader(file, stage, names)).read(file, node, what),
  };
}

function createConditionsForm(reader: ConditionReader | null): Form<true> {
  return {
    schema: {
      type: 'object',
      description: 'Named conditions, for rules to share with { condition: name }.',
      additionalProperties: CONDITIONS_SCHEMA_REF,
    },
    read: (_file, node) => reader?.readNamedConditions(node) ?? null,
  };
}

/** A reference to the schema of conditions, which stands under `definitions` of the file's schema. */
export const CONDITIONS_SCHEMA_REF = { $ref: '#/definitions/conditions' };

interface RuleKind<Params> {
  /** Whether rules have priorities. They have them if only the first match decides. */
  readonly prioritised: boolean;
  /**
   * Whether rules may have a holdout. The default is true. Rules of flags.yaml may not, because flags change no
   * answer.
   */
  readonly mayHoldOut?: boolean;
  readonly eventType: string;
  readonly params: Form<Params>;
  /** Is called with each rule. */
  readonly onRule?: (rule: SoundParts<Params>, place: MappingPlace) => void;
}

function createRulesForm<Params>(
  reader: ConditionReader | null,
  kind: RuleKind<Params>,
): Form<readonly Rule<Params>[]> {
  const most = [RULES_PER_FILE_MAX, () => `a file may hold at most ${RULES_PER_FILE_MAX} rules`] as const;
  return withMessageName(
    '"rules"',
    nonEmptyListForm(createRuleForm(reader, kind), 'a rule', 'The rules.', most),
  );
}

function createRuleForm<Params>(
  reader: ConditionReader | null,
  { prioritised, mayHoldOut = true, eventType, params, onRule }: RuleKind<Params>,
): Form<Rule<Params>> {
  const conditions: Form<Condition> = {
    schema: CONDITIONS_SCHEMA_REF,
    read: (_file, node) => reader?.readRuleConditions(node) ?? null,
  };
  const event = mappingForm(
    'What happens when the rule matches.',
    { type: withMessageName('event type', choiceForm([eventType])), params },
    (written) => written.params,
  );
  const always = {
    name: RULE_NAME,
    conditions,
    event,
    description: withDefault(textForm('Why the rule is there, in words for people.'), ''),
  };
  const forms = { ...always, ...HOLDOUT_MEMBER_FORMS };
  const moved: NegationCache = new Map();
  const first = new Map<string, number>();
  const check = (rule: SoundParts<Params>, place: MappingPlace) => {
    const { file, node } = place;
    onRule?.(rule, place);
    const line = file.locate(node).line;
    const taken = first.getOrInsert(rule.name ?? '', line);
    const isFree = rule.name === undefined || taken === line;
    if (!isFree) file.report(node, `the name "${rule.name}" is taken by the rule in line ${taken}`);
    return checkMaxAmountHasHoldout(place) && isFree;
  };
  if (!mayHoldOut)
    return mappingForm('A rule.', always, (rule, place) => buildRule(rule, 1, place, moved), check);
  if (!prioritised)
    return mappingForm('A rule.', forms, (rule, place) => buildRule(rule, 1, place, moved), check);
  const priority = numberForm(
    { min: 1, max: PRIORITY_MAX, integer: true },
    'Rules of higher priority are asked first.',
  );
  return mappingForm(
    'A rule.',
    { priority, ...forms },
    (rule, place) => buildRule(rule, rule.priority, place, moved),
    check,
  );
}

/** The sound members of a rule. */
interface SoundParts<Params> {
  readonly name?: string;
  readonly conditions?: Condition;
  readonly event?: Params;
}

interface ReadRule<Params> {
  readonly name: string;
  readonly description: string;
  readonly conditions: Condition;
  readonly event: Params;
  readonly holdout?: number | undefined;
  readonly holdoutMaxAmount?: Readonly<Record<string, number>> | undefined;
}

function buildRule<Params>(
  { name, description, conditions: written, event, holdout, holdoutMaxAmount }: ReadRule<Params>,
  priority: number,
  { file, node, members }: MappingPlace,
  moved: NegationCache,
): Rule<Params> {
  const condition = moveNegations(written, moved);
  const rule = { name, description, priority, condition, written, params: event, at: file.locate(node) };
  if (holdout === undefined) return rule;
  const at = file.locate(members.get('holdout')?.key ?? null);
  return { ...rule, holdout: { share: holdout, maxAmounts: holdoutMaxAmount ?? null, at } };
}

function sortByPriority<Params>(rules: readonly Rule<Params>[]): readonly Rule<Params>[] {
  return rules.toSorted((a, b) => b.priority - a.priority);
}

const OWN_NAME = createNameForm('name', 'Names the rule in decisions and explanations.', 'asked-too-early');

const RULE_NAME: Form<string> = {
  schema: { ...OWN_NAME.schema, not: { const: 'otherwise' } },
  read: (file, node, what) =>
    file.toPlainValue(node) === 'otherwise'
      ? file.report(node, '"otherwise" is the name of the answer when no rule matches')
      : OWN_NAME.read(file, node, what),
};

/** Whether a condition can only hold for a client with a valid binding. */
function demandsBinding(condition: Condition): boolean {
  return foldCondition(condition, {
    group: (kind, parts) => (kind === 'all' ? parts.includes(true) : !parts.includes(false)),
    not: () => false,
    reference: (_name, part) => part,
    comparison: ({ fact, operator, value }) =>
      ['hasBinding', 'bindingFitsMethod'].includes(fact.name) && operator === 'equal' && value === true,
  });
}

/** Reads the text of a reason like `Wait {waitSeconds} s; asked {verdicts(10m)} times.` */
function readReason(
  file: YamlFile,
  node: Node,
  reason: string,
  refs: FactRefs,
): readonly ReasonPart[] | null {
  const pieces = reason.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  const parts = pieces.map((piece) => readPart(file, node, piece, refs)).filter((part) => part !== null);
  return parts.length === pieces.length ? parts : null;
}

function readPart(file: YamlFile, node: Node, piece: string, refs: FactRefs): ReasonPart | null {
  if (piece.startsWith('{') && piece.endsWith('}')) {
    return readPlaceholder(file, node, piece.slice(1, -1), refs);
  }
  const [brace] = /[{}]/.exec(piece) ?? [];
  if (brace === undefined) return { kind: 'words', words: piece };
  return file.report(node, `reason has a single "${brace}"; put braces around a fact, like {paidCount}`);
}

function readPlaceholder(file: YamlFile, node: Node, name: string, refs: FactRefs): ReasonPart | null {
  const answer = ANSWER_PLACEHOLDERS.find((candidate) => candidate === name);
  if (answer !== undefined) return { kind: 'answer', name: answer };
  const allowed = () => [...refs.listAll().map((ref) => ref.label), ...ANSWER_PLACEHOLDERS];
  const named = findPlaceholderFactOrFault(name, refs, allowed);
  if (named === null) return null;
  return typeof named === 'string'
    ? file.report(node, `reason has a bad placeholder {${name}}: ${named}`)
    : { kind: 'fact', fact: named };
}
