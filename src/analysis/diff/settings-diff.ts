import type { LadderSettings } from '../../client/ladder.ts';
import { valueText } from '../../rules/condition-text.ts';
import { formatDuration } from '../../rules/duration.ts';
import type { ParsedRules, PlatformSettings, RuleList } from '../../rules/rule-set.ts';
import { changed, type DiffPart, type RuleDifference, valueChange } from './rule-difference.ts';

/** How the settings differ; `prefix` names the platform that they are of, if of one. */
export function settingsDifferences(
  before: PlatformSettings,
  after: PlatformSettings,
  part: DiffPart,
  prefix: string,
): readonly RuleDifference[] {
  return [
    ...valueChange(part, `${prefix}currency`, before.currency, after.currency),
    ...valueChange(part, `${prefix}timeZone`, before.timeZone, after.timeZone),
    ...valueChange(
      part,
      `${prefix}smoothing prior`,
      String(before.smoothing.prior),
      String(after.smoothing.prior),
    ),
    ...valueChange(
      part,
      `${prefix}smoothing weight`,
      String(before.smoothing.weight),
      String(after.smoothing.weight),
    ),
    ...valueChange(part, `${prefix}scoringLimits`, String(before.scoringLimits), String(after.scoringLimits)),
  ];
}

/** How the ladders differ, the one without a name and the named ones. */
export function ladderDifferences(
  before: LadderSettings,
  after: LadderSettings,
  part: DiffPart,
  prefix: string,
): readonly RuleDifference[] {
  const names = new Set([...Object.keys(before.ladders), ...Object.keys(after.ladders)]);
  return [
    ...levelDifferences(before.levelsMs, after.levelsMs, part, `${prefix}ladder`),
    ...[...names].flatMap((name) =>
      levelDifferences(
        before.ladders[name] ?? [],
        after.ladders[name] ?? [],
        part,
        `${prefix}ladder "${name}"`,
      ),
    ),
    ...valueChange(
      part,
      `${prefix}ladder resetAfter`,
      durationText(before.resetAfterMs),
      durationText(after.resetAfterMs),
    ),
  ];
}

function levelDifferences(
  beforeMs: readonly number[],
  afterMs: readonly number[],
  part: DiffPart,
  ladder: string,
): readonly RuleDifference[] {
  const levels = Math.max(beforeMs.length, afterMs.length);
  return Array.from({ length: levels }, (_, index) =>
    valueChange(
      part,
      `${ladder} level ${index + 1}`,
      durationText(beforeMs[index]),
      durationText(afterMs[index]),
    ),
  ).flat();
}

function durationText(ms: number | undefined): string | null {
  return ms === undefined ? null : formatDuration(ms);
}

/** Which platforms were added and removed, and how a platform that stayed differs. */
export function platformDifferences(before: ParsedRules, after: ParsedRules): readonly RuleDifference[] {
  const names = new Set([...before.platforms.keys(), ...after.platforms.keys()]);
  return [...names].flatMap((name) => {
    const was = before.platforms.get(name);
    const is = after.platforms.get(name);
    const prefix = `platform "${name}" `;
    const found = [
      ...settingsDifferences(was ?? before.settings, is ?? after.settings, 'platforms', prefix),
      ...ladderDifferences(
        (was ?? before.settings).ladder,
        (is ?? after.settings).ladder,
        'platforms',
        prefix,
      ),
    ];
    // What a platform only inherits is reported once, as a change of the settings.
    const inherited = new Set(
      [
        ...settingsDifferences(before.settings, after.settings, 'platforms', prefix),
        ...ladderDifferences(before.settings.ladder, after.settings.ladder, 'platforms', prefix),
      ].map(({ text }) => text),
    );
    return found.filter(({ text }) => !inherited.has(text));
  });
}

export function limitDifferences(before: ParsedRules, after: ParsedRules): readonly RuleDifference[] {
  const was = limitTexts(before);
  const is = limitTexts(after);
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((name) =>
    valueChange('limits', name, was.get(name) ?? null, is.get(name) ?? null),
  );
}

function limitTexts({ limits }: ParsedRules): ReadonlyMap<string, string> {
  return new Map(
    [...limits].flatMap(([group, items]) =>
      items.map((item) => {
        const [currency = '', amount = ''] = item.split(':');
        return [`limit of ${group} in ${currency}`, amount] as const;
      }),
    ),
  );
}

/** Entries that were added and removed, list by list; their order makes no difference. */
export function listDifferences(before: ParsedRules, after: ParsedRules): readonly RuleDifference[] {
  const names = new Set([...before.lists.keys(), ...after.lists.keys()]);
  return [...names].flatMap((list) => {
    const [was, is] = [before.lists.get(list), after.lists.get(list)];
    const name = `list ${list}`;
    if (was === undefined || is === undefined) {
      return valueChange('lists', name, entryCount(was), entryCount(is));
    }
    const come = is.values.filter((value) => !was.values.includes(value));
    const gone = was.values.filter((value) => !is.values.includes(value));
    const change = (word: string, values: RuleList['values']) =>
      values.length === 0 ? [] : [changed('lists', name, `${word} ${someOf(values)}`)];
    return [...change('added', come), ...change('removed', gone)];
  });
}

function entryCount(list: RuleList | undefined): string | null {
  if (list === undefined) return null;
  return list.values.length === 1 ? '1 entry' : `${list.values.length} entries`;
}

/** Entries that a difference names one by one. */
const NAMED_ENTRIES_MAX = 20;

function someOf(values: RuleList['values']): string {
  const named = values.slice(0, NAMED_ENTRIES_MAX).map(valueText).join(', ');
  const more = values.length - NAMED_ENTRIES_MAX;
  return more > 0 ? `${named} and ${more} more` : named;
}
