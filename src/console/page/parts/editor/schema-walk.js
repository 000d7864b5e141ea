/** @import { Schema } from './schema.d.ts' */

/**
 * What a JSON Schema says of a place in a file that is only half written. Only the words that the schemas of
 * rule files use are known here; the server tells what is wrong.
 */

/**
 * @typedef {null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value }} Value
 * @typedef {string | number} Step a key of a mapping, or a place in a list
 * @typedef {{ readonly text: string, readonly says: string }} Offer
 */

/**
 * The schemas that hold for the place a path leads to, given what is written so far.
 * @param {Schema} root
 * @param {Value} value of the whole file
 * @param {readonly Step[]} path
 * @returns {readonly Schema[]}
 */
export function schemasAt(root, value, path) {
  let schemas = allOf(root, root, value);
  let here = value;
  for (const step of path) {
    here = memberOf(here, step);
    const below = here;
    schemas = schemas.flatMap((schema) => {
      const next = typeof step === 'number' ? schema.items : (schema.properties?.[step] ?? others(schema));
      return next === undefined || next === false ? [] : allOf(root, next, below);
    });
  }
  return schemas;
}

/**
 * The keys that a mapping may still have.
 * @param {readonly Schema[]} schemas
 * @param {readonly string[]} present
 * @returns {readonly Offer[]}
 */
export function keysOf(schemas, present) {
  /** @type {Map<string, string>} */
  const offers = new Map();
  for (const { properties = {} } of schemas)
    for (const [key, schema] of Object.entries(properties))
      if (schema !== false && !offers.get(key)) offers.set(key, schema.description ?? '');
  const excluded = schemas.flatMap((schema) => [
    ...Object.entries(schema.properties ?? {}).flatMap(([key, one]) => (one === false ? [key] : [])),
    ...rivals(schema, present),
    ...unready(schema, present),
  ]);
  return [...offers]
    .filter(([key]) => !present.includes(key) && !excluded.includes(key))
    .map(([text, says]) => ({ text, says }));
}

/**
 * The values that may stand at a place, as they are written.
 * @param {readonly Schema[]} schemas
 * @returns {readonly Offer[]}
 */
export function valuesOf(schemas) {
  const narrowed = schemas.flatMap((schema) => (schema.enum === undefined ? [] : [schema.enum]));
  const offers = schemas.flatMap((schema) => {
    if (schema.const !== undefined) return [{ text: String(schema.const), says: schema.description ?? '' }];
    if (schema.type === 'boolean') return ['true', 'false'].map((text) => ({ text, says: '' }));
    return (schema.enum ?? []).map((one, index) => ({
      text: String(one),
      says: schema.enumDescriptions?.[index] ?? '',
    }));
  });
  const allowed = offers.filter(({ text }) => narrowed.every((some) => some.map(String).includes(text)));
  return [...new Map(allowed.map((offer) => [offer.text, offer])).values()];
}

/**
 * A schema, together with the schemas that it refers to.
 * @param {Schema} root
 * @param {Schema} schema
 * @param {Value} value
 * @returns {readonly Schema[]}
 */
function allOf(root, schema, value) {
  const also = [
    ...(schema.$ref === undefined ? [] : [referred(root, schema.$ref)]),
    ...(schema.allOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.if === undefined ? [] : [holds(root, schema.if, value) ? schema.then : schema.else]),
  ];
  return [schema, ...also.flatMap((one) => (one === undefined ? [] : allOf(root, one, value)))];
}

/**
 * @param {Schema} root
 * @param {string} reference like `#/definitions/condition`
 * @returns {Schema}
 */
function referred(root, reference) {
  return root.definitions?.[reference.replace('#/definitions/', '')] ?? {};
}

/**
 * Whether what is written fits the conditions under which a schema says more.
 * @param {Schema} root
 * @param {Schema} schema
 * @param {Value} value
 * @returns {boolean}
 */
function holds(root, schema, value) {
  if (schema.type === 'object' && !isMapping(value)) return false;
  if (schema.const !== undefined && schema.const !== value) return false;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
  if (!isMapping(value)) return schema.required === undefined;
  if ((schema.required ?? []).some((key) => !Object.hasOwn(value, key))) return false;
  return Object.entries(schema.properties ?? {}).every(
    ([key, one]) => !Object.hasOwn(value, key) || (one !== false && holds(root, one, memberOf(value, key))),
  );
}

/** @param {Schema} schema */
function others(schema) {
  return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

/**
 * Keys that exclude every other key of their mapping.
 * @param {Schema} schema
 * @param {readonly string[]} present
 * @returns {readonly string[]}
 */
function rivals({ oneOf = [] }, present) {
  const rivalling = oneOf.flatMap(({ required = [] }) => (required.length === 1 ? required : []));
  return rivalling.some((key) => present.includes(key)) ? rivalling : [];
}

/**
 * Keys that only make sense beside another one.
 * @param {Schema} schema
 * @param {readonly string[]} present
 * @returns {readonly string[]}
 */
function unready({ dependencies = {} }, present) {
  return Object.entries(dependencies).flatMap(([key, needs]) =>
    key !== 'fact' && needs.some((need) => !present.includes(need)) ? [key] : [],
  );
}

/**
 * @param {Value} value
 * @param {Step} step
 * @returns {Value}
 */
function memberOf(value, step) {
  if (Array.isArray(value)) return typeof step === 'number' ? (value[step] ?? null) : null;
  return isMapping(value) && typeof step === 'string' ? (value[step] ?? null) : null;
}

/** @param {Value} value @returns {value is { readonly [key: string]: Value }} */
function isMapping(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
