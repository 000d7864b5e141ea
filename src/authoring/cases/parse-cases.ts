import { hash } from 'node:crypto';
import { DECIMAL_PATTERN, REQUESTED_CURRENCY_PATTERN } from '../../client/amount.ts';
import {
  isPlatformName,
  PLATFORM_NAME_FORM,
  type PlatformName,
  platformName,
} from '../../client/client-key.ts';
import { OVERRIDE_GROUPS } from '../../client/client-state.ts';
import { toEpochMs } from '../../client/instant.ts';
import { OUTCOME_CAUSES, OUTCOMES } from '../../client/order.ts';
import type { Pseudonym, ScoreBody, VerdictBody } from '../../decision/requests.ts';
import {
  LIST_KINDS,
  ListMembership,
  NO_LISTS,
  readListValue,
  type SharedLists,
} from '../../decision/shared-lists.ts';
import type { RuleFiles } from '../../rules/parse/parse.ts';
import { type Member, type Members, YamlFile, type YamlNode } from '../../rules/parse/yaml-file.ts';
import type { Problem } from '../../rules/problem.ts';
import { isName, listNameRefusal, type ParsedRules } from '../../rules/rule-set.ts';
import {
  type Action,
  type CaseStep,
  type RuleCase,
  readExpectations,
  readHeldOut,
  STEP_KINDS,
  type StepKind,
} from './expectations.ts';

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
    cases.push(...new CaseReader(rules, new CaseFile(path, text, problems)).read());
  }
  refuseNamesakes(cases, problems);
  return cases;
}

/** A report names a case, so two cases may not share a name. */
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

/** An ordinary payer at an ordinary checkout; a case names only what matters to it. */
const PAYER = { sellPointKey: 'shop-1', amountRequested: '25.00', method: 'card', orderRef: 'order-1' };
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

const DECIMAL = new RegExp(DECIMAL_PATTERN);
const REQUESTED_CURRENCY = new RegExp(REQUESTED_CURRENCY_PATTERN);

class CaseReader {
  readonly #rules: ParsedRules;
  readonly #file: CaseFile;

  constructor(rules: ParsedRules, file: CaseFile) {
    this.#rules = rules;
    this.#file = file;
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
    const name = this.#file.optionalText(members, 'name', null);
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
    const clientIdKey = this.#file.textOf(members, 'client', DEFAULT_CLIENT);
    const action = this.#action(kind, member.value, clientIdKey);
    const expected = members.get('expect');
    const expect = expected === undefined ? [] : readExpectations(this.#file, kind, expected, this.#rules);
    if (action === null) return null;
    return {
      afterMs: this.#file.durationOf(members, 'after', 0),
      clientIdKey,
      action,
      times: this.#times(members),
      everyMs: this.#file.durationOf(members, 'every', 0),
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

  /** Null when it is not sound; it has reported why. */
  #action(kind: StepKind, node: YamlNode, clientIdKey: string): Action | null {
    if (this.#file.isNull(node) && (kind === 'score' || kind === 'verdict')) {
      return this.#file.report(node, `${kind} has no request; {} is the one of an ordinary payer`);
    }
    const read: Readonly<Record<StepKind, () => Action | null>> = {
      score: () => this.#score(node, clientIdKey),
      verdict: () => this.#verdict(node, clientIdKey),
      outcome: () => this.#outcome(node),
      binding: () => this.#binding(node),
      override: () => this.#override(node),
    };
    return read[kind]();
  }

  #score(node: YamlNode, clientIdKey: string): Action | null {
    const names = [
      'sellPointKey',
      'amountRequested',
      'selectedMethodKey',
      'toPayCurrency',
      'fingerprint',
      'ip',
      'userAgent',
      'clientHints',
    ];
    const members = this.#file.members(node, 'score', names, []);
    if (members === null) return null;
    const hints = members.get('clientHints');
    const text = (name: string) => optionalMember(name, this.#file.optionalText(members, name, null));
    const body: ScoreBody = {
      clientIdKey,
      sellPointKey: this.#file.textOf(members, 'sellPointKey', PAYER.sellPointKey),
      amountRequested: this.#amount(members),
      selectedMethodKey: this.#file.textOf(members, 'selectedMethodKey', PAYER.method),
      ...this.#currency(members),
      ...text('fingerprint'),
      ...text('ip'),
      ...optionalMember('userAgent', this.#file.optionalText(members, 'userAgent', BROWSER)),
      ...(hints === undefined ? {} : { clientHints: this.#hints(hints.value) }),
    };
    return { kind: 'score', body };
  }

  #hints(node: YamlNode): NonNullable<ScoreBody['clientHints']> {
    const members = this.#file.members(node, 'clientHints', ['jsOk', 'honeypotTriggered'], []);
    const flag = (name: 'jsOk' | 'honeypotTriggered') => {
      const member = members?.get(name);
      return member === undefined ? {} : optionalMember(name, this.#file.boolean(member.value, name));
    };
    return { ...flag('jsOk'), ...flag('honeypotTriggered') };
  }

  #verdict(node: YamlNode, clientIdKey: string): Action | null {
    const members = this.#file.members(node, 'verdict', [...Object.keys(PAYER), 'toPayCurrency'], []);
    if (members === null) return null;
    const body: VerdictBody = {
      clientIdKey,
      sellPointKey: this.#file.textOf(members, 'sellPointKey', PAYER.sellPointKey),
      amountRequested: this.#amount(members),
      method: this.#file.textOf(members, 'method', PAYER.method),
      orderRef: this.#file.textOf(members, 'orderRef', PAYER.orderRef),
      ...this.#currency(members),
    };
    return { kind: 'verdict', body };
  }

  #outcome(node: YamlNode): Action | null {
    const members = this.#file.members(node, 'outcome', ['orderRef', 'outcome', 'cause', 'ago'], ['outcome']);
    const member = members?.get('outcome');
    const cause = members?.get('cause');
    const outcome = member === undefined ? null : this.#file.choice(member.value, 'outcome', OUTCOMES);
    if (members === null || outcome === null) return null;
    return {
      kind: 'outcome',
      orderRef: this.#file.textOf(members, 'orderRef', PAYER.orderRef),
      outcome,
      cause: cause === undefined ? null : this.#file.choice(cause.value, 'cause', OUTCOME_CAUSES),
      agoMs: this.#file.durationOf(members, 'ago', 0),
    };
  }

  /** `binding: null` unbinds. */
  #binding(node: YamlNode): Action | null {
    if (this.#file.isNull(node)) return { kind: 'binding', binding: null };
    const members = this.#file.members(
      node,
      'binding',
      ['requisiteRef', 'acceptorKeys', 'method', 'expiresAfter'],
      ['requisiteRef', 'acceptorKeys'],
    );
    const keys = members?.get('acceptorKeys');
    const requisiteRef = this.#file.optionalText(members, 'requisiteRef', null);
    const items = keys === undefined ? null : this.#file.items(keys.value, 'acceptorKeys');
    if (members === null || requisiteRef === null || items === null) return null;
    const acceptorKeys = items
      .map((item) => this.#file.text(item, 'an acceptor key'))
      .filter((key) => key !== null);
    const method = this.#file.optionalText(members, 'method', null);
    const expiresAfterMs = this.#file.durationOf(members, 'expiresAfter', null);
    return { kind: 'binding', binding: { requisiteRef, acceptorKeys, method, expiresAfterMs } };
  }

  /** `override: BLOCKED`, or `{ group, expiresAfter }`; `override: null` lifts it. */
  #override(node: YamlNode): Action | null {
    if (this.#file.isNull(node)) return { kind: 'override', override: null };
    if (typeof this.#file.plain(node) === 'string') return this.#overrideTo(node, null);
    const members = this.#file.members(node, 'override', ['group', 'expiresAfter'], ['group']);
    const group = members?.get('group');
    if (members === null || group === undefined) return null;
    return this.#overrideTo(group.value, this.#file.durationOf(members, 'expiresAfter', null));
  }

  #overrideTo(node: YamlNode, expiresAfterMs: number | null): Action | null {
    const group = this.#file.choice(node, 'override', OVERRIDE_GROUPS);
    return group === null ? null : { kind: 'override', override: { group, expiresAfterMs } };
  }

  #amount(members: Members): string {
    const member = members.get('amountRequested');
    if (member === undefined) return PAYER.amountRequested;
    const value = this.#file.plain(member.value);
    if (typeof value === 'string' && DECIMAL.test(value)) return value;
    this.#file.report(member.value, 'amountRequested must be a decimal number in quotes, like "25.00"');
    return PAYER.amountRequested;
  }

  #currency(members: Members): { readonly toPayCurrency?: string } {
    const currency = this.#file.optionalText(members, 'toPayCurrency', null);
    const member = members.get('toPayCurrency');
    if (currency !== null && member !== undefined && !REQUESTED_CURRENCY.test(currency)) {
      this.#file.report(
        member.value,
        `toPayCurrency must be 3 or 4 letters or digits, like EUR, not "${currency}"`,
      );
    }
    return optionalMember('toPayCurrency', currency);
  }
}

function optionalMember<Name extends string, T>(name: Name, value: T | null): { readonly [key in Name]?: T } {
  const members: { [key in Name]?: T } = {};
  if (value !== null) members[name] = value;
  return members;
}

/** Reads the members that cases and their steps share the form of. */
class CaseFile extends YamlFile {
  /** A text that the request cannot do without; `fallback` when the case does not name it. */
  textOf(members: Members, name: string, fallback: string): string {
    const member = members.get(name);
    return member === undefined ? fallback : (this.text(member.value, name) ?? fallback);
  }

  /** `null` in the file means that the member is left out. */
  optionalText(members: Members | null, name: string, fallback: string | null): string | null {
    const member = members?.get(name);
    if (member === undefined) return fallback;
    return this.isNull(member.value) ? null : this.text(member.value, name);
  }

  durationOf<T extends number | null>(members: Members, name: string, fallback: T): number | T {
    const member = members.get(name);
    return member === undefined ? fallback : (this.duration(member.value, name) ?? fallback);
  }
}

/** Nothing of a case is stored, so no secret is needed. */
export const CASE_PSEUDONYM: Pseudonym = (kind, text) =>
  hash('sha256', `${kind} ${text}`, 'base64url').slice(0, 22);

/** The shared lists of a case: `lists: { blocked-devices: { kind: fingerprint, entries: [device-1] } }`. */
function readCaseLists(file: YamlFile, member: Member | undefined, platform: PlatformName): SharedLists {
  if (member === undefined) return NO_LISTS;
  const membership = new ListMembership();
  for (const [list, { key, value }] of file.anyMembers(member.value, 'lists') ?? []) {
    if (!isName(list)) {
      file.report(key, listNameRefusal(list));
      continue;
    }
    for (const entry of entriesOf(file, value)) {
      membership.add({ owner: platform, list, expiresAt: null, ...entry });
    }
  }
  return membership;
}

function entriesOf(file: YamlFile, node: YamlNode) {
  const members = file.members(node, 'a shared list', ['kind', 'entries'], ['kind', 'entries']);
  const kindMember = members?.get('kind');
  const kind = kindMember === undefined ? null : file.choice(kindMember.value, 'kind', LIST_KINDS);
  const entries = members?.get('entries');
  if (kind === null || entries === undefined) return [];
  return (file.items(entries.value, '"entries"') ?? []).flatMap((item) => {
    const text = file.text(item, 'an entry');
    if (text === null) return [];
    const read = readListValue(kind, text, CASE_PSEUDONYM);
    if (read.ok) return [{ kind, value: read.value, keys: read.keys }];
    file.report(item, read.problem);
    return [];
  });
}
