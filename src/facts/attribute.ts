import {
  ATTRIBUTE_NUMBER_MAX,
  type Attributes,
  type DeclaredAttribute,
  readAsDeclared,
} from '../client/attributes.ts';
import type { AttributeFact, FactDomain, FactReading } from './fact.ts';

/** One domain for all numbers, so that proofs can compare them. */
const ATTRIBUTE_NUMBER: FactDomain = {
  type: 'number',
  integer: false,
  min: -ATTRIBUTE_NUMBER_MAX,
  max: ATTRIBUTE_NUMBER_MAX,
};

/** The fact that a declared attribute is. */
export function attributeFact(declared: DeclaredAttribute): AttributeFact {
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
export function attributeLabel(name: string): string {
  return `attribute(${name})`;
}

const ATTRIBUTE_LABEL = /^attribute\((\w+)\)$/;

/** The attribute whose fact has this label; null for any other fact. */
export function attributeOfLabel(label: string): string | null {
  return ATTRIBUTE_LABEL.exec(label)?.[1] ?? null;
}

/** What a request said, as far as the facts that were recorded of it tell; undefined when they tell nothing. */
export function attributesAmong(facts: Readonly<Record<string, FactReading>>): Attributes | undefined {
  const found = Object.entries(facts).flatMap(([label, value]) => {
    const name = attributeOfLabel(label);
    return name === null ? [] : [[name, value] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}
