import { type DescribedParameter, SAMPLES, type Schema } from './described-request.ts';

/** A value that a member does not take. */
export interface RefusedValue {
  readonly value: unknown;
  /** Where the fault is: the pointer below the member, or an empty text for the member itself. */
  readonly below: string;
  /** What is said of it; null where the schema does not tell. */
  readonly detail: string | null;
}

/** No version, name, digest, amount or currency looks like it, and it leads out of a folder. */
const OUTSIDE = '../../etc';

/** Returns the values that a parameter of a query does not take, and what is said of them where the schema tells it. */
export function refusedQueryValues({
  name,
  schema,
}: DescribedParameter): readonly (readonly [string, string | null])[] {
  const said = (detail: string) => `The parameter ${name} must be ${detail}.`;
  const { type, format, pattern, minimum = 0, maximum = 0, maxLength = 256 } = schema;
  if (schema.enum !== undefined) return [['no-such-word', said(`one of ${schema.enum.join(', ')}`)]];
  if (type === 'integer') {
    const detail = said(`a whole number from ${minimum} to ${maximum}`);
    return [minimum - 1, maximum + 1, 'ten', '1e2'].map((value) => [String(value), detail]);
  }
  if (format === 'date-time') return [['yesterday', said('a moment like 2026-11-21T10:00:00Z')]];
  if (pattern !== undefined) return [[OUTSIDE, null]];
  const length = `${name} must have 1 to ${maxLength} characters of well-formed Unicode.`;
  return [
    ['', length],
    ['😀'.repeat(maxLength + 1), length],
    ['a\0b', `${name} must not contain U+0000.`],
  ];
}

/** Returns the values that a parameter in the path or in a header does not take. */
export function refusedTexts({ in: place, schema }: DescribedParameter): readonly string[] {
  if (schema.pattern === undefined) return [];
  return place === 'path' ? [OUTSIDE, '?'] : ['', 'two words', 'é', 'x'.repeat(256)];
}

/** Returns the values that a member of a body does not take. An optional member that is null or empty counts as absent. */
export function refusedMembers(described: Schema, isRequired: boolean): readonly RefusedValue[] {
  const schema = withoutNull(described);
  const kinds = [schema.type ?? []].flat().filter((one) => one !== 'null');
  const refused = (detail: string | null, ...values: readonly unknown[]) =>
    values.map((value) => ({ value, below: '', detail }));
  if (schema.enum !== undefined) {
    const allowed = schema.enum.filter((one) => one !== null).join(', ');
    return refused(`must be one of ${allowed}`, 'no-such-word');
  }
  if (schema.format === 'date-time')
    return refused('must be a moment like "2026-11-21T10:00:00Z"', 'tomorrow', '2025-02-30T10:00:00Z', 7, []);
  const no = isRequired ? [null] : [];
  return kinds.length === 1
    ? refusedOfKind(schema, kinds[0] ?? '', no, refused)
    : [...refused(`must be ${kinds.map(nameKind).join(' or ')}`, [], {}), ...refusedStrings(schema, refused)];
}

type Refuse = (detail: string | null, ...values: readonly unknown[]) => readonly RefusedValue[];

function refusedOfKind(
  schema: Schema,
  kind: string,
  no: readonly null[],
  refused: Refuse,
): readonly RefusedValue[] {
  const { minimum, exclusiveMinimum, maximum } = schema;
  const wrong = refused(`must be ${nameKind(kind)}`, ...(OTHER_KINDS[kind] ?? []), ...no);
  switch (kind) {
    case 'string':
      return [
        ...wrong,
        ...refusedStrings(schema, refused),
        ...(schema.pattern === undefined && (schema.minLength ?? 0) > 0 && no.length > 0
          ? refused('must not be empty', '')
          : []),
      ];
    case 'number':
    case 'integer':
      return [
        ...wrong,
        ...(minimum === undefined ? [] : refused(`must be at least ${minimum}`, minimum - 1)),
        ...(exclusiveMinimum === undefined
          ? []
          : refused(`must be above ${exclusiveMinimum}`, exclusiveMinimum)),
        ...(maximum === undefined ? [] : refused(`must be at most ${maximum}`, maximum + 1)),
      ];
    case 'array':
      return [
        ...wrong,
        ...refusedLengths(schema, refused),
        ...refusedMembers(schema.items ?? {}, true).map(({ value, below, detail }) => ({
          value: [value],
          below: `/0${below}`,
          detail,
        })),
      ];
    case 'object':
      return [...wrong, ...refusedNames(schema, refused), ...refusedBelow(schema)];
    default:
      return wrong;
  }
}

const OTHER_KINDS: Readonly<Record<string, readonly unknown[]>> = {
  string: [7, true, ['a'], {}],
  boolean: ['true', 0, []],
  number: ['7', true, []],
  integer: [1.5, '7', []],
  array: ['a', {}],
  object: ['a', 7, []],
};

function refusedStrings({ pattern, maxLength }: Schema, refused: Refuse): readonly RefusedValue[] {
  if (pattern !== undefined) return refused(null, OUTSIDE);
  // Texts of any length are files and keys: no store keeps them under their own name.
  if (maxLength === undefined) return [];
  return [
    ...refused('must be well-formed Unicode, without lone surrogates', 'a\ud800'),
    ...refused('must not contain U+0000', 'a\0b'),
    ...refused(`must have at most ${maxLength} characters`, '😀'.repeat(maxLength + 1)),
  ];
}

/** Arrays with too few and too many items. */
function refusedLengths({ minItems = 0, maxItems }: Schema, refused: Refuse): readonly RefusedValue[] {
  const items = (count: number) => (count === 1 ? '1 item' : `${count} items`);
  return [
    ...(minItems > 0 ? refused(`must have at least ${items(minItems)}`, []) : []),
    ...(maxItems === undefined
      ? []
      : refused(`must have at most ${items(maxItems)}`, Array(maxItems + 1).fill('a'))),
  ];
}

/** Objects with too many members, and with names that are refused. */
function refusedNames({ maxProperties, propertyNames }: Schema, refused: Refuse): readonly RefusedValue[] {
  const count = (maxProperties ?? 0) + 1;
  const many = Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, index]));
  const { minLength = 0, maxLength } = propertyNames ?? {};
  const named = (name: string, detail: string) => ({
    value: { [name]: 1 },
    below: `/${name}`,
    detail: `has a name that ${detail}`,
  });
  return [
    ...(maxProperties === undefined ? [] : refused(`must have at most ${maxProperties} members`, many)),
    ...(minLength > 0 ? [named('', 'must not be empty')] : []),
    ...(maxLength === undefined
      ? []
      : [named('n'.repeat(maxLength + 1), `must have at most ${maxLength} characters`)]),
  ];
}

/** What is refused of the members of an object in the body. */
function refusedBelow({ properties, patternProperties, required = [] }: Schema): readonly RefusedValue[] {
  const members = Object.entries(properties ?? { a: Object.values(patternProperties ?? {})[0] ?? {} });
  const good = Object.fromEntries(required.map((name) => [name, SAMPLES[name] ?? 1]));
  return members.flatMap(([name, member]) => [
    ...refusedMembers(member, required.includes(name)).map(({ value, below, detail }) => ({
      value: { ...good, [name]: value },
      below: `/${name}${below}`,
      detail,
    })),
    ...(required.includes(name) ? [{ value: {}, below: `/${name}`, detail: 'is required' }] : []),
  ]);
}

/** The alternative that is not null, which the documents name beside null. */
function withoutNull(schema: Schema): Schema {
  const other = schema.anyOf?.find(({ type }) => type !== 'null');
  return other === undefined ? schema : withoutNull(other);
}

function nameKind(kind: string): string {
  return KINDS[kind] ?? kind;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a JSON string',
  object: 'a JSON object',
  array: 'a JSON array',
  boolean: 'true or false',
  number: 'a JSON number',
  integer: 'a whole JSON number',
};
