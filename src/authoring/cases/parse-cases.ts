import {
  isPlatformName,
  PLATFORM_NAME_FORM,
  type PlatformName,
  platformName,
} from '../../client/client-key.ts';
import { toEpochMs } from '../../client/instant.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { type Member, type Members, YamlFile, type YamlNode } from '../../rules/parse/yaml-file.ts';
import type { Problem } from '../../rules/problem.ts';
import type { ParsedRules } from '../../rules/rule-set.ts';
import { ActionReader } from './action-reader.ts';
import { readCaseLists } from './case-lists.ts';
import { CaseMembers } from './case-members.ts';
import { readExpectations, readHeldOut, STEP_KINDS } from './expectations.ts';
import type { CaseStep, RuleCase } from './rule-case.ts';

const DEFAULT_CLIENT = 'payer-1';
const DEFAULT_PLATFORM = platformName('demo');
const DEFAULT_START = Date.UTC(2026, 0, 1);

const TIMES_MAX = 1000;

const CASE_MEMBERS = ['name', 'platform', 'startsAt', 'lists', 'heldOut', 'steps'];

/** The cases in `cases/*.yaml`; what is wrong with them is added to `problems`. */
export function parseCases(rules: ParsedRules, files: RuleFiles, problems: Problem[]): readonly RuleCase[] {
  const cases: RuleCase[] = [];
  for (const [path, text] of files) {
    if (!path.startsWith('cases/')) continue;
    cases.push(...new CaseReader(rules, new YamlFile(path, text, problems)).read());
  }
  refuseNamesakes(cases, problems);
  return cases;
}

/** A report names a case; two of one name would leave open which is meant. */
function refuseNamesakes(cases: readonly RuleCase[], problems: Problem[]): void {
  const first = new Map<string, RuleCase>();
  for (const ruleCase of cases) {
    const { name, at } = ruleCase;
    const taken = first.get(name)?.at;
    if (taken === undefined) first.set(name, ruleCase);
    else
      problems.push({
        at,
        message: `the name "${name}" is taken by the case at ${taken.file}:${taken.line}`,
      });
  }
}

class CaseReader {
  readonly #rules: ParsedRules;
  readonly #file: YamlFile;
  readonly #members: CaseMembers;
  readonly #actions: ActionReader;

  constructor(rules: ParsedRules, file: YamlFile) {
    this.#rules = rules;
    this.#file = file;
    this.#members = new CaseMembers(file);
    this.#actions = new ActionReader(file);
  }

  read(): readonly RuleCase[] {
    const { root } = this.#file;
    if (root === null) return [];
    const list = this.#file.members(root, 'the file', ['cases'], ['cases'])?.get('cases');
    const nodes = list === undefined ? null : this.#file.items(list.value, '"cases"');
    return (nodes ?? []).map((node) => this.#case(node)).filter((found) => found !== null);
  }

  #case(node: YamlNode): RuleCase | null {
    const members = this.#file.members(node, 'a case', CASE_MEMBERS, ['name', 'steps']);
    const name = this.#members.optionalText(members, 'name', null);
    const platform = this.#platform(members);
    const steps = members?.get('steps');
    const nodes = steps === undefined ? null : this.#file.items(steps.value, '"steps"');
    const startsAt = this.#start(members?.get('startsAt'));
    if (name === null || platform === null || startsAt === null || nodes === null) return null;
    const read = nodes.map((step) => this.#step(step)).filter((step) => step !== null);
    const lists = readCaseLists(this.#file, members?.get('lists'), platform);
    const heldOut = readHeldOut(this.#file, members?.get('heldOut')?.value, this.#rules);
    if (read.length < nodes.length) return null;
    return { name, platform, lists, heldOut, startsAt, steps: read, at: this.#file.at(node) };
  }

  #start(member: Member | undefined): number | null {
    if (member === undefined) return DEFAULT_START;
    const text = this.#file.text(member.value, 'startsAt');
    const startsAt = toEpochMs(text);
    if (text === null || startsAt !== null) return startsAt;
    return this.#file.report(
      member.value,
      `startsAt must be a moment with its offset, like "2026-07-03T23:30:00+02:00", not "${text}"`,
    );
  }

  #platform(members: Members | null): PlatformName | null {
    const member = members?.get('platform');
    if (member === undefined) return DEFAULT_PLATFORM;
    const text = this.#file.text(member.value, 'platform');
    if (text === null || isPlatformName(text)) return text;
    return this.#file.report(member.value, `platform must have ${PLATFORM_NAME_FORM}`);
  }

  #step(node: YamlNode): CaseStep | null {
    const members = this.#file.members(
      node,
      'a step',
      ['after', 'client', ...STEP_KINDS, 'times', 'every', 'expect'],
      [],
    );
    if (members === null) return null;
    const kinds = STEP_KINDS.filter((kind) => members.has(kind));
    const [kind] = kinds;
    const member = kind === undefined ? undefined : members.get(kind);
    if (kind === undefined || member === undefined || kinds.length > 1) {
      const found = kinds.length === 0 ? 'none' : kinds.join(' and ');
      return this.#file.report(node, `a step has exactly one of ${STEP_KINDS.join(', ')}; here is ${found}`);
    }
    const clientIdKey = this.#members.text(members, 'client', DEFAULT_CLIENT);
    const action = this.#actions.read(kind, member.value, clientIdKey);
    const expected = members.get('expect');
    const expect = expected === undefined ? [] : readExpectations(this.#file, kind, expected, this.#rules);
    if (action === null) return null;
    return {
      afterMs: this.#members.duration(members, 'after', 0),
      clientIdKey,
      action,
      times: this.#times(members),
      everyMs: this.#members.duration(members, 'every', 0),
      expect,
      at: this.#file.at(node),
    };
  }

  #times(members: Members): number {
    const member = members.get('times');
    const every = members.get('every');
    if (member === undefined) {
      if (every !== undefined) this.#file.report(every.key, '"every" says nothing without "times"');
      return 1;
    }
    return this.#file.number(member.value, 'times', { min: 1, max: TIMES_MAX, integer: true }) ?? 1;
  }
}
