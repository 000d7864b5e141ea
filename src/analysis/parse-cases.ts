import { isPlatformName, PLATFORM_NAME_FORM, type PlatformName, platformName } from '../client/client-key.ts';
import { OVERRIDE_GROUPS, type OverrideGroup } from '../client/client-state.ts';
import { OUTCOME_CAUSES, OUTCOMES, type Outcome, type OutcomeCause } from '../client/outcomes.ts';
import type { ScoreBody, VerdictBody } from '../decision/bodies.ts';
import type { RuleFiles } from '../rules/parse.ts';
import type { Location, Problem } from '../rules/problem.ts';
import { type Members, YamlFile, type YamlNode } from '../rules/yaml-file.ts';

/** A test of a rule set: what one or more payers do, and what the rules must answer. */
export interface RuleCase {
  readonly name: string;
  readonly platform: PlatformName;
  readonly steps: readonly Step[];
  readonly at: Location;
}

/** Something that happens `afterMs` after the step before it. */
export interface Step {
  readonly afterMs: number;
  readonly clientIdKey: string;
  readonly action: Action;
  /** How often the action happens, `everyMs` apart; expectations are about the last time. */
  readonly times: number;
  readonly everyMs: number;
  readonly expect: readonly Expectation[];
  readonly at: Location;
}

export type Action =
  | { readonly kind: 'score'; readonly body: ScoreBody }
  | { readonly kind: 'verdict'; readonly body: VerdictBody }
  | {
      readonly kind: 'outcome';
      readonly orderRef: string;
      readonly outcome: Outcome;
      readonly cause: OutcomeCause | null;
    }
  | { readonly kind: 'binding'; readonly binding: CaseBinding | null }
  | { readonly kind: 'override'; readonly group: OverrideGroup | null };

interface CaseBinding {
  readonly requisiteRef: string;
  readonly acceptorKeys: readonly string[];
  readonly method: string | null;
}

/** One member that the answer must have with this value; null means that it must not be there. */
export interface Expectation {
  readonly member: string;
  readonly value: unknown;
  readonly at: Location;
}

const KINDS = ['score', 'verdict', 'outcome', 'binding', 'override'] as const;

const EXPECTABLE = {
  score: ['clientGroup', 'paymentScore', 'isBot', 'signals', 'preferredAcceptorKey', 'payLimitValue'],
  verdict: [
    'verdict',
    'waitSeconds',
    'stickyRequisiteRef',
    'reason',
    'ruleVersion',
    'isBot',
    'rule',
    'clientGroup',
    'paymentScore',
    'signals',
  ],
  outcome: [],
  binding: [],
  override: [],
} as const satisfies Record<(typeof KINDS)[number], readonly string[]>;

/** An ordinary payer at an ordinary checkout; a case names only what matters to it. */
const PAYER = { sellPointKey: 'shop-1', amountRequested: '25.00', method: 'card', orderRef: 'order-1' };
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const DEFAULT_CLIENT = 'payer-1';
const DEFAULT_PLATFORM = platformName('demo');

const MAX_TIMES = 1000;

/** The cases in `cases/*.yaml`; what is wrong with them is added to `problems`. */
export function parseCases(files: RuleFiles, problems: Problem[]): readonly RuleCase[] {
  const cases: RuleCase[] = [];
  for (const [path, text] of files) {
    if (path.startsWith('cases/')) cases.push(...new CaseReader(new YamlFile(path, text, problems)).read());
  }
  return cases;
}

class CaseReader {
  readonly #file: YamlFile;

  constructor(file: YamlFile) {
    this.#file = file;
  }

  read(): readonly RuleCase[] {
    const list =
      this.#file.root === null
        ? null
        : this.#file.members(this.#file.root, 'the file', ['cases'], ['cases'])?.get('cases');
    const nodes = list === undefined || list === null ? null : this.#file.items(list.value, '"cases"');
    return (nodes ?? []).map((node) => this.#case(node)).filter((found) => found !== null);
  }

  #case(node: YamlNode): RuleCase | null {
    const members = this.#file.members(node, 'a case', ['name', 'platform', 'steps'], ['name', 'steps']);
    const name = this.#text(members, 'name', null);
    const platform = this.#platform(members);
    const steps = members?.get('steps');
    const nodes = steps === undefined ? null : this.#file.items(steps.value, '"steps"');
    if (name === null || platform === null || nodes === null) return null;
    const read = nodes.map((step) => this.#step(step)).filter((step) => step !== null);
    return read.length === nodes.length ? { name, platform, steps: read, at: this.#file.at(node) } : null;
  }

  #platform(members: Members | null): PlatformName | null {
    const member = members?.get('platform');
    if (member === undefined) return DEFAULT_PLATFORM;
    const text = this.#file.text(member.value, 'platform');
    if (text === null || isPlatformName(text)) return text;
    return this.#file.report(member.value, `platform must have ${PLATFORM_NAME_FORM}`);
  }

  #step(node: YamlNode): Step | null {
    const members = this.#file.members(
      node,
      'a step',
      ['after', 'client', ...KINDS, 'times', 'every', 'expect'],
      [],
    );
    if (members === null) return null;
    const kinds = KINDS.filter((kind) => members.has(kind));
    const [kind] = kinds;
    const member = kind === undefined ? undefined : members.get(kind);
    if (kind === undefined || member === undefined || kinds.length > 1) {
      return this.#file.report(node, `a step has exactly one of ${KINDS.join(', ')}`);
    }
    const clientIdKey = this.#text(members, 'client', DEFAULT_CLIENT) ?? DEFAULT_CLIENT;
    const action = this.#action(kind, member.value, clientIdKey);
    const expect = this.#expectations(members, EXPECTABLE[kind]);
    if (action === null) return null;
    return {
      afterMs: this.#duration(members, 'after', 0),
      clientIdKey,
      action,
      times: this.#times(members),
      everyMs: this.#duration(members, 'every', 0),
      expect,
      at: this.#file.at(node),
    };
  }

  #action(kind: (typeof KINDS)[number], node: YamlNode, clientIdKey: string): Action | null {
    switch (kind) {
      case 'score':
        return this.#score(node, clientIdKey);
      case 'verdict':
        return this.#verdict(node, clientIdKey);
      case 'outcome':
        return this.#outcome(node);
      case 'binding':
        return this.#binding(node);
      case 'override':
        return this.#override(node);
      default:
        return kind satisfies never;
    }
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
    const text = (name: string) => optionalMember(name, this.#text(members, name, null));
    const body: ScoreBody = {
      clientIdKey,
      sellPointKey: this.#text(members, 'sellPointKey', PAYER.sellPointKey) ?? '',
      amountRequested: this.#text(members, 'amountRequested', PAYER.amountRequested) ?? '',
      selectedMethodKey: this.#text(members, 'selectedMethodKey', PAYER.method) ?? '',
      ...text('toPayCurrency'),
      ...text('fingerprint'),
      ...text('ip'),
      ...optionalMember('userAgent', this.#text(members, 'userAgent', BROWSER)),
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
      sellPointKey: this.#text(members, 'sellPointKey', PAYER.sellPointKey) ?? '',
      amountRequested: this.#text(members, 'amountRequested', PAYER.amountRequested) ?? '',
      method: this.#text(members, 'method', PAYER.method) ?? '',
      orderRef: this.#text(members, 'orderRef', PAYER.orderRef) ?? '',
      ...optionalMember('toPayCurrency', this.#text(members, 'toPayCurrency', null)),
    };
    return { kind: 'verdict', body };
  }

  #outcome(node: YamlNode): Action | null {
    const members = this.#file.members(node, 'outcome', ['orderRef', 'outcome', 'cause'], ['outcome']);
    const member = members?.get('outcome');
    const cause = members?.get('cause');
    const outcome = member === undefined ? null : this.#file.choice(member.value, 'outcome', OUTCOMES);
    if (members === null || outcome === null) return null;
    const orderRef = this.#text(members, 'orderRef', PAYER.orderRef) ?? '';
    return {
      kind: 'outcome',
      orderRef,
      outcome,
      cause: cause === undefined ? null : this.#file.choice(cause.value, 'cause', OUTCOME_CAUSES),
    };
  }

  /** `binding: null` unbinds. */
  #binding(node: YamlNode): Action | null {
    if (this.#file.isNull(node)) return { kind: 'binding', binding: null };
    const members = this.#file.members(
      node,
      'binding',
      ['requisiteRef', 'acceptorKeys', 'method'],
      ['requisiteRef', 'acceptorKeys'],
    );
    const keys = members?.get('acceptorKeys');
    const requisiteRef = this.#text(members, 'requisiteRef', null);
    const items = keys === undefined ? null : this.#file.items(keys.value, 'acceptorKeys');
    if (requisiteRef === null || items === null) return null;
    const acceptorKeys = items
      .map((item) => this.#file.text(item, 'an acceptor key'))
      .filter((key) => key !== null);
    return {
      kind: 'binding',
      binding: { requisiteRef, acceptorKeys, method: this.#text(members, 'method', null) },
    };
  }

  /** `override: null` lifts it. */
  #override(node: YamlNode): Action | null {
    if (this.#file.isNull(node)) return { kind: 'override', group: null };
    const group = this.#file.choice(node, 'override', OVERRIDE_GROUPS);
    return group === null ? null : { kind: 'override', group };
  }

  #expectations(members: Members, allowed: readonly string[]): readonly Expectation[] {
    const member = members.get('expect');
    if (member === undefined) return [];
    const expected = this.#file.members(member.value, 'expect', allowed, []);
    return [...(expected ?? [])].map(([name, { key, value }]) => ({
      member: name,
      value: this.#file.plain(value),
      at: this.#file.at(key),
    }));
  }

  /** A text; `null` in the file means that the member is left out. */
  #text(members: Members | null, name: string, fallback: string | null): string | null {
    const member = members?.get(name);
    if (member === undefined) return fallback;
    return this.#file.isNull(member.value) ? null : this.#file.text(member.value, name);
  }

  #duration(members: Members, name: string, fallback: number): number {
    const member = members.get(name);
    return member === undefined ? fallback : (this.#file.duration(member.value, name) ?? fallback);
  }

  #times(members: Members): number {
    const member = members.get('times');
    if (member === undefined) return 1;
    return this.#file.number(member.value, 'times', { min: 1, max: MAX_TIMES, integer: true }) ?? 1;
  }
}

function optionalMember<Name extends string, T>(name: Name, value: T | null): { readonly [key in Name]?: T } {
  const members: { [key in Name]?: T } = {};
  if (value !== null) members[name] = value;
  return members;
}
