import type { Node } from 'yaml';
import { isPlatformName, PLATFORM_NAME_FORM } from '../../client/client-key.ts';
import { CLIENT_GROUPS, type ClientGroup } from '../../client/client-state.ts';
import type { Smoothing } from '../../client/payment-score.ts';
import { type Problem, sortProblems, suggest } from '../problem.ts';
import { refuseUnclearOrder } from '../proof/equal-priorities.ts';
import {
  isRuleVersion,
  type ParsedRules,
  type PlatformSettings,
  RULE_VERSION_FORM,
  type RuleVersion,
} from '../rule-set.ts';
import { FactRefs } from './comparison.ts';
import { RuleLadders, refuseHoldouts } from './rule-ladders.ts';
import { isListFile, RuleLists } from './rule-lists.ts';
import { readGroups, readSignals, readVerdicts, WEIGHT_RANGE } from './rules.ts';
import { checkCurrency, type Member, optional, readAmounts, YamlFile } from './yaml-file.ts';

/** The texts of a rule set's files by their path inside its folder, like `verdicts.yaml`, `cases/ladder.yaml`. */
export type RuleFiles = ReadonlyMap<string, string>;

export type ParseResult =
  | { readonly ok: true; readonly rules: ParsedRules }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** With its cases and lists. */
export const RULE_SET_FILES_MAX = 500;

const RULE_FILES: readonly string[] = [
  'ruleset.yaml',
  'groups.yaml',
  'bot-signals.yaml',
  'verdicts.yaml',
  'ladder.yaml',
  'limits.yaml',
];

const NO_LIMITS: ParsedRules['limits'] = new Map();

/**
 * Reads a rule set: either all of it is sound, or every problem is reported with its place.
 * `folder` is the name of the rule set's folder, which its ruleVersion must equal.
 */
export function parse(folder: string, files: RuleFiles): ParseResult {
  if (files.size > RULE_SET_FILES_MAX) return { ok: false, problems: [tooManyFiles(files)] };
  const problems: Problem[] = [];
  refuseUnknownFiles(files, problems);
  const open = <T>(name: string, read: (file: YamlFile) => T | null) => readFile(files, name, problems, read);
  const ladders = new RuleLadders();
  const ladder = open('ladder.yaml', (file) => ladders.read(file));
  const ruleSet = open('ruleset.yaml', (file) => readRuleSetFile(file, folder, ladders));
  // Each file adds the facts it asks for, so this order is the order of values in a decision.
  const refs = new FactRefs();
  const ruleLists = new RuleLists(files, problems);
  const names = { refs, lists: ruleLists, ladders };
  const groups = open('groups.yaml', (file) => readGroups(file, names));
  const signals = open('bot-signals.yaml', (file) => readSignals(file, names));
  const others = [...(groups?.rules ?? []), ...(signals?.rules ?? [])].map(({ name }) => name);
  const verdicts = open('verdicts.yaml', (file) => readVerdicts(file, names, others));
  ruleLists.refuseUnused();
  if (verdicts !== null) ladders.refuseUnused();
  const limitsNeeded = files.has('limits.yaml') || wantsLimits(ruleSet);
  const limits = limitsNeeded ? open('limits.yaml', readLimits) : NO_LIMITS;
  const allSound = problems.length === 0;
  if (!allSound || !ladder || !ruleSet || !groups || !signals || !verdicts || !limits) {
    return { ok: false, problems: sortProblems(problems) };
  }
  const settings = { ...ruleSet.settings, ladder };
  const platforms = new Map([...ruleSet.platforms].map(([name, own]) => [name, override(settings, own)]));
  const { version, description } = ruleSet;
  const facts = refs.all();
  const lists = ruleLists.used();
  const rules = {
    version,
    description,
    settings,
    platforms,
    facts,
    groups,
    signals,
    verdicts,
    limits,
    lists,
  };
  // Checked last: whether two rules can both be first, or which clients a rule matches, only shows in an otherwise sound rule set.
  const unclear = [...refuseUnclearOrder(rules), ...refuseHoldouts(rules)];
  return unclear.length === 0 ? { ok: true, rules } : { ok: false, problems: sortProblems(unclear) };
}

function readFile<T>(
  files: RuleFiles,
  name: string,
  problems: Problem[],
  read: (file: YamlFile) => T | null,
): T | null {
  const text = files.get(name);
  if (text === undefined) {
    problems.push({ at: { file: name, line: 1, column: 1 }, message: 'the file is missing' });
    return null;
  }
  const file = new YamlFile(name, text, problems);
  return file.root === null ? null : read(file);
}

function tooManyFiles(files: RuleFiles): Problem {
  const file = [...files.keys()][RULE_SET_FILES_MAX] ?? '';
  const message = `a rule set has at most ${RULE_SET_FILES_MAX} files, its cases and lists among them; put some of them together`;
  return { at: { file, line: 1, column: 1 }, message };
}

function refuseUnknownFiles(files: RuleFiles, problems: Problem[]): void {
  for (const path of files.keys()) {
    if (RULE_FILES.includes(path) || isListFile(path) || /^cases\/[^/]+\.yaml$/.test(path)) continue;
    const hint = suggest(path, RULE_FILES);
    problems.push({
      at: { file: path, line: 1, column: 1 },
      message: `unknown file${hint}; tests go into cases/*.yaml, lists into lists/*.yaml`,
    });
  }
}

function wantsLimits(ruleSet: RuleSetFile | null): boolean {
  if (ruleSet === null) return false;
  const { settings, platforms } = ruleSet;
  return settings.scoringLimits || [...platforms.values()].some((own) => own.scoringLimits === true);
}

/** The time zone of rule sets that name none. */
const DEFAULT_TIME_ZONE = 'UTC';

export const PRIOR_RANGE = { min: 0, max: 1 } as const;

const DEFAULT_SMOOTHING: Smoothing = { prior: 0.5, weight: 2 };

/** The settings that one platform overrides; null means that it has the rule set's. */
type PlatformOverrides = { readonly [Name in keyof PlatformSettings]: PlatformSettings[Name] | null };

/** What `ruleset.yaml` says. The ladder has a file of its own. */
interface RuleSetFile {
  readonly version: RuleVersion;
  readonly description: string;
  readonly settings: Omit<PlatformSettings, 'ladder'>;
  readonly platforms: ReadonlyMap<string, PlatformOverrides>;
}

/** Reads `ruleset.yaml`; `folder` is the name that its ruleVersion must equal. */
function readRuleSetFile(file: YamlFile, folder: string, ladders: RuleLadders): RuleSetFile | null {
  const required = ['ruleVersion', 'description', 'settings'];
  const members = file.members(file.root, 'the rule set', [...required, 'platforms'], required);
  if (members === null) return null;
  const version = optional(members.get('ruleVersion'), (node) => readVersion(file, node, folder));
  const description = optional(members.get('description'), (node) => file.text(node, 'description'));
  const settings = optional(members.get('settings'), (node) => readSettings(file, node));
  const platforms = readPlatforms(file, members.get('platforms'), ladders);
  if (version === null || description === null || settings === null) return null;
  return { version, description, settings, platforms };
}

/** The settings of a platform: its own where it has one, otherwise the rule set's. */
function override(base: PlatformSettings, own: PlatformOverrides): PlatformSettings {
  return {
    currency: own.currency ?? base.currency,
    timeZone: own.timeZone ?? base.timeZone,
    smoothing: own.smoothing ?? base.smoothing,
    scoringLimits: own.scoringLimits ?? base.scoringLimits,
    ladder: own.ladder ?? base.ladder,
  };
}

function readVersion(file: YamlFile, node: Node, folder: string): RuleVersion | null {
  const text = file.text(node, 'ruleVersion');
  if (text === null) return null;
  if (!isRuleVersion(text)) {
    return file.report(node, `ruleVersion must be ${RULE_VERSION_FORM}, not "${text}"`);
  }
  if (text !== folder) {
    return file.report(node, `ruleVersion "${text}" must equal the name of its folder, "${folder}"`);
  }
  return text;
}

function readSettings(file: YamlFile, node: Node): Omit<PlatformSettings, 'ladder'> | null {
  const required = ['currency', 'scoringLimits'];
  const members = file.members(node, 'settings', [...required, 'smoothing', 'timeZone'], required);
  const zone = members?.get('timeZone');
  const timeZone = zone === undefined ? DEFAULT_TIME_ZONE : readTimeZone(file, zone.value);
  const currency = optional(members?.get('currency'), (value) => readCurrency(file, value));
  const given = members?.get('smoothing');
  const smoothing = given === undefined ? DEFAULT_SMOOTHING : readSmoothing(file, given.value);
  const scoringLimits = optional(members?.get('scoringLimits'), (value) =>
    file.boolean(value, 'scoringLimits'),
  );
  return currency === null || timeZone === null || smoothing === null || scoringLimits === null
    ? null
    : { currency, timeZone, smoothing, scoringLimits };
}

function readPlatforms(
  file: YamlFile,
  member: Member | undefined,
  ladders: RuleLadders,
): ReadonlyMap<string, PlatformOverrides> {
  const platforms = new Map<string, PlatformOverrides>();
  const members = optional(member, (node) => file.anyMembers(node, 'platforms')) ?? [];
  for (const [name, { key, value }] of members) {
    if (!isPlatformName(name)) {
      file.report(key, `a platform name has ${PLATFORM_NAME_FORM}, unlike "${name}"`);
    }
    platforms.set(name, readPlatform(file, value, `platform "${name}"`, ladders));
  }
  return platforms;
}

function readPlatform(file: YamlFile, node: Node, what: string, ladders: RuleLadders): PlatformOverrides {
  const names = ['currency', 'timeZone', 'smoothing', 'scoringLimits', 'ladder'];
  const members = file.members(node, what, names, []);
  return {
    currency: optional(members?.get('currency'), (value) => readCurrency(file, value)),
    timeZone: optional(members?.get('timeZone'), (value) => readTimeZone(file, value)),
    smoothing: optional(members?.get('smoothing'), (value) => readSmoothing(file, value)),
    scoringLimits: optional(members?.get('scoringLimits'), (value) => file.boolean(value, 'scoringLimits')),
    ladder: optional(members?.get('ladder'), (value) => ladders.readOwn(file, value)),
  };
}

function readCurrency(file: YamlFile, node: Node): string | null {
  const text = file.text(node, 'currency');
  return text !== null && checkCurrency(file, node, text) ? text : null;
}

/** An offset such as +02:00 is not a time zone: it has no summer time. */
function readTimeZone(file: YamlFile, node: Node): string | null {
  const name = file.text(node, 'timeZone');
  if (name === null || isTimeZone(name)) return name;
  const hint = suggest(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
  const near = hint.startsWith('; did you mean') ? hint : '';
  return file.report(node, `timeZone must be an IANA name, like Europe/Berlin or UTC, not "${name}"${near}`);
}

function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function readSmoothing(file: YamlFile, node: Node): Smoothing | null {
  const members = file.members(node, 'smoothing', ['prior', 'weight'], ['prior', 'weight']);
  const prior = optional(members?.get('prior'), (value) => file.number(value, 'prior', PRIOR_RANGE));
  const weight = optional(members?.get('weight'), (value) => file.number(value, 'weight', WEIGHT_RANGE));
  if (prior === null || weight === null) return null;
  // Every new client has 0.5000, whatever the prior; the first outcome must not move it the wrong way.
  if (weight * (0.5 - prior) > 0.5) {
    return file.report(
      node,
      'a first paid order would lower the score of 0.5000 that every new client has; raise prior or lower weight until weight * (0.5 - prior) is at most 0.5',
    );
  }
  if (weight * (prior - 0.5) > 0.5) {
    return file.report(
      node,
      'a first unpaid order would raise the score of 0.5000 that every new client has; lower prior or weight until weight * (prior - 0.5) is at most 0.5',
    );
  }
  return { prior, weight };
}

/** Reads `limits.yaml`: payLimitValue items like `EUR:250.00` by group. */
function readLimits(file: YamlFile): ReadonlyMap<ClientGroup, readonly string[]> {
  const limits = new Map<ClientGroup, readonly string[]>();
  const member = file.members(file.root, 'limits.yaml', ['limits'], ['limits'])?.get('limits');
  const members = optional(member, (node) => file.members(node, '"limits"', CLIENT_GROUPS, CLIENT_GROUPS));
  for (const group of CLIENT_GROUPS) {
    const amounts = optional(members?.get(group), (node) =>
      readAmounts(file, node, `limits of ${group}`, 'the limit'),
    );
    const items = [...(amounts ?? [])].map(([currency, amount]) => `${currency}:${amount}`);
    if (amounts !== null) limits.set(group, items);
  }
  return limits;
}
