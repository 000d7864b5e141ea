import type { RuleSet } from '#decision/rules/rule-set.ts';

/** The figures of a rule, counted line by line, without the service's SQL and its cells of facts. */
export interface HandCount {
  readonly matched: number;
  readonly decided: number;
  readonly decisive: number | null;
  readonly paid: number;
  readonly unpaid: number;
  readonly turnedAway: number;
  readonly unknown: number;
}

type Facts = Readonly<Record<string, string | number | boolean>>;

interface Line {
  readonly kind: string;
  readonly platform: string;
  readonly clientIdKey: string;
  readonly orderRef: string;
  readonly order: { readonly outcome: 'PAID' | 'UNPAID'; readonly cause: string | null };
  readonly decision: { readonly orderRef: string; readonly verdict: string; readonly facts: Facts };
}

/** The counts of every rule, by file and name, over the lines of an exported journal. */
export function countByHand(rules: RuleSet, journal: string): ReadonlyMap<string, HandCount> {
  const lines: readonly Line[] = journal
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const statuses = new Map(
    lines.flatMap((line) => {
      if (line.kind !== 'outcome') return [];
      const status = line.order.cause === 'TECHNICAL' ? 'left out' : line.order.outcome.toLowerCase();
      return [[orderOf(line, line.orderRef), status] as const];
    }),
  );
  const seen = lines.flatMap((line) => (line.kind === 'verdict' ? [judged(rules, line)] : []));
  const named = (file: string, some: readonly { readonly name: string }[]) =>
    some.map(({ name }) => `${file}.yaml/${name}`);
  const names = [
    ...named('groups', rules.groups.rules),
    'groups.yaml/otherwise',
    ...named('bot-signals', rules.signals.rules),
    ...named('verdicts', rules.verdicts.rules),
    'verdicts.yaml/otherwise',
  ];
  return new Map(names.map((name) => [name, countRule(name, seen, statuses)]));
}

function judged(rules: RuleSet, line: Line) {
  const { facts, orderRef, verdict } = line.decision;
  const seen = answer(rules, facts);
  const decisive = seen.matched.filter((name) => {
    const without = answer(rules, facts, name);
    return without.verdict !== seen.verdict || without.isBot !== seen.isBot;
  });
  return { ...seen, decisive, order: orderOf(line, orderRef), granted: verdict.startsWith('GET') };
}

function countRule(
  name: string,
  seen: readonly ReturnType<typeof judged>[],
  statuses: ReadonlyMap<string, string>,
): HandCount {
  const matched = seen.filter((one) => one.matched.includes(name));
  const granted = new Set(seen.filter((one) => one.granted).map(({ order }) => order));
  const orders = [...new Set(matched.map(({ order }) => order))];
  const ended = (status: string, isGranted: boolean) =>
    orders.filter(
      (order) => (statuses.get(order) ?? 'unknown') === status && granted.has(order) === isGranted,
    ).length;
  return {
    matched: matched.length,
    decided: seen.filter((one) => one.decided.includes(name)).length,
    decisive: name.endsWith('/otherwise') ? null : seen.filter((one) => one.decisive.includes(name)).length,
    paid: ended('paid', true) + ended('paid', false),
    unpaid: ended('unpaid', true),
    turnedAway: ended('unpaid', false) + ended('unknown', false),
    unknown: ended('unknown', true),
  };
}

function orderOf({ platform, clientIdKey }: Line, orderRef: string): string {
  return JSON.stringify([platform, clientIdKey, orderRef]);
}

/** What the rules answer to recorded facts, without one of them. */
function answer(rules: RuleSet, recorded: Facts, without?: string) {
  const matching = <R extends RuleSet['groups' | 'signals' | 'verdicts']['rules'][number]>(
    file: string,
    some: readonly R[],
    concluded: Facts,
  ): readonly R[] => {
    const facts = { ...recorded, ...concluded };
    const values = rules.facts.map(({ label }) => facts[label] ?? '');
    return some.filter((rule) => `${file}.yaml/${rule.name}` !== without && rule.matches(values));
  };
  const groups = matching('groups', rules.groups.rules, {});
  const clientGroup = groups[0]?.params.group ?? rules.groups.otherwise;
  const signals = matching('bot-signals', rules.signals.rules, { clientGroup });
  const botWeight = signals.reduce((sum, { params }) => sum + params.weight, 0);
  const isBot = botWeight >= rules.signals.threshold;
  const verdicts = matching('verdicts', rules.verdicts.rules, { clientGroup, botWeight, isBot });
  const paths = (file: string, some: readonly { readonly name: string }[]) =>
    some.length === 0 && file !== 'bot-signals'
      ? [`${file}.yaml/otherwise`]
      : some.map(({ name }) => `${file}.yaml/${name}`);
  const [ofGroups, ofSignals, ofVerdicts] = [
    paths('groups', groups),
    paths('bot-signals', signals),
    paths('verdicts', verdicts),
  ];
  return {
    verdict: (verdicts[0]?.params ?? rules.verdicts.otherwise).verdict,
    isBot,
    matched: [...ofGroups, ...ofSignals, ...ofVerdicts],
    decided: [ofGroups[0], ...(isBot ? ofSignals : []), ofVerdicts[0]],
  };
}
