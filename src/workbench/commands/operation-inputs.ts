import { Option } from 'commander';
import { isJsonObject } from '#base/files/json-object.ts';
import { Type } from '#base/json-schema.ts';
import type { DeclaredOperation } from '#checkout/http/operation/operation.ts';
import { formatNameHint } from '#decision/rules/problem.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { UsageError } from './exit.ts';
import { parseLifetime, parseReason, parseTime, toOptionName } from './options.ts';

/** The part of a request that holds a value. */
export type InputPlace = 'path' | 'query' | 'body';

/** An input of an operation: a parameter, or a member of its body. */
export interface OperationInput {
  readonly name: string;
  readonly in: InputPlace;
  readonly isRequired: boolean;
  readonly schema: object;
  /** How the command line writes the input: an option like `--expires`, or the name of a positional argument. */
  readonly cliName: string;
  readonly createOption: () => Option;
}

/** Lists the inputs of an operation: its parameters, except headers, and the members of its body. */
export function listOperationInputs({
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
      description: readDescription(schema),
      schema,
    })),
  );
  const isWord = (name: string) => command?.words?.includes(name) === true;
  return [...inParameters, ...inBody].map(({ description, ...input }) => {
    const flag = toOptionName(command?.flags?.[input.name] ?? getOptionName(input.name));
    const createOption = () => {
      const made = new Option(
        formatOption(flag, input.name, input.schema),
        describeInput({ ...input, description }),
      );
      if (input.isRequired) made.makeOptionMandatory();
      return 'default' in input.schema ? made.default(String(input.schema.default)) : made;
    };
    return {
      ...input,
      cliName: isWord(input.name) ? getPositionalArgumentName(input.name) : `--${flag}`,
      createOption,
    };
  });
}

/** Returns how a command's help names a positional argument: `client` for `clientIdKey`, `id` for `proposalId`. */
export function getPositionalArgumentName(name: string): string {
  if (name === 'clientIdKey') return 'client';
  return name.endsWith('Id') ? 'id' : name;
}

/** Returns the name of an input's option. The time `expiresAt` is given as a duration, with `--expires`. */
function getOptionName(name: string): string {
  return isEnd(name) ? 'expires' : name;
}

function isEnd(name: string): boolean {
  return name === 'expiresAt';
}

function describeInput({
  name,
  schema,
  description,
}: Omit<OperationInput, 'cliName' | 'createOption'> & Described): string {
  switch (getInputKind(name, schema)) {
    case 'lifetime':
      return 'how long it lasts, like 30d; without it there is no end';
    case 'choice':
      return `${lowerFirst(description)}: ${listAllowedValues(schema).join(', ')}`;
    case 'flag':
      return lowerFirst(description.replace(/^True:? /, ''));
    case 'choices':
    case 'time':
    case 'number':
    case 'text':
      return lowerFirst(description);
  }
}

interface Described {
  readonly description: string;
}

function formatOption(flag: string, name: string, schema: object): string {
  switch (getInputKind(name, schema)) {
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

function getInputKind(name: string, given: object): InputKind {
  const schema = removeNull(given);
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

/**
 * Converts what a person gave to the value for a request. Returns undefined if nothing was given. Throws UsageError
 * if the text does not fit the input.
 */
export function toInputValue({ name, schema, cliName }: OperationInput, given: unknown): unknown {
  if (given === undefined) return undefined;
  const text = String(given);
  switch (getInputKind(name, schema)) {
    case 'flag':
      return given === true;
    case 'choices':
      return text
        .split(',')
        .map((one) =>
          requireOneOf(one.trim(), name.replace(/s$/, ''), listAllowedValues(getItemSchema(schema))),
        );
    case 'choice':
      return requireOneOf(text, name, listAllowedValues(schema));
    case 'lifetime':
      return new Date(Date.now() + parseLifetime(text)).toISOString();
    case 'time':
      return new Date(parseTime(text, cliName) ?? 0).toISOString();
    case 'number':
      return parseNumberWithinBounds(text, cliName, schema);
    case 'text':
      return name === 'reason' ? parseReason(text) : text;
  }
}

function requireOneOf(text: string, name: string, values: readonly string[]): string {
  if (values.includes(text)) return text;
  const meant = formatNameHint(text, values);
  const allowed = meant.includes('allowed') ? '' : ` Allowed: ${values.join(', ')}.`;
  throw new UsageError(`unknown ${name} "${text}"${meant}${allowed}`);
}

function listAllowedValues(schema: object): readonly string[] {
  return 'enum' in schema && Array.isArray(schema.enum) ? schema.enum.map(String) : [];
}

function getItemSchema(schema: object): object {
  return 'items' in schema && isJsonObject(schema.items) ? schema.items : {};
}

/** Parses a number within the bounds of a schema. Throws UsageError for any other text. */
export function parseNumberWithinBounds(text: string, shown: string, given: object): number {
  const schema = removeNull(given);
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

/** Returns the schema of a nullable value for when it is not null. */
function removeNull(schema: object): object {
  const choices: readonly unknown[] = 'anyOf' in schema && Array.isArray(schema.anyOf) ? schema.anyOf : [];
  return choices.find((one) => isJsonObject(one) && one['type'] !== 'null') ?? schema;
}

function readDescription(given: object): string {
  const described = [given, removeNull(given)].find((schema) => 'description' in schema) ?? {};
  return 'description' in described ? String(described.description) : '';
}

export function lowerFirst(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}
