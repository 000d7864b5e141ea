import { formatAttributeFactLabel, parseAttributeNameFromLabel } from '#decision/facts/attribute.ts';
import { FACTS as CATALOGUE } from '#decision/facts/catalogue.ts';
import type { NullableFactValue } from '#decision/facts/fact.ts';
import { getFactValueType } from '#decision/redecision.ts';
import type { FactRef } from '#decision/rules/condition.ts';

/** The DuckDB types of the values of facts. */
export type FactColumnType = 'BOOLEAN' | 'BIGINT' | 'DOUBLE' | 'VARCHAR';

/**
 * The key of the column that keeps a fact's value. The key is the fact's label, such as `paidCount`. For an
 * attribute, the key also names the type of the value, such as `attribute(emailAgeDays) as number`, because the next
 * version of the rule set may declare the same attribute with another type.
 */
export type FactKey = string;

export type FactColumnTypes = ReadonlyMap<FactKey, FactColumnType>;

/**
 * The columns of attributes by the types of their values, such as `fact_attribute_card_country` and
 * `fact_attributeNumber_email_age_days`.
 */
const ATTRIBUTE_COLUMNS = {
  string: { word: 'attribute', type: 'VARCHAR', json: ['VARCHAR'] },
  number: { word: 'attributeNumber', type: 'DOUBLE', json: ['DOUBLE', 'BIGINT', 'UBIGINT', 'HUGEINT'] },
  boolean: { word: 'attributeFlag', type: 'BOOLEAN', json: ['BOOLEAN'] },
} as const satisfies Record<string, { word: string; type: FactColumnType; json: readonly string[] }>;

type ValueType = keyof typeof ATTRIBUTE_COLUMNS;

const VALUE_TYPES = ['string', 'number', 'boolean'] as const satisfies readonly ValueType[];

function toAttributeKey(label: string, type: ValueType): FactKey {
  return type === 'string' ? label : `${label} as ${type}`;
}

const ATTRIBUTE_KEY = /^(attribute\(\w+\))(?: as (number|boolean))?$/;

function readAttributeKey(key: FactKey): { readonly label: string; readonly type: ValueType } | null {
  const [, label, word] = ATTRIBUTE_KEY.exec(key) ?? [];
  return label === undefined ? null : { label, type: VALUE_TYPES.find((type) => type === word) ?? 'string' };
}

/**
 * Returns the key of the fact with this label and this recorded value. If the value of an attribute is not known, it
 * has no type, and the key is that of a text.
 */
export function getKeyOfRecordedFact(label: string, value: NullableFactValue): FactKey {
  if (parseAttributeNameFromLabel(label) === null) return label;
  return toAttributeKey(label, VALUE_TYPES.find((type) => type === typeof value) ?? 'string');
}

/**
 * Returns the name of the column that keeps the values of a fact. The type of an attribute is the one that the rule
 * set declares.
 */
export function getColumnOfFactRef({ label, fact }: Pick<FactRef, 'label' | 'fact'>): string {
  return toColumnOfFactKey(fact.kind === 'attribute' ? toAttributeKey(label, getFactValueType(fact)) : label);
}

/** Lists the columns that an attribute with this name may have, one for each type of value. */
export function listColumnsOfAttribute(
  name: string,
): readonly (readonly [column: string, type: FactColumnType])[] {
  return VALUE_TYPES.map((type) => [
    toColumnOfFactKey(toAttributeKey(formatAttributeFactLabel(name), type)),
    ATTRIBUTE_COLUMNS[type].type,
  ]);
}

/**
 * Describes how the query engine reads a fact from the JSON of a record: the name of the JSON member (`label`), the
 * type that the engine gives to the member, and the SQL that makes the column's value of it.
 */
export function getJsonSourceOfFact(
  key: FactKey,
  type: FactColumnType,
): { label: string; type: string; sql: (path: string) => string } {
  const attribute = readAttributeKey(key);
  if (attribute === null) return { label: key, type, sql: (path) => path };
  const { json } = ATTRIBUTE_COLUMNS[attribute.type];
  const types = json.map((name) => `'${name}'`).join(', ');
  const value = (path: string) => (type === 'VARCHAR' ? `${path}->>'$'` : `${path}::${type}`);
  return {
    label: attribute.label,
    type: 'JSON',
    sql: (path) => `CASE WHEN json_type(${path}) IN (${types}) THEN ${value(path)} END`,
  };
}

const FACT = 'fact_';

const columnsOfFacts = new Map<FactKey, string>();

/** Returns the column of a fact: `fact_verdicts_10m` for `verdicts(10m)`. Many engines accept no brackets in a name. */
export function toColumnOfFactKey(key: FactKey): string {
  return columnsOfFacts.getOrInsertComputed(key, () => {
    const attribute = readAttributeKey(key);
    if (attribute === null) return FACT + toColumnWords(key);
    const { word } = ATTRIBUTE_COLUMNS[attribute.type];
    return `${FACT}${word}_${toSnakeName(parseAttributeNameFromLabel(attribute.label) ?? '')}`;
  });
}

/** Returns a label without brackets: `clientsOnAttribute_card_number_1h` for `clientsOnAttribute(cardNumber 1h)`. */
function toColumnWords(label: string): string {
  const [, fact, attribute, window] = VELOCITY_LABEL.exec(label) ?? [];
  return attribute === undefined
    ? label.replace('(', '_').replace(')', '')
    : `${fact}_${toSnakeName(attribute)}_${window}`;
}

const VELOCITY_LABEL = /^(\w+)\((\w+) (\w+)\)$/;

/** The names of the facts that count what happened with one value of an attribute, such as `clientsOnAttribute`. */
const VELOCITY_FACTS = [...CATALOGUE].flatMap(([name, fact]) =>
  fact.kind === 'windowed' && fact.ofAttribute !== undefined ? [name] : [],
);

/**
 * Writes `cardCountry` as `card_country` and `card_country` as `card__country`. The two results differ even in
 * engines that ignore case, and `parseSnakeName` can turn each back into its name.
 */
function toSnakeName(name: string): string {
  return name.replace(/[A-Z_]/g, (character) => `_${character.toLowerCase()}`);
}

function parseSnakeName(text: string): string {
  return text.replace(/_(.)/g, (_, character: string) => character.toUpperCase());
}

/** Parses the name of a fact's column to the fact's label. Returns null for any other column. */
export function parseLabelOfFactColumn(column: string): string | null {
  if (!column.startsWith(FACT)) return null;
  const rest = column.slice(FACT.length);
  const attribute = parseAttributeColumn(rest);
  if (attribute !== null) return formatAttributeFactLabel(attribute.name);
  const [name = '', ...window] = rest.split('_');
  if (VELOCITY_FACTS.includes(name))
    return `${name}(${parseSnakeName(window.slice(0, -1).join('_'))} ${window.at(-1)})`;
  return window.length === 0 ? name : `${name}(${window.join('_')})`;
}

function parseAttributeColumn(rest: string): { readonly name: string; readonly type: ValueType } | null {
  const type = VALUE_TYPES.find((one) => rest.startsWith(`${ATTRIBUTE_COLUMNS[one].word}_`));
  if (type === undefined) return null;
  return { name: parseSnakeName(rest.slice(ATTRIBUTE_COLUMNS[type].word.length + 1)), type };
}

/** Returns the DuckDB type of a fact's column. */
export function getTypeOfFactColumn(column: string): FactColumnType {
  const attribute = parseAttributeColumn(column.slice(FACT.length));
  return attribute === null
    ? getTypeOfFactKey(parseLabelOfFactColumn(column) ?? '')
    : ATTRIBUTE_COLUMNS[attribute.type].type;
}

/** Returns the DuckDB type of a fact's values. A fact that is not in the catalogue has the type of a text. */
export function getTypeOfFactKey(key: FactKey): FactColumnType {
  const attribute = readAttributeKey(key);
  if (attribute !== null) return ATTRIBUTE_COLUMNS[attribute.type].type;
  const [name = ''] = key.split('(');
  const domain = CATALOGUE.get(name)?.domain;
  switch (domain?.type) {
    case 'number':
      return domain.integer ? 'BIGINT' : 'DOUBLE';
    case 'boolean':
      return 'BOOLEAN';
    case 'enum':
    case 'text':
    case undefined:
      return 'VARCHAR';
    default:
      return domain satisfies never;
  }
}
