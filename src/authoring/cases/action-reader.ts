import { DECIMAL_PATTERN, REQUESTED_CURRENCY_PATTERN } from '../../client/amount.ts';
import { OVERRIDE_GROUPS } from '../../client/client-state.ts';
import { OUTCOME_CAUSES, OUTCOMES } from '../../client/order.ts';
import type { ScoreBody, VerdictBody } from '../../decision/request-bodies.ts';
import type { Members, YamlFile, YamlNode } from '../../rules/parse/yaml-file.ts';
import { CaseMembers } from './case-members.ts';
import type { StepKind } from './expectations.ts';
import type { Action } from './rule-case.ts';

/** An ordinary payer at an ordinary checkout; a case names only what matters to it. */
const PAYER = { sellPointKey: 'shop-1', amountRequested: '25.00', method: 'card', orderRef: 'order-1' };
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

const DECIMAL = new RegExp(DECIMAL_PATTERN);
const REQUESTED_CURRENCY = new RegExp(REQUESTED_CURRENCY_PATTERN);

/** Reads what happens in a step of a case. */
export class ActionReader {
  readonly #file: YamlFile;
  readonly #members: CaseMembers;

  constructor(file: YamlFile) {
    this.#file = file;
    this.#members = new CaseMembers(file);
  }

  /** Null when it is not sound, which is then reported. */
  read(kind: StepKind, node: YamlNode, clientIdKey: string): Action | null {
    if (this.#file.isNull(node) && (kind === 'score' || kind === 'verdict')) {
      return this.#file.report(node, `${kind} has no request; {} is the one of an ordinary payer`);
    }
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
    const text = (name: string) => optionalMember(name, this.#members.optionalText(members, name, null));
    const body: ScoreBody = {
      clientIdKey,
      sellPointKey: this.#members.text(members, 'sellPointKey', PAYER.sellPointKey),
      amountRequested: this.#amount(members),
      selectedMethodKey: this.#members.text(members, 'selectedMethodKey', PAYER.method),
      ...this.#currency(members),
      ...text('fingerprint'),
      ...text('ip'),
      ...optionalMember('userAgent', this.#members.optionalText(members, 'userAgent', BROWSER)),
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
      sellPointKey: this.#members.text(members, 'sellPointKey', PAYER.sellPointKey),
      amountRequested: this.#amount(members),
      method: this.#members.text(members, 'method', PAYER.method),
      orderRef: this.#members.text(members, 'orderRef', PAYER.orderRef),
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
      orderRef: this.#members.text(members, 'orderRef', PAYER.orderRef),
      outcome,
      cause: cause === undefined ? null : this.#file.choice(cause.value, 'cause', OUTCOME_CAUSES),
      agoMs: this.#members.duration(members, 'ago', 0),
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
    const requisiteRef = this.#members.optionalText(members, 'requisiteRef', null);
    const items = keys === undefined ? null : this.#file.items(keys.value, 'acceptorKeys');
    if (members === null || requisiteRef === null || items === null) return null;
    const acceptorKeys = items
      .map((item) => this.#file.text(item, 'an acceptor key'))
      .filter((key) => key !== null);
    const method = this.#members.optionalText(members, 'method', null);
    const expiresAfterMs = this.#members.duration(members, 'expiresAfter', null);
    return { kind: 'binding', binding: { requisiteRef, acceptorKeys, method, expiresAfterMs } };
  }

  /** `override: BLOCKED`, or `{ group, expiresAfter }`; `override: null` lifts it. */
  #override(node: YamlNode): Action | null {
    if (this.#file.isNull(node)) return { kind: 'override', override: null };
    if (typeof this.#file.plain(node) === 'string') return this.#overrideTo(node, null);
    const members = this.#file.members(node, 'override', ['group', 'expiresAfter'], ['group']);
    const group = members?.get('group');
    if (members === null || group === undefined) return null;
    return this.#overrideTo(group.value, this.#members.duration(members, 'expiresAfter', null));
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
    const currency = this.#members.optionalText(members, 'toPayCurrency', null);
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
