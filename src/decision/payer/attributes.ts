import { Type } from '#base/json-schema.ts';

/** How many attributes a request may have. */
export const ATTRIBUTES_MAX = 16;

/** How many attributes a rule set may declare, and how many of the scores of a payer are remembered. */
export const DECLARED_ATTRIBUTES_MAX = 32;

/** Of the name of an attribute, and of a text. */
export const ATTRIBUTE_CHARACTERS_MAX = 64;

/** How a rule set names an attribute. A request may use any name; what no rule set can declare is ignored. */
export const ATTRIBUTE_NAME_PATTERN = '^[A-Za-z][A-Za-z0-9_]{0,63}$';

const ATTRIBUTE_NAME = new RegExp(ATTRIBUTE_NAME_PATTERN);

export const ATTRIBUTE_NAME_FORM =
  'letters, digits and "_", starts with a letter, at most 64 characters, like cardCountry';

export function isAttributeName(name: string): boolean {
  return ATTRIBUTE_NAME.test(name);
}

export const ATTRIBUTE_TYPES = ['text', 'number', 'boolean'] as const;

/** What a caller may say of a payer under a name. */
export type AttributeValue = number | boolean | string;

/** Null: said, and not known. */
export type AttributeReading = AttributeValue | null;

const attributeReading = Type.Unsafe<AttributeReading>({
  type: ['number', 'boolean', 'string', 'null'],
  description: 'What was said; null: it is not what the rule set declares',
});

export const attributesSchema = Type.Record(attributeReading, {
  description:
    'What the caller said of the payer by name, as far as the rule set declares it; absent without any',
});

/** What callers say of a payer, by name; null: said, and not known, because it is not what the rule set declares. */
export type Attributes = Readonly<Record<string, AttributeReading>>;

export const NO_ATTRIBUTES: Attributes = {};

/** What was said of a payer, and while the secret of pseudonyms is being changed those that it has under the other one. */
export interface StatedAttributes {
  readonly attributes?: Attributes;
  readonly former?: { readonly attributes?: Attributes };
}

/** An attribute as `ruleset.yaml` declares it. */
export interface DeclaredAttribute {
  readonly name: string;
  readonly type: (typeof ATTRIBUTE_TYPES)[number];
  /** The longest text, in code points; only of a text. */
  readonly length: number;
  /** Of a number; attributes are compared with each other only in one unit. */
  readonly unit: string | null;
  /** The only texts that are known; null: any. */
  readonly oneOf: readonly string[] | null;
  /** A text is kept as a pseudonym alone, and never in clear. */
  readonly pseudonym: boolean;
}

export type DeclaredAttributes = ReadonlyMap<string, DeclaredAttribute>;

export const NO_DECLARED_ATTRIBUTES: DeclaredAttributes = new Map();

/** Why a value counts as not known. */
export const ATTRIBUTE_FAULTS = ['type', 'length', 'oneOf', 'range'] as const;

export type AttributeFault = (typeof ATTRIBUTE_FAULTS)[number];

/** Larger numbers count as not known: all amounts lie within. */
export const ATTRIBUTE_NUMBER_MAX = 1e38;

/** What is wrong with a value that a caller sent; null where it is what was declared. */
export function findAttributeFault(
  declared: Omit<DeclaredAttribute, 'name' | 'unit'>,
  value: AttributeValue,
): AttributeFault | null {
  const { type } = declared;
  if (typeof value === 'string') return type === 'text' ? findTextFault(declared, value) : 'type';
  if (typeof value !== type) return 'type';
  return typeof value === 'number' && Math.abs(value) > ATTRIBUTE_NUMBER_MAX ? 'range' : null;
}

function findTextFault(
  { length, oneOf }: Pick<DeclaredAttribute, 'length' | 'oneOf'>,
  text: string,
): AttributeFault | null {
  if (oneOf !== null) return oneOf.includes(text) ? null : 'oneOf';
  // No text has more code points than units of UTF-16.
  return text.length <= length || [...text].length <= length ? null : 'length';
}

/**
 * What the rules may know of the attributes that a request has: the declared ones. Undefined when there are none, as in
 * most requests.
 */
export function readAttributes(
  declared: DeclaredAttributes,
  sent: Readonly<Record<string, AttributeValue>> | undefined,
  hide: (text: string) => string,
): Attributes | undefined {
  if (sent === undefined || declared.size === 0) return undefined;
  const known: Record<string, AttributeReading> = {};
  // In the order of the declarations, so that two requests that say the same are the same.
  for (const [name, attribute] of declared) {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
    if (value === undefined) continue;
    known[name] = findAttributeFault(attribute, value) === null ? kept(attribute, value, hide) : null;
  }
  return Object.keys(known).length === 0 ? undefined : known;
}

/** What no text looks like by chance: a text in clear that begins so is not known. */
export const PSEUDONYM_MARK = 'hmac:';

export function isPseudonym(value: AttributeReading | undefined): value is string {
  return typeof value === 'string' && value.startsWith(PSEUDONYM_MARK);
}

function kept(
  { pseudonym }: DeclaredAttribute,
  value: AttributeValue,
  hide: (text: string) => string,
): AttributeValue {
  if (pseudonym) return `${PSEUDONYM_MARK}${hide(String(value))}`;
  // Negative zero would come back from the store as zero.
  return value === 0 ? 0 : value;
}

/** The HMAC by which shared lists are searched for the value of an attribute that is kept as a pseudonym. */
export function toListHmac(value: AttributeValue): string {
  return String(value).slice(PSEUDONYM_MARK.length);
}

interface SentAttributes {
  /** Declared ones, by name: what is wrong with the value, or null. */
  readonly declared: readonly (readonly [name: string, fault: AttributeFault | null])[];
  /** How many others there were. */
  readonly undeclared: number;
}

/** How the attributes that a request has agree with those that the rule set declares. */
export function checkAttributes(
  declared: DeclaredAttributes,
  sent: Readonly<Record<string, AttributeValue>>,
): SentAttributes {
  const names = Object.keys(sent).filter((name) => declared.has(name));
  return {
    declared: names.map((name) => {
      const [attribute, value] = [declared.get(name), sent[name]];
      const isWhole = attribute === undefined || value === undefined;
      return [name, isWhole ? null : findAttributeFault(attribute, value)] as const;
    }),
    undeclared: Object.keys(sent).length - names.length,
  };
}

/** A value that was said or recorded for another rule set, as one that declares the attribute so reads it. */
export function readAsDeclared(
  declared: Omit<DeclaredAttribute, 'name' | 'unit'>,
  value: AttributeReading | undefined,
): AttributeReading {
  if (value === undefined || value === null) return null;
  // Another version may have kept the text in clear, or hidden it.
  if (isPseudonym(value) || declared.pseudonym)
    return isPseudonym(value) && declared.pseudonym ? value : null;
  return findAttributeFault(declared, value) === null ? value : null;
}
