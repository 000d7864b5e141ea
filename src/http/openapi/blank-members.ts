import { type TSchema, Type } from '../../json-schema.ts';

/**
 * A body's schema as callers may fill it in: an optional member may also be null, because `bodyOf` leaves out members
 * that are null or ''. Only the former is described, so that generated clients know one way to say nothing.
 */
export function withBlanks(schema: TSchema): TSchema {
  if (!Type.IsObject(schema)) return schema;
  const required = schema.required ?? [];
  const members = Object.entries(schema.properties).map(([name, member]): [string, TSchema] => {
    const filled = withBlanks(member);
    return [name, required.includes(name) ? filled : orNull(filled)];
  });
  return Object.assign({}, schema, { properties: Object.fromEntries(members) });
}

function orNull(schema: TSchema): TSchema {
  const type: unknown = Reflect.get(schema, 'type');
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const values: unknown = Reflect.get(schema, 'enum');
  const withNull = Array.isArray(values) ? { enum: [...values, null] } : {};
  return { ...schema, type: [type, 'null'], ...withNull };
}
