import type { Node } from 'yaml';
import { DURATION_PATTERN } from '#base/duration.ts';
import { CURRENCY_PATTERN, DECIMAL_PATTERN } from '#decision/payer/amount.ts';
import { NAME_CHARACTERS_MAX, NAME_PATTERN } from '#decision/rules/rule-set.ts';
import { guessAmount } from './correction-hints.ts';
import type { Members, NumberRange, YamlFile } from './yaml-file.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The descriptions of constants that are not compared with a fact. The forms of the rule files and the list of
 * constants both use them.
 */
export const CONSTANT_DESCRIPTIONS = {
  threshold: 'A payer is a bot when the weights of matching signals reach it.',
  weight: 'What this signal adds when it matches.',
  about:
    'What the signal observes, like device; of several matching signals about one thing only the heaviest counts.',
  flag: 'The name of the flag that is recorded beside the verdict, for search and counts, like large-first-order.',
  exempt: 'Conditions under which no signal counts.',
  ladder: 'Only with WAIT: the name of a ladder in ladder.yaml; left out: the ladder without a name.',
  levels: 'The wait of each level, each longer than the one before; the last repeats.',
  resetAfter:
    'A payer who asks for nothing this long starts again without a wait; must be longer than the longest wait.',
  smoothing:
    'paymentScore = (paid + weight * prior) / (final + weight); left out, prior is 0.5 and weight 2.',
  window: 'How far the fact looks back.',
  sharedList: 'The shared list, which changes without a release.',
  list: 'The list in lists/NAME.yaml, without the ending.',
  attribute: 'The attribute, which ruleset.yaml declares.',
  unit: 'The unit of a number, like days or currency units; only numbers of the same unit are compared with each other.',
} as const;

/** The form of a value in a rule file. Its schema is for editors, and `read` is for the parser. */
export interface Form<T> {
  readonly schema: JsonSchema;
  /**
   * Reads a value. If the value is not sound, returns null and reports a problem. `what` is the name of the value in
   * messages.
   */
  readonly read: (file: YamlFile, node: Node, what: string) => T | null;
}

/** The forms of the members of a mapping, by the values that they read. */
type Forms<V> = { readonly [Name in keyof V]: Form<V[Name]> };

/** The place of a mapping, for messages about it. */
export interface MappingPlace {
  readonly file: YamlFile;
  readonly node: Node;
  readonly members: Members;
}

export function textForm(description: string): Form<string> {
  return {
    schema: { type: 'string', pattern: '\\S', description },
    read: (file, node, what) => file.readText(node, what),
  };
}

/** A text that `parse` understands. `refusal` is the message about any other text, without the name of the value. */
export function parsedTextForm<T>(
  schema: JsonSchema,
  parse: (text: string) => T | null,
  refusal: (text: string) => string,
): Form<T> {
  return {
    schema: { type: 'string', ...schema },
    read: (file, node, what) => {
      const digits = file.findWrittenDigits(node);
      if (digits !== null) {
        const refused = parse(digits) === null ? refusal(digits) : `must stand in quotes: write "${digits}"`;
        return file.report(node, `${what} ${refused}`);
      }
      const found = file.readText(node, what);
      return found === null ? null : (parse(found) ?? file.report(node, `${what} ${refusal(found)}`));
    },
  };
}

/** Digits in quotes. Without quotes YAML reads a number, and drops zeros at its end. */
export function quotedDigitsForm(pattern: string, wanted: string): Form<string> {
  const digits = new RegExp(pattern);
  return {
    schema: { type: 'string', pattern },
    read: (file, node, what) => {
      const value = file.toPlainValue(node);
      if (typeof value === 'string' && digits.test(value)) return value;
      return file.report(node, `${what} must be ${wanted}`);
    },
  };
}

export function yesNoForm(description?: string): Form<boolean> {
  return {
    schema: { type: 'boolean', ...(description !== undefined && { description }) },
    read: (file, node, what) => file.readBoolean(node, what),
  };
}

export function choiceForm<const T extends string>(allowed: readonly T[], description?: string): Form<T> {
  return {
    schema: { type: 'string', enum: allowed, ...(description !== undefined && { description }) },
    read: (file, node, what) => file.readChoice(node, what, allowed),
  };
}

export function numberForm(range: NumberRange, description?: string): Form<number> {
  const type = range.integer === true ? 'integer' : 'number';
  const limits = { minimum: range.min, maximum: range.max };
  return {
    schema: { type, ...limits, ...(description !== undefined && { description }) },
    read: (file, node, what) => file.readNumber(node, what, range),
  };
}

export const DURATION_SCHEMA = {
  type: 'string',
  pattern: DURATION_PATTERN.source,
  description: 'A whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d.',
} as const;

/** A duration in milliseconds. */
export function durationForm(description: string = DURATION_SCHEMA.description): Form<number> {
  return {
    schema: { ...DURATION_SCHEMA, description },
    read: (file, node, what) => file.readDuration(node, what),
  };
}

export const NAME_SCHEMA = { type: 'string', pattern: NAME_PATTERN, maxLength: NAME_CHARACTERS_MAX } as const;

/** The highest number of items, and the message about a list that has more. */
type ItemLimit = readonly [max: number, refusal: (size: number) => string];

const UNBOUNDED: ItemLimit = [Number.POSITIVE_INFINITY, () => ''];

/** A mapping, or its short form. */
export function mappingOrShorthandForm<T>(long: Form<T>, short: Form<T>): Form<T> {
  return {
    schema: { anyOf: [short.schema, long.schema] },
    read: (file, node, what) => (file.isMapping(node) ? long : short).read(file, node, what),
  };
}

/** A list with at least one item. `each` is the name of an item in messages. */
export function nonEmptyListForm<T>(
  item: Form<T>,
  each: string,
  description: string,
  [max, overflow]: ItemLimit = UNBOUNDED,
) {
  const form: Form<readonly T[]> = {
    schema: {
      type: 'array',
      items: item.schema,
      minItems: 1,
      description,
      ...(max < Number.POSITIVE_INFINITY && { maxItems: max }),
    },
    read: (file, node, what) => {
      const nodes = file.listItemNodes(node, what);
      if (nodes === null) return null;
      const excess = nodes[max];
      if (excess !== undefined) return file.report(excess, overflow(nodes.length));
      const items = nodes.map((one) => item.read(file, one, each)).filter((one) => one !== null);
      return items.length < nodes.length ? null : items;
    },
  };
  return form;
}

/** A list that may be empty. */
export function possiblyEmptyListForm<T>(
  item: Form<T>,
  each: string,
  description?: string,
): Form<readonly T[]> {
  const some = nonEmptyListForm(item, each, '');
  return {
    schema: { type: 'array', items: item.schema, ...(description !== undefined && { description }) },
    read: (file, node, what) => {
      const plain = file.toPlainValue(node);
      return Array.isArray(plain) && plain.length === 0 ? [] : some.read(file, node, what);
    },
  };
}

/** A form in which `null` stands for the value `meant`. */
export function nullAsForm<T, const Meant = T>(meant: Meant, form: Form<T>): Form<T | Meant> {
  const { type } = form.schema;
  return {
    schema: { ...form.schema, type: [type, 'null'] },
    read: (file, node, what) => (file.isNull(node) ? meant : form.read(file, node, what)),
  };
}

/** A form in which `null` stands for no value. */
export function nullableForm<T>(form: Form<T>): Form<T | undefined> {
  return nullAsForm(undefined, form);
}

/**
 * A form that checks its values further with `check`. `check` returns null and reports a problem if a value is not
 * sound.
 */
export function withCheck<T, U>(
  form: Form<T>,
  check: (value: T, file: YamlFile, node: Node, what: string) => U | null,
): Form<U> {
  return {
    ...form,
    read: (file, node, what) => {
      const value = form.read(file, node, what);
      return value === null ? null : check(value, file, node, what);
    },
  };
}

/** A form with a fixed name in messages, wherever the value stands. */
export function withMessageName<T>(what: string, form: Form<T>): Form<T> {
  return { ...form, read: (file, node) => form.read(file, node, what) };
}

/** A form that returns the value with its node. */
export function withNode<T>(form: Form<T>): Form<{ readonly value: T; readonly node: Node }> {
  return withCheck(form, (value, _file, node) => ({ value, node }));
}

/** A mapping whose members are read elsewhere. */
export function mappingReadElsewhereForm(description: string): Form<true> {
  return { schema: { type: 'object', description }, read: () => true };
}

/**
 * A mapping whose names the author chooses. `nameItem(name)` is the name of an item in messages. `refuseName` says
 * why a name is not allowed.
 */
export function namedMembersForm<T>(
  description: string,
  names: JsonSchema,
  form: Form<T>,
  { nameItem, refuseName, most: [max, overflow] = UNBOUNDED }: NamedMembers,
): Form<ReadonlyMap<string, T>> {
  return {
    schema: { type: 'object', description, propertyNames: names, additionalProperties: form.schema },
    read: (file, node, what) => {
      const members = file.readAnyMembers(node, what);
      if (members !== null && members.size > max) return file.report(node, overflow(members.size));
      const values = new Map<string, T>();
      for (const [name, { key, value }] of members ?? []) {
        const refused = refuseName(name);
        if (refused !== null) file.report(key, refused);
        const read = form.read(file, value, nameItem(name));
        if (refused === null && read !== null) values.set(name, read);
      }
      return values.size === members?.size ? values : null;
    },
  };
}

interface NamedMembers {
  readonly nameItem: (name: string) => string;
  /** Returns null for a name that is allowed. */
  readonly refuseName: (name: string) => string | null;
  readonly most?: ItemLimit;
}

/** A member that may be left out, and its value in that case. */
export function withDefault<T, const Absent>(form: Form<T>, absent: Absent): Form<T | Absent> {
  const optional = { ...form, absent };
  return optional;
}

export function optionalForm<T>(form: Form<T>): Form<T | undefined> {
  return withDefault(form, undefined);
}

/** A form with additions to the schema for editors. */
export function withSchemaAdditions<T>(form: Form<T>, schema: JsonSchema): Form<T> {
  return { ...form, schema: { ...form.schema, ...schema } };
}

/** Creates the schema of a mapping with these members and no others. */
export function createMappingSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  description: string,
): JsonSchema {
  return {
    type: 'object',
    description,
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

/**
 * A mapping with these members and no others. `conclude` gets the values when all members are sound. `check` gets the
 * values of the sound members, and tells whether they fit together.
 */
export function mappingForm<V extends object, T>(
  description: string,
  forms: Forms<V>,
  conclude: (values: V, place: MappingPlace) => T | null,
  check: (values: Partial<V>, place: MappingPlace) => boolean = () => true,
): Form<T> {
  const all = Object.entries<Form<unknown>>(forms);
  const names = Object.keys(forms).filter((name): name is string & keyof V => Object.hasOwn(forms, name));
  const required = names.filter((name) => !('absent' in forms[name]));
  const isComplete = (values: Partial<V>): values is V => names.every((name) => name in values);
  const properties = Object.fromEntries(all.map(([name, { schema }]) => [name, schema]));
  return {
    schema: createMappingSchema(properties, required, description),
    read: (file, node, what) => {
      const members = file.readMembers(node, what, names, required);
      if (members === null) return null;
      const place = { file, node, members };
      const values: Partial<V> = {};
      for (const name of names) readMember(forms, name, place, values);
      const fits = check(values, place);
      return fits && isComplete(values) ? conclude(values, place) : null;
    },
  };
}

function readMember<V extends object, Name extends string & keyof V>(
  forms: Forms<V>,
  name: Name,
  { file, members }: MappingPlace,
  values: Partial<V>,
): void {
  const form: Form<V[Name]> & { readonly absent?: V[Name] } = forms[name];
  const member = members.get(name);
  if (member !== undefined) {
    const value = form.read(file, member.value, name);
    if (value !== null) values[name] = value;
  } else if ('absent' in form) values[name] = form.absent;
}

const CURRENCY = new RegExp(CURRENCY_PATTERN);

/** Returns why a text is no currency. Returns null if it is one. */
function findCurrencyFault(text: string): string | null {
  return CURRENCY.test(text)
    ? null
    : `currency must be 3 or 4 capital letters or digits, like EUR, not "${text}"`;
}

export const CURRENCY_FORM: Form<string> = withCheck(
  withSchemaAdditions(textForm('Used when a request names none.'), { pattern: CURRENCY_PATTERN }),
  (currency, file, node) => {
    const refusal = findCurrencyFault(currency);
    return refusal === null ? currency : file.report(node, refusal);
  },
);

const DECIMAL = new RegExp(DECIMAL_PATTERN);

/** Decimal texts by currency. `each` is the name of an item in messages. */
export function amountsForm(description: string, each: string): Form<ReadonlyMap<string, string>> {
  const amount = parsedTextForm(
    { pattern: DECIMAL_PATTERN },
    (text) => (DECIMAL.test(text) ? text : null),
    (text) => {
      const meant = guessAmount(text);
      const hint = meant === null ? '' : `; write "${meant}"`;
      return `must be a decimal text, like "250.00", not "${text}"${hint}`;
    },
  );
  return namedMembersForm(description, { pattern: CURRENCY_PATTERN }, amount, {
    nameItem: (currency) => `${each} in ${currency}`,
    refuseName: findCurrencyFault,
  });
}
