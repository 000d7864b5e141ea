import { isJsonObject } from '#base/files/json-object.ts';
import { type TObject, Type } from '#base/json-schema.ts';
import { choice, named, oneOf } from '#base/shapes.ts';
import { createBodyChecker, type ReadableBody } from '#checkout/http/operation/operation.ts';
import { createBodyValidator, readJson } from '#checkout/http/request/body.ts';

interface KindShape {
  readonly name: string;
  readonly schema: TObject;
  readonly example: object;
}

/**
 * Declares a body with one of several schemas. The member that `member` names says which schema applies. `kinds` has
 * the schemas by name.
 */
export function declareKindBody(
  name: string,
  member: string,
  kinds: Readonly<Record<string, KindShape>>,
): ReadableBody<{ readonly kind: string; readonly value: Readonly<Record<string, unknown>> }> {
  const all = Object.entries(kinds);
  const kindOf = createBodyValidator(
    Type.Object({
      [member]: choice(
        all.map(([kind]) => kind),
        'Which of them',
      ),
    }),
    false,
  );
  const bodies = new Map(all.map(([kind, { schema }]) => [kind, createBodyChecker(schema)]));
  const shapes = Object.fromEntries(all.map(([kind, one]) => [kind, named(one.name, one.schema)]));
  return {
    content: { 'application/json': { name, example: all[0]?.[1].example } },
    shapes: {
      ...Object.fromEntries(all.map(([, one]) => [one.name, one.schema])),
      [name]: oneOf(member, shapes, 'By what is asked'),
    },
    read: async (req, onIgnored) => {
      const value = await readJson(req);
      const given = isJsonObject(value) ? value[member] : null;
      const kind = typeof given === 'string' ? given : '';
      const take = bodies.get(kind);
      if (take !== undefined) return { kind, value: { ...take(value, onIgnored) } };
      kindOf(value);
      throw new Error(`${member} "${kind}" has no shape`);
    },
  };
}
