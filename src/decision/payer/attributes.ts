import { Type } from '#base/json-schema.ts';

/** How many attributes a request may have. */
export const ATTRIBUTES_MAX = 16;

/** How many attributes a rule set may declare, and how many attributes of a payer's scores are remembered. */
export const DECLARED_ATTRIBUTES_MAX = 32;

/** The longest name of an attribute, and the longest text of an attribute. */
export const ATTRIBUTE_CHARACTERS_MAX = 64;

/**
 * The form of an attribute's name in a rule set. A request may use any name. A name that no rule set can declare is
 * ignored.
 */
export const ATTRIBUTE_NAME_PATTERN = '^[A-Za-z][A-Za-z0-9_]{0,63}$';

const ATTRIBUTE_NAME = new RegExp(ATTRIBUTE_NAME_PATTERN);

export const ATTRIBUTE_NAME_FORM_TEXT =
  'letters, digits and "_", starts with a letter, at most 64 characters, like cardCountry';

export function isAttributeName(name: string): boolean {
  return ATTRIBUTE_NAME.test(name);
}

export const ATTRIBUTE_TYPES = ['text', 'number', 'boolean'] as const;

/** A value that a caller may send for an attribute. */
export type AttributeValue = number | boolean | string;

/** The value of an attribute. Null if the sent value is not what the rule set declares, so that it is not known. */
export type NullableAttributeValue = AttributeValue | null;

const attributeReading = Type.Unsafe<NullableAttributeValue>({
  type: ['number', 'boolean', 'string', 'null'],
  description: 'What was said; null: it is not what the rule set declares',
});

/** The schema of the attributes in a record or an answer. The attributes of a request have another schema. */
export const recordedAttributesSchema = Type.Record(attributeReading, {
  description:
    'What the caller said of the payer by name, as far as the rule set declares it; absent without any',
});

/**
 * The attributes that callers sent about a payer, by name. An attribute is null if the sent value is not what the
 * rule set declares, so that its value is not known.
 */
export type Attributes = Readonly<Record<string, NullableAttributeValue>>;

export const NO_ATTRIBUTES: Attributes = {};

/**
 * The attributes that callers stated about a payer. While the secret of pseudonyms is being changed, `former` has the
 * pseudonyms under the other secret.
 */
export interface AttributesUnderBothSecrets {
  readonly attributes?: Attributes;
  readonly former?: { readonly attributes?: Attributes };
}

/** An attribute as `ruleset.yaml` declares it. */
export interface DeclaredAttribute {
  readonly name: string;
  readonly type: (typeof ATTRIBUTE_TYPES)[number];
  /** The longest text, in code points. It matters for texts only. */
  readonly length: number;
  /** The unit of a number. Attributes are compared with each other only when their units are equal. */
  readonly unit: string | null;
  /** The only texts that are accepted. Null if every text is accepted. */
  readonly oneOf: readonly string[] | null;
  /** Whether a text is kept as a pseudonym alone, and never in clear. */
  readonly pseudonym: boolean;
}

export type DeclaredAttributes = ReadonlyMap<string, DeclaredAttribute>;

export const NO_DECLARED_ATTRIBUTES: DeclaredAttributes = new Map();

/** Why a sent value is treated as not known. */
export const ATTRIBUTE_FAULTS = ['type', 'length', 'oneOf', 'range'] as const;

export type AttributeFault = (typeof ATTRIBUTE_FAULTS)[number];

/** Larger numbers are treated as not known. All amounts are smaller. */
export const ATTRIBUTE_NUMBER_MAX = 1e38;

/** Finds the fault of a sent value. Returns null if the value fits the declaration. */
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
  // A text never has more code points than UTF-16 units.
  return text.length <= length || [...text].length <= length ? null : 'length';
}

/**
 * Reads the attributes of a request that the rule set declares. Returns undefined if there are none, as in most
 * requests.
 */
export function readDeclaredAttributes(
  declared: DeclaredAttributes,
  sent: Readonly<Record<string, AttributeValue>> | undefined,
  hide: (text: string) => string,
): Attributes | undefined {
  if (sent === undefined || declared.size === 0) return undefined;
  const known: Record<string, NullableAttributeValue> = {};
  // Attributes are read in the sequence of their declarations, so that two requests with the same attributes are
  // equal.
  for (const [name, attribute] of declared) {
    const value = Object.hasOwn(sent, name) ? sent[name] : undefined;
    if (value === undefined) continue;
    known[name] = findAttributeFault(attribute, value) === null ? toKeptValue(attribute, value, hide) : null;
  }
  return Object.keys(known).length === 0 ? undefined : known;
}

/** The mark that pseudonyms begin with. A clear text that begins with this mark is treated as not known. */
export const PSEUDONYM_MARK = 'hmac:';

export function isPseudonym(value: NullableAttributeValue | undefined): value is string {
  return typeof value === 'string' && value.startsWith(PSEUDONYM_MARK);
}

function toKeptValue(
  { pseudonym }: DeclaredAttribute,
  value: AttributeValue,
  hide: (text: string) => string,
): AttributeValue {
  if (pseudonym) return `${PSEUDONYM_MARK}${hide(String(value))}`;
  // The store would turn negative zero into zero.
  return value === 0 ? 0 : value;
}

/** Returns the HMAC by which shared lists are searched for the value of an attribute that is kept as a pseudonym. */
export function toListLookupHmac(value: AttributeValue): string {
  return String(value).slice(PSEUDONYM_MARK.length);
}

interface SentAttributes {
  /** The declared attributes by name, each with the fault of its value or null. */
  readonly declared: readonly (readonly [name: string, fault: AttributeFault | null])[];
  /** How many attributes are not declared. */
  readonly undeclared: number;
}

/** Checks the attributes of a request against the declarations of the rule set. */
export function summarizeSentAttributes(
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

/** Reads a value by this declaration. The value may have been sent or recorded for another rule set. */
export function readAttributeAsDeclared(
  declared: Omit<DeclaredAttribute, 'name' | 'unit'>,
  value: NullableAttributeValue | undefined,
): NullableAttributeValue {
  if (value === undefined || value === null) return null;
  // The other rule set may have kept the text in clear, while this one keeps a pseudonym, or the reverse.
  if (isPseudonym(value) || declared.pseudonym)
    return isPseudonym(value) && declared.pseudonym ? value : null;
  return findAttributeFault(declared, value) === null ? value : null;
}
