import type { Node } from 'yaml';
import { findInvisibleCharacter } from '#base/invisible-characters.ts';
import { KEY_CHARACTERS_MAX } from '#base/key-length.ts';
import type { FactValue } from '#decision/facts/fact.ts';
import { PSEUDONYM_MARK } from '#decision/payer/attributes.ts';
import { type FactRef, isPseudonymFact, type OperatorName } from '#decision/rules/condition.ts';
import { findFactDecimals, findFactTextForm } from '#decision/rules/value-forms.ts';
import { formatTextHint } from './correction-hints.ts';
import type { YamlFile } from './yaml-file.ts';

/** A place in a rule file with a value that is compared with a fact. */
export interface ValuePlace {
  readonly file: YamlFile;
  readonly node: Node;
  /** The name of the value in messages. */
  readonly what: string;
  /**
   * Explains a text that the fact can never have as its value and that names another fact. Returns null if the text
   * names no fact.
   */
  readonly explainNamedFact: (text: string) => string | null;
}

/**
 * Reads the value in this place. If the fact cannot have the value, returns null and reports a problem. Every value
 * that rules compare with a fact is read here, whether it stands alone, among several, or in the file of a list.
 */
export function readFactValue(
  place: ValuePlace,
  ref: FactRef,
  operator: OperatorName | null,
): FactValue | null {
  const { file, node, explainNamedFact } = place;
  const written = file.toPlainValue(node);
  const named = typeof written !== 'string' || canBeText(written, ref) ? null : explainNamedFact(written);
  if (named !== null) return file.report(node, named);
  const value = readDomainValue(place, ref);
  if (value === null) return null;
  const refusal =
    typeof value === 'string' ? findTextFault(value, ref) : findNumberFault(value, ref, operator);
  return refusal === null ? value : file.report(node, refusal);
}

/** Whether the fact can have this text as its value. */
function canBeText(text: string, ref: FactRef): boolean {
  const { domain } = ref.fact;
  switch (domain.type) {
    case 'number':
    case 'boolean':
      return false;
    case 'enum':
      return domain.values.includes(text);
    case 'text':
      return findTextFault(text, ref) === null;
    default:
      return domain satisfies never;
  }
}

function readDomainValue(
  { file, node, what }: ValuePlace,
  { fact: { domain, unit } }: FactRef,
): FactValue | null {
  switch (domain.type) {
    case 'number':
      return file.readNumber(node, what, { ...domain, unit });
    case 'boolean':
      return file.readBoolean(node, what);
    case 'enum':
      return file.readChoice(node, what, domain.values);
    case 'text':
      return file.readText(node, what, formatTextHint(node));
    default:
      return domain satisfies never;
  }
}

const CURLY_QUOTE = /[\u2018-\u201F]/u;

/**
 * Returns why the fact can never have this text as its value, or why nobody would mean the text. Returns null if the
 * text is sound.
 */
function findTextFault(value: string, ref: FactRef): string | null {
  const invisible = findInvisibleCharacter(value);
  if (invisible !== null)
    return `character ${invisible.place} of "${value}" is invisible: ${invisible.name}; remove it`;
  const trimmed = value.trim();
  if (trimmed !== value) return `"${value}" has a space at its ${findBlankEnd(value)}; write "${trimmed}"`;
  const [curly] = CURLY_QUOTE.exec(value) ?? [];
  if (curly !== undefined) {
    return `"${value}" has ${curly}, a typographic quote; put quotes like " or ' around a text, and remove other quotes`;
  }
  if (isPseudonymFact(ref) && value.startsWith(PSEUDONYM_MARK))
    return `"${value}" is the form in which records show a pseudonym; write the text in clear, or put the pseudonym on a shared list of kind attribute and ask for listed`;
  const form = findFactTextForm(ref);
  if (form !== null && !form.pattern.test(value))
    return `"${value}" can never match "${ref.name}": ${form.words}`;
  const length = [...value].length;
  const longest = getLongestText(ref);
  if (length <= longest) return null;
  return `a value of ${length} characters can never match "${ref.label}", which has ${longest} at most`;
}

/** The longest text in characters. */
function getLongestText({ fact }: FactRef): number {
  return fact.kind === 'attribute' ? (fact.declared?.length ?? KEY_CHARACTERS_MAX) : KEY_CHARACTERS_MAX;
}

function findBlankEnd(value: string): 'beginning' | 'end' {
  return value.trimEnd() === value ? 'beginning' : 'end';
}

/** The operators whose values must be possible values of the fact. For the other operators a value is only a limit. */
const NAMING_VALUES: ReadonlySet<OperatorName | null> = new Set([
  'equal',
  'notEqual',
  'in',
  'notIn',
  'multipleOf',
  'notMultipleOf',
] as const);

/**
 * Returns why the fact can never have this number as its value. Returns null if it can. A number that is only a limit
 * may lie between two values of the fact.
 */
function findNumberFault(
  value: number | boolean,
  ref: FactRef,
  operator: OperatorName | null,
): string | null {
  if ((operator === 'multipleOf' || operator === 'notMultipleOf') && Number(value) <= 0)
    return `a multiple needs a number above 0, like 1000, not ${value}`;
  const decimals = findFactDecimals(ref);
  if (typeof value === 'boolean' || decimals === null || !NAMING_VALUES.has(operator)) return null;
  if (Number(value.toFixed(decimals)) === value) return null;
  return `${value} can never match "${ref.name}", which has ${decimals} decimals`;
}
