import { findExample, findMomentDescription } from '#base/shapes.ts';

/** JSON Schema, as far as the shapes of answers use it. */
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

/** A Saturday in November, as the service counts. */
export const AT_EXAMPLE = Date.UTC(2026, 10, 21, 10);

/**
 * An example of an answer, made from what its members show at their declarations. Members that may be absent are, and a
 * list has one item, or none where nothing shows what that could be. What may be null is, unless it is an object or its
 * declaration shows a value.
 */
export function createExample(shape: object): unknown {
  const example = shown(shape, []);
  if (example === undefined) throw new Error('a member of an answer needs an example at its declaration');
  return example;
}

/** Undefined where nothing shows what it could be. `within` is what the schema is a part of: a shape may hold itself. */
function shown(schema: Schema, within: readonly Schema[]): unknown {
  const own = findExample(schema);
  if (own !== undefined || within.includes(schema)) return own;
  const { enum: [first] = [], anyOf, oneOf = anyOf, type, minimum = 0 } = schema;
  const inside = [...within, schema];
  if (findMomentDescription(schema) !== null) return AT_EXAMPLE;
  if (schema.const !== undefined) return schema.const;
  if (first !== undefined) return first;
  if (oneOf !== undefined) {
    // A value that may be missing is, unless its declaration shows one: a live key was not revoked.
    const mayBeNull = oneOf.some((one) => one.type === 'null');
    const shownOnly = oneOf.map((one) =>
      mayBeNull && one.type !== 'object' ? findExample(one) : shown(one, inside),
    );
    return shownOnly.find((example) => example !== undefined) ?? (mayBeNull ? null : undefined);
  }
  switch (type) {
    case 'object':
      return objectOf(schema, inside);
    case 'array': {
      const item = shown(schema.items ?? {}, inside);
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

function objectOf({ properties = {}, required = [] }: Schema, inside: readonly Schema[]): unknown {
  const members = required.map((name) => [name, shown(properties[name] ?? {}, inside)] as const);
  return members.some(([, example]) => example === undefined) ? undefined : Object.fromEntries(members);
}
