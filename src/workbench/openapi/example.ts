import { findExample, findMomentDescription } from '#base/shapes.ts';

/** The part of JSON Schema that schemas of answers use. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The moment of every example, in epoch ms: a Saturday in November. */
export const EXAMPLE_MOMENT = Date.UTC(2026, 10, 21, 10);

/**
 * Creates an example of an answer from the examples at the declarations of its members. Optional members are left
 * out. A list has one item. It has none if no example of an item is known. Nullable members are null, except objects
 * and members whose declaration has an example.
 */
export function createExample(shape: object): unknown {
  const example = createValueExample(shape, []);
  if (example === undefined) throw new Error('a member of an answer needs an example at its declaration');
  return example;
}

/**
 * Creates an example of a schema. Returns undefined if none is known. `within` lists the schemas around it, because a
 * schema may contain itself.
 */
function createValueExample(schema: Schema, within: readonly Schema[]): unknown {
  const own = findExample(schema);
  if (own !== undefined || within.includes(schema)) return own;
  const { enum: [first] = [], anyOf, oneOf = anyOf, type, minimum = 0 } = schema;
  const inside = [...within, schema];
  if (findMomentDescription(schema) !== null) return EXAMPLE_MOMENT;
  if (schema.const !== undefined) return schema.const;
  if (first !== undefined) return first;
  if (oneOf !== undefined) {
    // A nullable value is null, unless its declaration has an example. For example, a live key was not revoked.
    const mayBeNull = oneOf.some((one) => one.type === 'null');
    const shownOnly = oneOf.map((one) =>
      mayBeNull && one.type !== 'object' ? findExample(one) : createValueExample(one, inside),
    );
    return shownOnly.find((example) => example !== undefined) ?? (mayBeNull ? null : undefined);
  }
  switch (type) {
    case 'object':
      return createObjectExample(schema, inside);
    case 'array': {
      const item = createValueExample(schema.items ?? {}, inside);
      return item === undefined ? [] : [item];
    }
    case 'integer':
    case 'number':
      return Math.max(minimum, 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return undefined;
  }
}

function createObjectExample({ properties = {}, required = [] }: Schema, inside: readonly Schema[]): unknown {
  const members = required.map((name) => [name, createValueExample(properties[name] ?? {}, inside)] as const);
  return members.some(([, example]) => example === undefined) ? undefined : Object.fromEntries(members);
}
