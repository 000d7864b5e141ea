import { LRUCache } from 'lru-cache';
import { formatCount } from '#base/count-text.ts';
import { formatDuration } from '#base/duration.ts';
import { choice, list, named, plainText, shape, type ValueOf } from '#base/shapes.ts';
import type { DeclaredAttribute } from '#decision/payer/attributes.ts';
import type { LadderSettings } from '#decision/payer/ladder.ts';
import { type Condition, mapNamedConditions } from '#decision/rules/condition.ts';
import { formatExpectedValue } from '#decision/rules/condition-text.ts';
import {
  EXEMPTION_NAME,
  type FlagParams,
  type GroupParams,
  getPlatformSettings,
  type Holdout,
  type ParsedRules,
  type PlatformSettings,
  type Rule,
  type RuleSet,
  type RuleSetValueList,
  ruleVersionSchema,
  type SignalExemption,
  type SignalParams,
  type VerdictParams,
} from '#decision/rules/rule-set.ts';
import {
  formatCondition,
  formatReasonPart,
  listConditionChanges,
  toPlainCondition,
} from './condition-changes.ts';
import {
  DIFF_EXAMPLES_MEMBERS,
  type DiffExamples,
  findDiffExamples,
  findDiffExamplesWithin,
} from './examples.ts';

const DIFF_PARTS = [
  'settings',
  'attributes',
  'ladder',
  'platforms',
  'limits',
  'lists',
  'groups',
  'bot-signals',
  'verdicts',
  'flags',
] as const;

/** A difference between two rule sets. Comments, layout, descriptions and the sequence of members are not compared. */
const RuleDifferenceSchema = shape('One thing that is decided otherwise', {
  part: choice(DIFF_PARTS, 'Where'),
  name: plainText('A rule, a condition, a setting, a level, a list or a platform', 'asked-too-early'),
  kind: choice(['added', 'removed', 'changed', 'renamed', 'reprioritised'], 'How'),
  /** The difference in words, for example `asked-too-early: waitRemainingSeconds > 0 -> > 2`. */
  text: plainText('For people', 'asked-too-early: waitRemainingSeconds > 0 -> > 2'),
});

type RuleDifference = ValueOf<typeof RuleDifferenceSchema>;

export const RuleDiffSchema = named(
  'RuleDiff',
  shape('What differs between two versions', {
    before: ruleVersionSchema,
    after: ruleVersionSchema,
    differences: list(RuleDifferenceSchema, 'Part by part; comments, layout and descriptions do not count'),
    ...DIFF_EXAMPLES_MEMBERS,
    note: plainText(
      'For people: what the examples are, or that there are none',
      'The two answer these payers differently, for example. Facts that are not named are those of an ordinary first request.',
    ),
  }),
);

export type RuleDiff = ValueOf<typeof RuleDiffSchema>;

/** Compares two versions. The search for example payers has no time limit. Most searches take less than a second. */
export function computeRuleDiff(before: RuleSet, after: RuleSet): RuleDiff {
  const differences = listRuleSetDifferences(before, after);
  return createDiff(
    before,
    after,
    differences,
    differences.length === 0 ? ALIKE : findDiffExamples(before, after),
  );
}

const ALIKE: DiffExamples = { examples: [], searched: true };

function createDiff(
  { version: before }: RuleSet,
  { version: after }: RuleSet,
  differences: readonly RuleDifference[],
  found: DiffExamples,
): RuleDiff {
  const note = differences.length === 0 ? `${before} and ${after} decide alike.` : formatNote(found);
  return { before, after, differences, ...found, note };
}

function formatNote({ examples, searched }: DiffExamples) {
  if (examples.length > 0) {
    const rest = searched ? '' : ' The search was not complete, so there may be others.';
    return `The two answer these payers differently, for example. Facts that are not named are those of an ordinary first request.${rest}`;
  }
  return searched
    ? 'No payer is answered differently; names of rules, reasons, texts for payers and flags are not compared.'
    : 'No payer was found whom the two versions answer differently, but the search was not complete.';
}

/** A search on a busy node ends after this time. */
const SEARCH_MS_MAX = 3000;

const DIFFS_KEPT_MAX = 20;

/** Keeps the diffs of the last pairs of rule sets. A second request for the same pair waits for the same search. */
export class RuleDiffs {
  readonly #kept = new LRUCache<string, Promise<RuleDiff>>({ max: DIFFS_KEPT_MAX });

  getDiff(before: RuleSet, after: RuleSet): Promise<RuleDiff> {
    const key = `${before.digest} ${after.digest}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const diff = this.#search(before, after);
    this.#kept.set(key, diff);
    const forget = () => this.#kept.delete(key);
    // A diff that a busy node did not finish may be requested again.
    diff.then(({ searched }) => searched || forget(), forget);
    return diff;
  }

  async #search(before: RuleSet, after: RuleSet): Promise<RuleDiff> {
    const differences = listRuleSetDifferences(before, after);
    const isAlike = differences.length === 0;
    const found = isAlike ? ALIKE : await findDiffExamplesWithin(before, after, SEARCH_MS_MAX);
    return createDiff(before, after, differences, found);
  }
}

type DiffPart = (typeof DIFF_PARTS)[number];

function createChange(part: DiffPart, name: string, change: string): RuleDifference {
  return { part, name, kind: 'changed', text: `${name}: ${change}` };
}

/** Lists the change of a value as at most one difference. `before` or `after` is null if that version has no value. */
function listValueChanges(
  part: DiffPart,
  name: string,
  before: string | null,
  after: string | null,
): readonly RuleDifference[] {
  if (before === after) return [];
  if (before === null) return [{ part, name, kind: 'added', text: `${name}: added, ${after}` }];
  if (after === null) return [{ part, name, kind: 'removed', text: `${name}: removed, was ${before}` }];
  return [createChange(part, name, `${before} -> ${after}`)];
}

/** Lists all differences between two rule sets, part by part. */
export function listRuleSetDifferences(before: ParsedRules, after: ParsedRules): readonly RuleDifference[] {
  return [
    ...listTextDifferences('settings', settingTexts(before.settings), settingTexts(after.settings)),
    ...listTextDifferences('attributes', attributeTexts(before), attributeTexts(after)),
    ...listTextDifferences('ladder', ladderTexts(before.settings.ladder), ladderTexts(after.settings.ladder)),
    ...listPlatformDifferences(before, after),
    ...listTextDifferences('limits', limitTexts(before), limitTexts(after)),
    ...listListDifferences(before, after),
    ...new RulesDiff<GroupParams>('groups', ({ group }) => ({ group })).between(before.groups, after.groups),
    ...listValueChanges('groups', 'otherwise', before.groups.otherwise, after.groups.otherwise),
    ...listValueChanges(
      'bot-signals',
      'bot threshold',
      `${before.signals.threshold}`,
      `${after.signals.threshold}`,
    ),
    ...listExemptDifferences(before.signals.exempt, after.signals.exempt),
    ...new RulesDiff<SignalParams>('bot-signals', signalParams).between(before.signals, after.signals),
    ...new RulesDiff<VerdictParams>('verdicts', verdictParams).between(before.verdicts, after.verdicts),
    ...listParamChanges(
      verdictParams(before.verdicts.otherwise),
      verdictParams(after.verdicts.otherwise),
    ).map((change): RuleDifference => createChange('verdicts', 'otherwise', change)),
    ...new RulesDiff<FlagParams>('flags', ({ flag }) => ({ flag })).between(before.flags, after.flags),
  ];
}

/** Compares the exemptions from all signals, in the same way as the conditions of a rule. */
function listExemptDifferences(
  before: SignalExemption | null,
  after: SignalExemption | null,
): readonly RuleDifference[] {
  if (before !== null && after !== null) {
    const [was, is] = [before, after].map(({ written }) => toPlainCondition(written, true));
    if (was === undefined || is === undefined) return [];
    return listConditionChanges(was, is).map((change) => createChange('bot-signals', EXEMPTION_NAME, change));
  }
  const [was, is] = [before, after].map((one) => (one === null ? null : formatCondition(one.written)));
  return listValueChanges('bot-signals', EXEMPTION_NAME, was ?? null, is ?? null);
}

type Params = Readonly<Record<string, string>>;

function signalParams({ weight, about }: SignalParams): Params {
  return { weight: `${weight}`, ...(about === undefined ? {} : { about }) };
}

function verdictParams({ verdict, ladder, reason, payerText }: VerdictParams): Params {
  const named: Params = ladder === null ? {} : { ladder };
  const said: Params = payerText === null ? {} : { payerText: JSON.stringify(payerText) };
  return { verdict, ...named, reason: JSON.stringify(reason.map(formatReasonPart).join('')), ...said };
}

function holdoutParams(holdout: Holdout | undefined): Params {
  if (holdout === undefined) return {};
  const share = `${Math.round(holdout.share * 10_000) / 100}%`;
  const bounds = Object.entries(holdout.maxAmounts ?? {}).map(
    ([currency, amount]) => `${amount} ${currency}`,
  );
  return { holdout: bounds.length === 0 ? share : `${share} up to ${bounds.toSorted().join(', ')}` };
}

function listParamChanges(before: Params, after: Params): readonly string[] {
  return Object.keys({ ...before, ...after })
    .filter((name) => before[name] !== after[name])
    .map((name) => {
      const note = name === 'payerText' ? ' (this changes no answer)' : '';
      return `${name} ${before[name] ?? 'none'} -> ${after[name] ?? 'none'}${note}`;
    });
}

/** Files in which every matching rule takes effect, so that rules have no priority. */
const UNORDERED: ReadonlySet<DiffPart> = new Set(['bot-signals', 'flags']);

/** Compares the rules of one file by their names. */
class RulesDiff<P> {
  readonly #part: DiffPart;
  readonly #params: (params: P) => Params;

  constructor(part: DiffPart, params: (params: P) => Params) {
    this.#part = part;
    this.#params = params;
  }

  between(
    { rules: before }: { readonly rules: readonly Rule<P>[] },
    { rules: after }: { readonly rules: readonly Rule<P>[] },
  ): readonly RuleDifference[] {
    const removed = before.filter(({ name }) => !after.some((rule) => rule.name === name));
    const added = after.filter(({ name }) => !before.some((rule) => rule.name === name));
    const renamed = this.#renamed(removed, added);
    const kept = before.flatMap((was) => {
      const is = after.find(({ name }) => name === was.name);
      return is === undefined ? [] : [[was, is] as const];
    });
    return [
      ...renamed.map(([was, is]) =>
        this.#difference(is.name, 'renamed', `${was.name} is now named ${is.name}`),
      ),
      ...removed
        .filter((rule) => !renamed.some(([was]) => was === rule))
        .map((rule) =>
          this.#difference(rule.name, 'removed', `${rule.name}: removed (${this.#inWords(rule)})`),
        ),
      ...added
        .filter((rule) => !renamed.some(([, is]) => is === rule))
        .map((rule) => this.#difference(rule.name, 'added', `${rule.name}: added (${this.#inWords(rule)})`)),
      ...this.#namedConditions(before, after),
      ...kept.flatMap(([was, is]) => this.#ruleChanges(was, is, isSameOrder(kept))),
      ...(UNORDERED.has(this.#part) ? [] : this.#swapped(kept, after)),
    ];
  }

  /** Finds neighbouring rules that exchanged positions. Of rules with equal priority, the first is asked first. */
  #swapped(
    kept: readonly (readonly [Rule<P>, Rule<P>])[],
    after: readonly Rule<P>[],
  ): readonly RuleDifference[] {
    return kept.flatMap(([was, is], index) => {
      const [nextWas, next] = kept[index + 1] ?? [];
      if (next === undefined || nextWas?.priority !== was.priority || next.priority !== is.priority)
        return [];
      if (after.indexOf(is) < after.indexOf(next)) return [];
      return [this.#difference(is.name, 'reprioritised', `${is.name}: asked after ${next.name} now`)];
    });
  }

  #difference(name: string, kind: RuleDifference['kind'], text: string): RuleDifference {
    return { part: this.#part, name, kind, text };
  }

  #renamed(removed: readonly Rule<P>[], added: readonly Rule<P>[]) {
    return removed.flatMap((was) => {
      const is = added.find((rule) => this.#inWords(rule) === this.#inWords(was));
      return is === undefined ? [] : [[was, is] as const];
    });
  }

  #inWords({ priority, written, params, holdout }: Rule<P>): string {
    const answer = Object.entries({ ...this.#params(params), ...holdoutParams(holdout) }).map(
      ([name, value]) => `${name} ${value}`,
    );
    const order = UNORDERED.has(this.#part) ? [] : [`priority ${priority}`];
    return [...order, `when ${formatCondition(written)}`, ...answer].join('; ');
  }

  #ruleChanges(was: Rule<P>, is: Rule<P>, orderKept: boolean): readonly RuleDifference[] {
    const found: RuleDifference[] = [];
    if (was.priority !== is.priority) {
      const note = orderKept ? ' (the order of the rules stays as it was)' : '';
      const text = `${is.name}: priority ${was.priority} -> ${is.priority}${note}`;
      found.push(this.#difference(is.name, 'reprioritised', text));
    }
    if (formatCondition(was.written) !== formatCondition(is.written)) {
      const changes = listConditionChanges(
        toPlainCondition(was.written, false),
        toPlainCondition(is.written, false),
      );
      found.push(...changes.map((change) => createChange(this.#part, is.name, change)));
    }
    const params = listParamChanges(
      { ...this.#params(was.params), ...holdoutParams(was.holdout) },
      { ...this.#params(is.params), ...holdoutParams(is.holdout) },
    );
    return [...found, ...params.map((change) => createChange(this.#part, is.name, change))];
  }

  /** Compares conditions that rules share by name. A change is reported once, and not for each rule. */
  #namedConditions(before: readonly Rule<P>[], after: readonly Rule<P>[]): readonly RuleDifference[] {
    const was = collectConditions(before);
    return [...collectConditions(after)].flatMap(([name, condition]) => {
      const old = was.get(name);
      if (old === undefined) return [];
      const changes = listConditionChanges(toPlainCondition(old, false), toPlainCondition(condition, false));
      return changes.map((change) => createChange(this.#part, `condition "${name}"`, change));
    });
  }
}

/** Tells whether the rules of both versions are evaluated in the same sequence. Both lists are sorted by priority. */
function isSameOrder<P>(kept: readonly (readonly [Rule<P>, Rule<P>])[]): boolean {
  return kept.every(([, is], index) => {
    const [, next] = kept[index + 1] ?? [];
    return next === undefined || is.priority > next.priority;
  });
}

function collectConditions<P>(rules: readonly Rule<P>[]): ReadonlyMap<string, Condition> {
  return mapNamedConditions(rules.map(({ written }) => written));
}

/** The settings, levels or limits of one version, by names for people. */
type Texts = ReadonlyMap<string, string>;

function listTextDifferences(part: DiffPart, before: Texts, after: Texts): readonly RuleDifference[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) =>
    listValueChanges(part, name, before.get(name) ?? null, after.get(name) ?? null),
  );
}

/** Formats settings as texts. `prefix` names the platform, if the settings belong to one. */
function settingTexts(settings: PlatformSettings, prefix = ''): Texts {
  const { currency, timeZone, smoothing, scoringLimits } = settings;
  const texts = {
    currency,
    timeZone,
    'smoothing prior': String(smoothing.prior),
    'smoothing weight': String(smoothing.weight),
    scoringLimits: String(scoringLimits),
  };
  return new Map(Object.entries(texts).map(([name, text]) => [`${prefix}${name}`, text]));
}

/** Formats the attributes that callers may send, as `ruleset.yaml` declares them. */
function attributeTexts({ attributes }: ParsedRules): Texts {
  return new Map([...attributes].map(([name, declared]) => [name, attributeText(declared)]));
}

function attributeText({ type, length, unit, oneOf, pseudonym }: DeclaredAttribute): string {
  const text = oneOf === null ? `text of ${length} characters at most` : `one of ${oneOf.join(', ')}`;
  const value = type === 'text' ? text : unit === null ? type : `${type} of ${unit}`;
  return pseudonym ? `${value}, kept as a pseudonym` : value;
}

/** Formats the levels of the unnamed ladder and of named ladders, and when the ladders are reset. */
function ladderTexts({ levelsMs, ladders, resetAfterMs, resetsAfterMs }: LadderSettings, prefix = ''): Texts {
  const named = Object.entries(ladders).map(nameLadder);
  const levels = [['ladder', levelsMs] as const, ...named].flatMap(([ladder, ms]) =>
    ms.map((levelMs, index) => [`${prefix}${ladder} level ${index + 1}`, formatDuration(levelMs)] as const),
  );
  const resets = [['ladder', resetAfterMs] as const, ...Object.entries(resetsAfterMs).map(nameLadder)].map(
    ([ladder, ms]) => [`${prefix}${ladder} resetAfter`, formatDuration(ms)] as const,
  );
  return new Map([...levels, ...resets]);
}

function nameLadder<T>([name, value]: readonly [string, T]): readonly [string, T] {
  return [`ladder "${name}"`, value];
}

/** Compares each platform that has settings of its own in one of the two versions. */
function listPlatformDifferences(before: ParsedRules, after: ParsedRules): readonly RuleDifference[] {
  const names = new Set([...before.platforms.keys(), ...after.platforms.keys()]);
  return [...names].flatMap((name) => {
    const textsOf = (settings: PlatformSettings) => {
      const prefix = `platform "${name}" `;
      return new Map([...settingTexts(settings, prefix), ...ladderTexts(settings.ladder, prefix)]);
    };
    const changesBetween = (was: PlatformSettings, is: PlatformSettings) =>
      listTextDifferences('platforms', textsOf(was), textsOf(is));
    // A change that a platform only inherits is reported once, as a change of the settings.
    const inherited = new Set(changesBetween(before.settings, after.settings).map(({ text }) => text));
    return changesBetween(getPlatformSettings(before, name), getPlatformSettings(after, name)).filter(
      ({ text }) => !inherited.has(text),
    );
  });
}

function limitTexts({ limits }: ParsedRules): Texts {
  return new Map(
    [...limits].flatMap(([group, items]) =>
      items.map((item) => {
        const [currency = '', amount = ''] = item.split(':');
        return [`limit of ${group} in ${currency}`, amount] as const;
      }),
    ),
  );
}

/** Lists the entries that were added and removed in each list. Their sequence makes no difference. */
function listListDifferences(before: ParsedRules, after: ParsedRules): readonly RuleDifference[] {
  const names = new Set([...before.lists.keys(), ...after.lists.keys()]);
  return [...names].flatMap((list) => {
    const [was, is] = [before.lists.get(list), after.lists.get(list)];
    const name = `list ${list}`;
    if (was === undefined || is === undefined) {
      return listValueChanges('lists', name, formatEntryCount(was), formatEntryCount(is));
    }
    const come = is.values.filter((value) => !was.values.includes(value));
    const gone = was.values.filter((value) => !is.values.includes(value));
    const change = (word: string, values: RuleSetValueList['values']) =>
      values.length === 0 ? [] : [createChange('lists', name, `${word} ${formatSome(values)}`)];
    return [...change('added', come), ...change('removed', gone)];
  });
}

function formatEntryCount(list: RuleSetValueList | undefined): string | null {
  if (list === undefined) return null;
  return formatCount(list.values.length, 'entry', 'entries');
}

/** The most entries that a difference names one by one. */
const NAMED_ENTRIES_MAX = 20;

function formatSome(values: RuleSetValueList['values']): string {
  const named = values.slice(0, NAMED_ENTRIES_MAX).map(formatExpectedValue).join(', ');
  const more = values.length - NAMED_ENTRIES_MAX;
  return more > 0 ? `${named} and ${more} more` : named;
}
