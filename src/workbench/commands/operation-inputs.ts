import { Option } from 'commander';
import { isJsonObject } from '#base/files/json-object.ts';
import { Type } from '#base/json-schema.ts';
import type { DeclaredOperation } from '#checkout/http/operation/operation.ts';
import { suggestName } from '#decision/rules/problem.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { UsageError } from './exit.ts';
import { flagOf, parseLifetime, parseReason, parseTime } from './options.ts';

/** Where a request has a value. */
export type InputPlace = 'path' | 'query' | 'body';

/** Something that an operation takes: a parameter, or a member of its body. */
export interface OperationInput {
  readonly name: string;
  readonly in: InputPlace;
  readonly isRequired: boolean;
  readonly schema: object;
  /** As people write it: `--expires`, or the name of a word. */
  readonly shown: string;
  readonly option: () => Option;
}

/** All that an operation takes, but for places in lists. */
export function inputsOf({
  parameters = [],
  body,
  command,
}: DeclaredOperation<RuleParts>): readonly OperationInput[] {
  const inParameters = parameters.flatMap(({ name, in: place, required, description, schema }) =>
    place === 'header' ? [] : [{ name, in: place, isRequired: required, description, schema }],
  );
  const shapes = body === null ? [] : Object.values(body.shapes).filter(Type.IsObject);
  const inBody = shapes.flatMap(({ properties, required = [] }) =>
    Object.entries(properties).map(([name, schema]) => ({
      name,
      in: 'body' as const,
      isRequired: required.includes(name),
      description: descriptionIn(schema),
      schema,
    })),
  );
  const isWord = (name: string) => command?.words?.includes(name) === true;
  return [...inParameters, ...inBody].map(({ description, ...input }) => {
    const flag = flagOf(command?.flags?.[input.name] ?? plainName(input.name));
    const option = () => {
      const made = new Option(optionText(flag, input.name, input.schema), toldOf({ ...input, description }));
      if (input.isRequired) made.makeOptionMandatory();
      return 'default' in input.schema ? made.default(String(input.schema.default)) : made;
    };
    return { ...input, shown: isWord(input.name) ? wordOf(input.name) : `--${flag}`, option };
  });
}

/** How a word of a command is called in its help. */
export function wordOf(name: string): string {
  if (name === 'clientIdKey') return 'client';
  return name.endsWith('Id') ? 'id' : name;
}

/** A moment at which something ends is given by how long it lasts. */
function plainName(name: string): string {
  return isEnd(name) ? 'expires' : name;
}

function isEnd(name: string): boolean {
  return name === 'expiresAt';
}

function toldOf({ name, schema, description }: Omit<OperationInput, 'shown' | 'option'> & Described): string {
  switch (kindOf(name, schema)) {
    case 'lifetime':
      return 'how long it lasts, like 30d; without it there is no end';
    case 'choice':
      return `${withLowerFirst(description)}: ${valuesIn(schema).join(', ')}`;
    case 'flag':
      return withLowerFirst(description.replace(/^True:? /, ''));
    case 'choices':
    case 'time':
    case 'number':
    case 'text':
      return withLowerFirst(description);
  }
}

interface Described {
  readonly description: string;
}

function optionText(flag: string, name: string, schema: object): string {
  switch (kindOf(name, schema)) {
    case 'flag':
      return `--${flag}`;
    case 'choices':
      return `--${flag} <list>`;
    case 'lifetime':
      return `--${flag} <duration>`;
    case 'time':
      return `--${flag} <time>`;
    case 'number':
      return `--${flag} <number>`;
    case 'choice':
      return `--${flag} <${flag}>`;
    case 'text':
      return `--${flag} <${name === 'reason' ? 'text' : flag}>`;
  }
}

type InputKind = 'flag' | 'choices' | 'choice' | 'lifetime' | 'time' | 'number' | 'text';

function kindOf(name: string, given: object): InputKind {
  const schema = withoutNull(given);
  if (isEnd(name)) return 'lifetime';
  if ('instant' in schema || ('format' in schema && schema.format === 'date-time')) return 'time';
  if ('enum' in schema) return 'choice';
  switch ('type' in schema ? schema.type : null) {
    case 'boolean':
      return 'flag';
    case 'array':
      return 'choices';
    case 'integer':
    case 'number':
      return 'number';
    default:
      return 'text';
  }
}

/** What a person gave, as a request has it; undefined for nothing. Throws UsageError. */
export function readInput({ name, schema, shown }: OperationInput, given: unknown): unknown {
  if (given === undefined) return undefined;
  const text = String(given);
  switch (kindOf(name, schema)) {
    case 'flag':
      return given === true;
    case 'choices':
      return text
        .split(',')
        .map((one) => oneOf(one.trim(), name.replace(/s$/, ''), valuesIn(itemsIn(schema))));
    case 'choice':
      return oneOf(text, name, valuesIn(schema));
    case 'lifetime':
      return new Date(Date.now() + parseLifetime(text)).toISOString();
    case 'time':
      return new Date(parseTime(text, shown) ?? 0).toISOString();
    case 'number':
      return parseNumber(text, shown, schema);
    case 'text':
      return name === 'reason' ? parseReason(text) : text;
  }
}

function oneOf(text: string, name: string, values: readonly string[]): string {
  if (values.includes(text)) return text;
  throw new UsageError(`unknown ${name} "${text}"${suggestName(text, values)}`);
}

function valuesIn(schema: object): readonly string[] {
  return 'enum' in schema && Array.isArray(schema.enum) ? schema.enum.map(String) : [];
}

function itemsIn(schema: object): object {
  return 'items' in schema && isJsonObject(schema.items) ? schema.items : {};
}

/** A number within the bounds of a schema. Throws UsageError. */
export function parseNumber(text: string, shown: string, given: object): number {
  const schema = withoutNull(given);
  const number = Number(text);
  const isWhole = 'type' in schema && schema.type === 'integer';
  const bound = (name: string) => {
    const value: unknown = Reflect.get(schema, name);
    return typeof value === 'number' ? value : null;
  };
  const [min, above, max] = [bound('minimum'), bound('exclusiveMinimum'), bound('maximum')];
  const fits = number >= (min ?? -Infinity) && number > (above ?? -Infinity) && number <= (max ?? Infinity);
  if (text.trim() !== '' && (isWhole ? /^\d+$/.test(text) : Number.isFinite(number)) && fits) return number;
  const bounds = [
    ...(min === null ? [] : [`from ${min}`]),
    ...(above === null ? [] : [`above ${above}`]),
    ...(max === null ? [] : [above === null ? `to ${max}` : `and up to ${max}`]),
  ].join(' ');
  const what = isWhole ? 'a whole number' : 'a number';
  throw new UsageError(`${shown} must be ${[what, bounds].join(' ').trim()}, not "${text}"`);
}

/** The schema of what may also be null. */
function withoutNull(schema: object): object {
  const choices: readonly unknown[] = 'anyOf' in schema && Array.isArray(schema.anyOf) ? schema.anyOf : [];
  return choices.find((one) => isJsonObject(one) && one['type'] !== 'null') ?? schema;
}

function descriptionIn(schema: object): string {
  return 'description' in schema ? String(schema.description) : '';
}

export function withLowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
