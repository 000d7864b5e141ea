import { hash } from 'node:crypto';
import { NamedError } from '#base/named-error.ts';
import {
  DECISION_MEMBER_NAMES,
  type Decision,
  formatReason,
  OTHERWISE,
  type RenderableReasonPart,
} from './decision.ts';
import { CLIENT_GROUPS } from './decision-words.ts';
import type { NullableFactValue } from './facts/fact.ts';
import { BASE64_DIGITS, formatDecisionId, type PlatformName, parseBase64Digit } from './payer/client-key.ts';
import { getRemainingWaitMs, type Ladder } from './payer/ladder.ts';
import { formatPaymentScore } from './payer/payment-score.ts';
import type { FactRef } from './rules/condition.ts';
import type { RuleSet, RuleVersion, Verdict } from './rules/rule-set.ts';

/**
 * The part that all decisions of one rule set share: the names of facts, signals and rules, and the texts of reasons.
 * This shape is stored once, and records contain indexes into its lists.
 */
export interface RecordDictionary {
  /** A hash of the content. Two services that record different facts for the same rule set have different shapes. */
  readonly id: string;
  /** The stored form, which `parseRecordDictionary` reads. */
  readonly text: string;
  readonly contents: ShapeContents;
}

interface ShapeContents {
  readonly ruleVersion: RuleVersion;
  readonly digest: string;
  readonly facts: readonly ShapeFact[];
  readonly signals: readonly string[];
  /** Rules in the sequence of the rule set, with `otherwise` last. */
  readonly rules: readonly ShapeRule[];
}

interface ShapeFact {
  readonly label: string;
  /** Whether the fact is a boolean that always has a value. A record writes it as one bit. */
  readonly flag: boolean;
  /** The values of an enum, or of a boolean that may be not known. A record writes the index of the value. */
  readonly words?: readonly (string | boolean)[];
}

interface ShapeRule {
  readonly name: string;
  readonly verdict: Verdict;
  readonly reason: readonly RenderableReasonPart[];
}

const shapes = new WeakMap<RuleSet, RecordDictionary>();

/** Returns the shape of a rule set's decisions. The shape is made once for each rule set. */
export function getRecordDictionary(rules: RuleSet): RecordDictionary {
  return shapes.getOrInsertComputed(rules, () =>
    parseRecordDictionary(JSON.stringify(buildShapeContents(rules))),
  );
}

/** Parses a shape from its stored text. */
export function parseRecordDictionary(text: string): RecordDictionary {
  return { id: hash('sha256', text, 'base64url').slice(0, 6), text, contents: JSON.parse(text) };
}

function buildShapeContents({ version, digest, facts, signals, verdicts }: RuleSet): ShapeContents {
  const rule = (name: string, { verdict, reason }: (typeof verdicts)['otherwise']): ShapeRule => ({
    name,
    verdict,
    reason: reason.map((part) =>
      part.kind === 'fact' ? { kind: 'fact', fact: { index: part.fact.index } } : part,
    ),
  });
  return {
    ruleVersion: version,
    digest,
    facts: facts.map(toShapeFact),
    signals: signals.rules.map(({ name }) => name),
    rules: [
      ...verdicts.rules.map(({ name, params }) => rule(name, params)),
      rule(OTHERWISE, verdicts.otherwise),
    ],
  };
}

function toShapeFact({ label, fact: { domain, absence } }: FactRef): ShapeFact {
  if (domain.type === 'enum') return { label, flag: false, words: domain.values };
  if (domain.type !== 'boolean') return { label, flag: false };
  return absence === undefined ? { label, flag: true } : { label, flag: false, words: [false, true] };
}

/**
 * The format number at the beginning of a stored decision. The JSON of a DecisionRow follows. A member that can be
 * computed from the shape and the other members is left out. If its value differs from the computed one, `rest` has
 * the value by name. A decision without a fitting shape is stored as plain JSON.
 */
const FORMAT = '1';

type LadderCell = number | [levelAndAttempt: number, waitRemainingMs: number];

/**
 * The values of the facts in the sequence of the shape. The first item is a text. It has all flags, six in a
 * character, and then one character for each other value. The values that do not fit into a character are the next
 * items.
 */
type FactsRow = [characters: string, ...longer: (number | string)[]];

type DecisionRow = [
  shapeId: string,
  seq: number,
  at: number,
  platform: PlatformName,
  sellPointKey: string,
  clientIdKey: string,
  orderRef: string,
  requestId: string,
  rule: number,
  ladderBefore: LadderCell,
  ladderAfter: LadderCell,
  signals: number[],
  facts: FactsRow,
  rest?: Partial<Decision>,
];

/** A stored decision record cannot be decoded, or names a rule or a shape that is not there. */
export class RecordDamaged extends NamedError {}

/** Encodes a decision as the text to store. `parseDecisionOrRow` and `decodeDecisionRow` give the same decision back. */
export function encodeDecision(decision: Decision, shape?: RecordDictionary): string {
  const row = shape === undefined ? null : encodeRow(decision, shape);
  return row === null ? JSON.stringify(decision) : FORMAT + JSON.stringify(row);
}

/**
 * Parses a stored text to a whole decision, or to a row. `decodeDecisionRow` converts a row to a decision with the
 * row's shape. Throws RecordDamaged if the text begins with another format number.
 */
export function parseDecisionOrRow(text: string): Decision | DecisionRow {
  if (text.startsWith(FORMAT)) return JSON.parse(text.slice(FORMAT.length));
  if (text.startsWith('{')) return JSON.parse(text);
  throw new RecordDamaged(
    `a decision record begins with "${text.slice(0, 1)}"; this version reads "${FORMAT}" and "{"`,
  );
}

/** Whether a record needs its shape to be read. */
export function isDecisionRow(record: Decision | DecisionRow): record is DecisionRow {
  return Array.isArray(record);
}

/**
 * Converts a row to its decision. `clientHash` is the hash of the client's key. Throws RecordDamaged if the row names
 * a rule that the shape lacks.
 */
export function decodeDecisionRow(
  row: DecisionRow,
  clientHash: string,
  { contents }: RecordDictionary,
): Decision {
  const [, seq, at, platform, sellPointKey, clientIdKey, orderRef, requestId, ...judged] = row;
  const [ruleIndex, before, after, signals, cells, rest] = judged;
  const rule = contents.rules[ruleIndex];
  if (rule === undefined) throw new RecordDamaged(`a decision record names rule ${ruleIndex}`);
  const values = unpackFacts(cells, contents.facts, unpackUuid(sellPointKey));
  const facts: Record<string, NullableFactValue> = {};
  for (const [index, { label }] of contents.facts.entries()) facts[label] = values[index] ?? null;
  const ladderAfter = decodeLadder(after, at);
  return {
    decisionId: formatDecisionId(clientHash, seq, at),
    seq,
    at,
    platform,
    sellPointKey: unpackUuid(sellPointKey),
    clientIdKey: unpackUuid(clientIdKey),
    orderRef: unpackUuid(orderRef),
    requestId: unpackUuid(requestId),
    ruleVersion: contents.ruleVersion,
    digest: contents.digest,
    ...deriveMembers(rule, values, facts, ladderAfter, at),
    rule: rule.name,
    signals: signals.map((index) => contents.signals[index] ?? ''),
    facts,
    ladderBefore: decodeLadder(before, at),
    ladderAfter,
    ...rest,
  };
}

type DerivedMembers = Pick<
  Decision,
  'arm' | 'verdict' | 'waitSeconds' | 'reason' | 'isBot' | 'clientGroup' | 'paymentScore'
>;

/**
 * Computes the members that follow from the rule, the facts and the ladder. If a fact is not recorded, its member has
 * the value of a new client.
 */
function deriveMembers(
  { verdict, reason }: ShapeRule,
  values: readonly NullableFactValue[],
  { isBot, clientGroup, paymentScore }: Decision['facts'],
  ladderAfter: Ladder,
  at: number,
): DerivedMembers {
  const waitSeconds = Math.ceil(getRemainingWaitMs(ladderAfter, at) / 1000);
  return {
    arm: 'active',
    verdict,
    ...(verdict === 'WAIT' ? { waitSeconds } : {}),
    reason: formatReason(reason, values, { waitSeconds, ladderLevelAfter: ladderAfter.level }),
    isBot: isBot === true,
    clientGroup: CLIENT_GROUPS.find((group) => group === clientGroup) ?? 'NEW',
    paymentScore: formatPaymentScore(typeof paymentScore === 'number' ? paymentScore : 0.5),
  };
}

/** Converts a decision to its row. Returns null if the decision does not fit the shape. */
function encodeRow(decision: Decision, shape: RecordDictionary): DecisionRow | null {
  const { contents } = shape;
  if (decision.digest !== contents.digest || decision.ruleVersion !== contents.ruleVersion) return null;
  const ruleIndex = contents.rules.findIndex(({ name }) => name === decision.rule);
  const rule = contents.rules[ruleIndex];
  const signals = decision.signals.map((name) => contents.signals.indexOf(name));
  const cells = packFacts(decision, contents.facts);
  if (rule === undefined || signals.includes(-1) || cells === null) return null;
  const { seq, at, platform, ladderAfter } = decision;
  // Most reasons name no fact. Listing all facts would take a tenth of the time that a record takes.
  const values = rule.reason.some(({ kind }) => kind === 'fact') ? Object.values(decision.facts) : [];
  const derived = deriveMembers(rule, values, decision.facts, ladderAfter, at);
  if (derived.waitSeconds !== undefined && decision.waitSeconds === undefined) return null;
  const row: DecisionRow = [
    shape.id,
    seq,
    at,
    platform,
    packUuid(decision.sellPointKey),
    packUuid(decision.clientIdKey),
    packUuid(decision.orderRef),
    packUuid(decision.requestId),
    ruleIndex,
    encodeLadder(decision.ladderBefore, at),
    encodeLadder(ladderAfter, at),
    signals,
    cells,
  ];
  const rest = collectRest(decision, derived);
  if (rest !== null) row.push(rest);
  return row;
}

/** The members that the row itself contains, or that are computed from the shape. */
const ROW_MEMBERS: ReadonlySet<string> = new Set([
  ...([
    'decisionId',
    'seq',
    'at',
    'platform',
    'sellPointKey',
    'clientIdKey',
    'orderRef',
    'requestId',
  ] as const),
  ...(['ruleVersion', 'digest', 'rule', 'signals', 'facts', 'ladderBefore', 'ladderAfter'] as const),
] satisfies readonly (keyof Decision)[]);

/** All other members. Each is computed from the row, or `rest` contains it. */
const OTHER_MEMBERS = DECISION_MEMBER_NAMES.filter((member) => !ROW_MEMBERS.has(member));

/** Collects the members that cannot be computed from the row. Returns null if there are none. */
function collectRest(decision: Decision, derived: Partial<Decision>): Partial<Decision> | null {
  let rest: Record<string, unknown> | null = null;
  for (const member of OTHER_MEMBERS) {
    const given = decision[member];
    if (given === derived[member]) continue;
    rest ??= {};
    rest[member] = given;
  }
  return rest;
}

const FLAGS_A_CHARACTER = 6;

/** Marks a value that is not known. */
const NOT_KNOWN = '.';
/** Marks a value that equals the point of sale, which the row contains. */
const SELL_POINT = '@';
/** Marks a value that does not fit into a character. */
const LONG_VALUE = '*';

/** Packs the facts of a decision. Returns null if their names, sequence or kinds differ from those of the shape. */
function packFacts({ facts, sellPointKey }: Decision, shapeFacts: readonly ShapeFact[]): FactsRow | null {
  let [packed, others] = ['', ''];
  let [place, flags, bits] = [0, 0, 0];
  const longer: (number | string)[] = [];
  // A `for in` loop allocates no list of names.
  for (const label in facts) {
    const value = facts[label];
    const fact = shapeFacts[place++];
    if (value === undefined || fact?.label !== label || !fitsShapeFact(value, fact)) return null;
    if (fact.flag) {
      bits |= Number(value) << (flags++ % FLAGS_A_CHARACTER);
      if (flags % FLAGS_A_CHARACTER > 0) continue;
      packed += BASE64_DIGITS.charAt(bits);
      bits = 0;
      continue;
    }
    const character = encodeFactCharacter(value, fact, sellPointKey);
    others += character;
    if (character === LONG_VALUE && typeof value !== 'boolean' && value !== null) longer.push(value);
  }
  if (flags % FLAGS_A_CHARACTER > 0) packed += BASE64_DIGITS.charAt(bits);
  return place === shapeFacts.length ? [packed + others, ...longer] : null;
}

function fitsShapeFact(value: NullableFactValue, { flag, words }: ShapeFact): boolean {
  switch (typeof value) {
    case 'boolean':
      return flag || words?.includes(value) === true;
    case 'number':
      return !flag && value >= 0 && words === undefined;
    default:
      return !flag;
  }
}

function encodeFactCharacter(value: NullableFactValue, { words }: ShapeFact, sellPointKey: string): string {
  if (value === null) return NOT_KNOWN;
  if (value === sellPointKey && words === undefined) return SELL_POINT;
  const digit = typeof value === 'number' ? value : (words?.indexOf(value) ?? -1);
  return BASE64_DIGITS[digit] ?? LONG_VALUE;
}

function unpackFacts(
  [characters, ...longer]: FactsRow,
  shapeFacts: readonly ShapeFact[],
  sellPointKey: string,
): readonly NullableFactValue[] {
  const left = longer.values();
  let [flag, other] = [0, Math.ceil(shapeFacts.filter((fact) => fact.flag).length / FLAGS_A_CHARACTER)];
  return shapeFacts.map((fact) => {
    if (fact.flag) {
      const bits = parseBase64Digit(characters.charAt(flag / FLAGS_A_CHARACTER));
      return ((bits >> (flag++ % FLAGS_A_CHARACTER)) & 1) === 1;
    }
    const character = characters.charAt(other++);
    if (character === LONG_VALUE) return left.next().value ?? 0;
    if (character === NOT_KNOWN) return null;
    if (character === SELL_POINT) return sellPointKey;
    const digit = parseBase64Digit(character);
    return fact.words === undefined ? digit : (fact.words[digit] ?? '');
  });
}

function encodeLadder({ level, attemptOpen, waitUntil }: Ladder, at: number): LadderCell {
  const levelAndAttempt = 2 * level + Number(attemptOpen);
  return waitUntil === null ? levelAndAttempt : [levelAndAttempt, waitUntil - at];
}

function decodeLadder(cell: LadderCell, at: number): Ladder {
  const [levelAndAttempt, remainingMs] = typeof cell === 'number' ? [cell, null] : cell;
  return {
    level: levelAndAttempt >> 1,
    attemptOpen: (levelAndAttempt & 1) === 1,
    waitUntil: remainingMs === null ? null : at + remainingMs,
  };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const UUID_MARK = '~';

/** A scratch buffer. It is made once, because every record packs ids. */
const UUID_BYTES = Buffer.alloc(16);

/** Shortens an id for storage. Most ids are UUIDs, and their 36 characters fit into 22 and a mark. */
export function packUuid(text: string): string {
  if (text.length === 36 && UUID.test(text)) {
    UUID_BYTES.write(text.replaceAll('-', ''), 'hex');
    return UUID_MARK + UUID_BYTES.toString('base64url');
  }
  return text.startsWith(UUID_MARK) ? UUID_MARK + text : text;
}

export function unpackUuid(packed: string): string {
  if (!packed.startsWith(UUID_MARK)) return packed;
  const rest = packed.slice(UUID_MARK.length);
  if (rest.startsWith(UUID_MARK)) return rest;
  const hex = Buffer.from(rest, 'base64url').toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
