import { CLIENT_GROUPS } from '../../client/client-group.ts';
import { OTHERWISE } from '../../decision/decision.ts';
import type { Member, YamlFile, YamlNode } from '../../rules/parse/yaml-file.ts';
import type { Location } from '../../rules/problem.ts';
import { type ParsedRules, VERDICTS } from '../../rules/rule-set.ts';

/** What a step of a case can do. */
export const STEP_KINDS = ['score', 'verdict', 'outcome', 'binding', 'override'] as const;

export type StepKind = (typeof STEP_KINDS)[number];

/** One member that the answer must have with this value; null means that it must not be there. */
export interface Expectation {
  readonly member: string;
  readonly value: unknown;
  readonly at: Location;
}

/** Reads the value that a member is expected to have; null when it cannot have it, which is then reported. */
type ReadExpected = (file: YamlFile, node: YamlNode, rules: ParsedRules) => unknown;

interface Expectable {
  readonly read: ReadExpected;
  /** An answer may lack the member, so that null is something to expect. */
  readonly mayBeAbsent?: true;
}

const CLIENT_GROUP: Expectable = { read: (file, node) => file.choice(node, 'clientGroup', CLIENT_GROUPS) };
const IS_BOT: Expectable = { read: (file, node) => file.boolean(node, 'isBot') };
const PAYMENT_SCORE: Expectable = {
  read: (file, node) => {
    const value = file.plain(node);
    if (typeof value === 'string' && /^[01]\.\d{4}$/.test(value)) return value;
    return file.report(node, 'paymentScore must be a text with 4 decimals, like "0.5000"');
  },
};
const SIGNALS: Expectable = {
  read: (file, node, { signals }) => {
    const names = signals.rules.map(({ name }) => name);
    return readList(file, node, 'signals', (item) => file.choice(item, 'signal', names));
  },
};

const EXPECTABLE: Readonly<Record<StepKind, Readonly<Record<string, Expectable>>>> = {
  score: {
    clientGroup: CLIENT_GROUP,
    paymentScore: PAYMENT_SCORE,
    isBot: IS_BOT,
    signals: SIGNALS,
    preferredAcceptorKey: { mayBeAbsent: true, read: texts('preferredAcceptorKey') },
    payLimitValue: { mayBeAbsent: true, read: texts('payLimitValue') },
  },
  verdict: {
    verdict: { read: (file, node) => file.choice(node, 'verdict', VERDICTS) },
    waitSeconds: {
      mayBeAbsent: true,
      read: (file, node) => file.number(node, 'waitSeconds', { min: 1, max: 1e9, integer: true }),
    },
    ladder: {
      mayBeAbsent: true,
      read: (file, node, { settings }) => file.choice(node, 'ladder', Object.keys(settings.ladder.ladders)),
    },
    heldOut: { read: readHeldOut },
    stickyRequisiteRef: { mayBeAbsent: true, read: text('stickyRequisiteRef') },
    rule: {
      read: (file, node, { verdicts }) =>
        file.choice(node, 'rule', [...verdicts.rules.map(({ name }) => name), OTHERWISE]),
    },
    reason: { read: text('reason') },
    clientGroup: CLIENT_GROUP,
    paymentScore: PAYMENT_SCORE,
    isBot: IS_BOT,
    signals: SIGNALS,
    ruleVersion: { read: text('ruleVersion') },
  },
  outcome: {
    effect: {
      read: (file, node) => file.choice(node, 'effect', ['recorded', 'superseded', 'unchanged', 'stale']),
    },
  },
  binding: {},
  override: {},
};

/** The expectations of a step; what no answer could fulfil is reported. */
export function readExpectations(
  file: YamlFile,
  kind: StepKind,
  { key, value }: Member,
  rules: ParsedRules,
): readonly Expectation[] {
  const expectable = EXPECTABLE[kind];
  const names = Object.keys(expectable);
  if (names.length === 0) {
    file.report(key, `a ${kind} has no answer; expect something of a score or verdict after it`);
    return [];
  }
  const expectations: Expectation[] = [];
  for (const [member, place] of file.members(value, `what a ${kind} answers`, names, []) ?? []) {
    const how = expectable[member];
    if (how !== undefined) {
      expectations.push({
        member,
        value: how.mayBeAbsent && file.isNull(place.value) ? null : how.read(file, place.value, rules),
        at: file.at(place.key),
      });
    }
  }
  return expectations;
}

/** Names of rules that hold clients out, like `groups/blocked-by-unpaid-chain`; an absent list is an empty one. */
export function readHeldOut(
  file: YamlFile,
  node: YamlNode | undefined,
  { groups, signals, verdicts }: ParsedRules,
): readonly string[] {
  if (node === undefined) return [];
  const files = { groups: groups.rules, 'bot-signals': signals.rules, verdicts: verdicts.rules };
  const names = Object.entries(files).flatMap(([name, rules]) =>
    rules.filter(({ holdout }) => holdout !== undefined).map((rule) => `${name}/${rule.name}`),
  );
  return readList(file, node, 'heldOut', (item) => file.choice(item, 'rule with a holdout', names)) ?? [];
}

function text(name: string): ReadExpected {
  return (file, node) => file.text(node, name);
}

function texts(name: string): ReadExpected {
  return (file, node) => readList(file, node, name, (item) => file.text(item, `an item of ${name}`));
}

/** A list that may be empty: that nothing matched is worth expecting. */
function readList<T>(
  file: YamlFile,
  node: YamlNode,
  what: string,
  read: (item: YamlNode) => T | null,
): readonly T[] | null {
  const plain = file.plain(node);
  if (Array.isArray(plain) && plain.length === 0) return [];
  return (
    file
      .items(node, what)
      ?.map(read)
      .filter((item) => item !== null) ?? null
  );
}
