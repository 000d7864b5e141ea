import { type Problem, sortProblems, suggest } from '../problem.ts';
import { refuseUnclearOrder } from '../proof/equal-priorities.ts';
import type { ParsedRules } from '../rule-set.ts';
import { FactRefs } from './fact-refs.ts';
import { refuseHoldouts } from './holdout.ts';
import { RuleLadders } from './rule-ladders.ts';
import { isListFile, RuleLists } from './rule-lists.ts';
import { readGroups, readSignals, readVerdicts } from './rules.ts';
import { override, type RuleSetFile, readLimits, readRuleSetFile } from './settings.ts';
import { YamlFile } from './yaml-file.ts';

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
  const verdicts = open('verdicts.yaml', (file) => readVerdicts(file, names));
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
