import { joinAttributes, type NodeSecretIds } from '#decision/payer/attribute-secrets.ts';
import { countAttributeValues } from '#decision/payer/attribute-values.ts';
import {
  ATTRIBUTE_NUMBER_MAX,
  type Attributes,
  type AttributesUnderBothSecrets,
  type DeclaredAttribute,
  type DeclaredAttributes,
  type NullableAttributeValue,
  readAttributeAsDeclared,
} from '#decision/payer/attributes.ts';
import {
  type AskedAttribute,
  type AttributeFact,
  type Fact,
  type FactContext,
  type FactDomain,
  type NullableFactValue,
  type SharingQuestions,
  sortWindowsLongestFirst,
  type WindowedFact,
} from './fact.ts';

/** The domain that all attributes with numbers share, so that proofs about rule sets can compare two attributes. */
const ATTRIBUTE_NUMBER: FactDomain = {
  type: 'number',
  integer: false,
  min: -ATTRIBUTE_NUMBER_MAX,
  max: ATTRIBUTE_NUMBER_MAX,
};

/** Creates the fact of a declared attribute. */
export function createAttributeFact(declared: DeclaredAttribute): AttributeFact {
  const { name, type, unit } = declared;
  return {
    kind: 'attribute',
    domain: createDomain(declared),
    unit,
    description: `What the caller sends as ${name}: ${TYPE_WORDS[type]}. Not known if neither this request nor a score of the last 24 hours has it.`,
    absence: { of: `a payer without ${name}`, mistakenFor: MISTAKEN_FOR[type] },
    declared,
    read: ({ attributes }) => readAttributeAsDeclared(declared, attributes[name]),
  };
}

/**
 * Binds a fact that counts the values of an attribute, or the clients with a value, to the declared attribute.
 * Returns any other fact unchanged.
 */
export function bindVelocityFactToAttribute(fact: WindowedFact, declared: DeclaredAttribute): WindowedFact {
  const { ofAttribute } = fact;
  if (ofAttribute === undefined) return fact;
  const { name } = declared;
  const read = ofAttribute.counts === 'values' ? countOwnValues : countClients;
  return {
    ...fact,
    ofAttribute: { ...ofAttribute, declared },
    read: (context, windowMs) => {
      const value = findPseudonym(declared, context.attributes[name]);
      return read(context, name, value, windowMs);
    },
  };
}

/** Binds a fact to an attribute. Without an attribute the fact is returned unchanged. */
export function bindFactToAttribute(
  fact: Fact | undefined,
  declared: DeclaredAttribute | undefined,
): Fact | undefined {
  if (declared === undefined) return fact;
  return fact?.kind === 'windowed'
    ? bindVelocityFactToAttribute(fact, declared)
    : createAttributeFact(declared);
}

/** Reads the declared attributes of a request. */
export type ReadStatedAttributes = (declared: DeclaredAttributes) => AttributesUnderBothSecrets;

const NOTHING_STATED: AttributesUnderBothSecrets = {};

/**
 * Collects the payer's values of the attributes by which rules count clients. A value of the request replaces one of
 * an earlier score. While the secret is being changed, each value is asked for under both secrets, because no client
 * was seen under the new secret yet.
 */
export function listCountedAttributeValues(
  { attributes: questions }: SharingQuestions,
  held: AttributesUnderBothSecrets = NOTHING_STATED,
  readStated: ReadStatedAttributes = () => NOTHING_STATED,
  secrets?: NodeSecretIds,
): readonly AskedAttribute[] {
  if (questions === undefined) return [];
  const asked = new Map<string, AskedAttribute>();
  for (const { declared, windowsMs } of questions) {
    const { name } = declared;
    const { attributes, former } = joinAttributes(held, readStated(new Map([[name, declared]])), secrets);
    for (const form of [attributes?.[name], former?.attributes?.[name]]) {
      const value = findPseudonym(declared, form);
      if (value === null) continue;
      const key = `${name} ${value}`;
      const windows = [...(asked.get(key)?.windowsMs ?? []), ...windowsMs];
      asked.set(key, { name, value, windowsMs: sortWindowsLongestFirst(windows) });
    }
  }
  return [...asked.values()];
}

function countOwnValues(
  { state, now }: FactContext,
  name: string,
  value: string | null,
  windowMs: number,
): number {
  return countAttributeValues(state.attributeValues, name, value, now - windowMs);
}

/**
 * Counts the clients with a value. Only a verdict notes the payer under the value. If the payer is not noted yet, the
 * result is 1.
 */
function countClients(
  { sightings }: FactContext,
  name: string,
  value: string | null,
  windowMs: number,
): number | null {
  return value === null ? null : (sightings.attributes?.get(name)?.get(windowMs) ?? 1);
}

/** Returns the pseudonym of an attribute. Returns null if the attribute has none. */
export function findPseudonym(
  declared: DeclaredAttribute,
  value: NullableAttributeValue | undefined,
): string | null {
  const reading = readAttributeAsDeclared(declared, value);
  return declared.pseudonym && typeof reading === 'string' ? reading : null;
}

const TYPE_WORDS = { text: 'a text', number: 'a number', boolean: 'true or false' } as const;

const MISTAKEN_FOR = { text: '', number: 0, boolean: false } as const;

function createDomain({ type, oneOf }: DeclaredAttribute): FactDomain {
  switch (type) {
    case 'number':
      return ATTRIBUTE_NUMBER;
    case 'boolean':
      return { type: 'boolean' };
    case 'text':
      return oneOf === null ? { type: 'text' } : { type: 'enum', values: oneOf };
    default:
      return type satisfies never;
  }
}

/** Formats the label of an attribute's fact, like `attribute(card)`. */
export function formatAttributeFactLabel(name: string): string {
  return `attribute(${name})`;
}

const ATTRIBUTE_LABEL = /^attribute\((\w+)\)$/;

/** Parses the name of the attribute from the label of its fact. Returns null for the label of any other fact. */
export function parseAttributeNameFromLabel(label: string): string | null {
  return ATTRIBUTE_LABEL.exec(label)?.[1] ?? null;
}

/** Restores the attributes of a request from its recorded facts. Returns undefined if no attribute was recorded. */
export function restoreAttributes(
  facts: Readonly<Record<string, NullableFactValue>>,
): Attributes | undefined {
  const found = Object.entries(facts).flatMap(([label, value]) => {
    const name = parseAttributeNameFromLabel(label);
    return name === null ? [] : [[name, value] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
