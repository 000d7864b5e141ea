import { joinAttributes, type NodeSecrets } from '#decision/payer/attribute-secrets.ts';
import { countValues } from '#decision/payer/attribute-values.ts';
import {
  ATTRIBUTE_NUMBER_MAX,
  type AttributeReading,
  type Attributes,
  type DeclaredAttribute,
  type DeclaredAttributes,
  readAsDeclared,
  type StatedAttributes,
} from '#decision/payer/attributes.ts';
import {
  type AskedAttribute,
  type AttributeFact,
  type Fact,
  type FactContext,
  type FactDomain,
  type FactReading,
  type SharingQuestions,
  sortWindowsLongestFirst,
  type WindowedFact,
} from './fact.ts';

/** One domain for all numbers, so that proofs can compare them. */
const ATTRIBUTE_NUMBER: FactDomain = {
  type: 'number',
  integer: false,
  min: -ATTRIBUTE_NUMBER_MAX,
  max: ATTRIBUTE_NUMBER_MAX,
};

/** The fact that a declared attribute is. */
export function createAttributeFact(declared: DeclaredAttribute): AttributeFact {
  const { name, type, unit } = declared;
  return {
    kind: 'attribute',
    domain: domainOf(declared),
    unit,
    description: `What the caller says as ${name}: ${TYPE_WORDS[type]}. Not known where neither this request nor a score of the last 24 hours has it.`,
    absence: { of: `a payer without ${name}`, mistakenFor: MISTAKEN_FOR[type] },
    declared,
    read: ({ attributes }) => readAsDeclared(declared, attributes[name]),
  };
}

/** A fact of the catalogue about values of attributes, as a fact about those of this one. */
export function createAttributeVelocity(fact: WindowedFact, declared: DeclaredAttribute): WindowedFact {
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

/** The fact, of this attribute where it is about one. */
export function bindFactToAttribute(
  fact: Fact | undefined,
  declared: DeclaredAttribute | undefined,
): Fact | undefined {
  if (declared === undefined) return fact;
  return fact?.kind === 'windowed' ? createAttributeVelocity(fact, declared) : createAttributeFact(declared);
}

/** What a request says as the declared attributes. */
export type ReadStatedAttributes = (declared: DeclaredAttributes) => StatedAttributes;

const NOTHING_SAID: StatedAttributes = {};

/**
 * The values of the attributes by which clients are counted; what a request says wins over what is held. While the
 * secret is being changed, a value is asked for under both: under the new one nobody was seen yet.
 */
export function collectAskedValues(
  { attributes: questions }: SharingQuestions,
  held: StatedAttributes = NOTHING_SAID,
  said: ReadStatedAttributes = () => NOTHING_SAID,
  secrets?: NodeSecrets,
): readonly AskedAttribute[] {
  if (questions === undefined) return [];
  const asked = new Map<string, AskedAttribute>();
  for (const { declared, windowsMs } of questions) {
    const { name } = declared;
    const { attributes, former } = joinAttributes(held, said(new Map([[name, declared]])), secrets);
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
  return countValues(state.attributeValues, name, value, now - windowMs);
}

/** Nobody has noted the payer where it is asked of no verdict: the payer counts all the same. */
function countClients(
  { sightings }: FactContext,
  name: string,
  value: string | null,
  windowMs: number,
): number | null {
  return value === null ? null : (sightings.attributes?.get(name)?.get(windowMs) ?? 1);
}

/** The pseudonym that an attribute has; null where it has none. */
export function findPseudonym(
  declared: DeclaredAttribute,
  value: AttributeReading | undefined,
): string | null {
  const reading = readAsDeclared(declared, value);
  return declared.pseudonym && typeof reading === 'string' ? reading : null;
}

const TYPE_WORDS = { text: 'a text', number: 'a number', boolean: 'true or false' } as const;

const MISTAKEN_FOR = { text: '', number: 0, boolean: false } as const;

function domainOf({ type, oneOf }: DeclaredAttribute): FactDomain {
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

/** The label of an attribute's fact. */
export function formatAttributeLabel(name: string): string {
  return `attribute(${name})`;
}

const ATTRIBUTE_LABEL = /^attribute\((\w+)\)$/;

/** The attribute whose fact has this label; null for any other fact. */
export function parseAttributeLabel(label: string): string | null {
  return ATTRIBUTE_LABEL.exec(label)?.[1] ?? null;
}

/** What a request said, as far as the facts that were recorded of it tell; undefined when they tell nothing. */
export function restoreAttributes(facts: Readonly<Record<string, FactReading>>): Attributes | undefined {
  const found = Object.entries(facts).flatMap(([label, value]) => {
    const name = parseAttributeLabel(label);
    return name === null ? [] : [[name, value] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
