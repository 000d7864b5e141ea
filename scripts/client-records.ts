import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OperationObject } from '#workbench/openapi/document.ts';
import { createCallerApiDocument } from '#workbench/platform/caller-document.ts';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';

/**
 * Writes src/sdk/records.ts from the OpenAPI documents: the shapes that the client library sends and gets, and the
 * queries that it takes. Run it with `node scripts/client-records.ts`. A test fails if the file is stale.
 */

const ROOT = join(import.meta.dirname, '..');
const RECORDS = join(ROOT, 'src', 'sdk', 'records.ts');

/** The operations for which the library has a method. */
const OPERATIONS = [
  'score',
  'verdict',
  'reportOutcomes',
  'readClient',
  'readClientHistory',
  'exportClient',
  'eraseClient',
  'readClientLinks',
  'bindClient',
  'overrideClient',
  'listDecisions',
  'find',
  'readDecision',
  'explainDecision',
  'readRollout',
  'rollOut',
  'rollBack',
  'readLists',
  'makeList',
  'readListEntries',
  'putListEntry',
  'removeListEntry',
  'importListEntries',
  'readEvents',
];

/**
 * Names for shapes that the documents use in several places without a name. A name has the path to a member with the
 * shape.
 */
const NAMED: Readonly<Record<string, readonly [schema: string, ...members: string[]]>> = {
  ClientGroup: ['ScoreAnswer', 'clientGroup'],
  VerdictCommand: ['Decision', 'verdict'],
  OutcomeEffect: ['OutcomeResult', 'result'],
  ListKind: ['ListBody', 'kind'],
  Place: ['RuleTrace', 'at'],
  PointedDetail: ['Problem', 'errors', 'items'],
  CurrentOutcome: ['KeptOutcome', 'order'],
  VersionWithDigest: ['Rollout', 'active'],
  TrialArmCounts: ['TrialCounts', 'arms', 'active'],
};

/** Names for shapes whose name in the documents would be unclear in a program. */
const RENAMED: Readonly<Record<string, string>> = {
  BindingBody: 'NewBinding',
  Client: 'ClientView',
  Condition: 'ConditionTrace',
  DecisionList: 'FoundDecisions',
  ListBody: 'NewList',
  ListEntryBody: 'NewListEntry',
  Following: 'ChangedRollout',
  KeptBinding: 'KeptBindingChange',
  KeptOverride: 'KeptOverrideChange',
  ListLine: 'ListChangeLine',
  ListRemoval: 'ListRemovalResult',
  Node: 'NodeReport',
  OutcomeBody: 'OutcomeReport',
  OverrideBody: 'NewOverride',
  RefusedPayers: 'PredictedRefusals',
  RollbackBody: 'RollbackRequest',
  RolloutBody: 'RolloutRequest',
  RulesAccount: 'RulesTrace',
  ScoreBody: 'ScoreRequest',
  VerdictBody: 'VerdictRequest',
};

/** The names of the queries in the library, each with the operation that takes the query. */
const QUERIES: Readonly<Record<string, string>> = {
  DecisionQuery: 'listDecisions',
  FindQuery: 'find',
  LinksQuery: 'readClientLinks',
  ListEntryQuery: 'readListEntries',
  PageQuery: 'readClientHistory',
};

/** A whole number with at most this many possible values is written as these values. */
const LISTED_NUMBERS_MAX = 2;

/** The fewest members of a shape that others may extend. Shapes with fewer members in common are alike by chance. */
const BASE_MEMBERS_MIN = 3;

type TypeName = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null';

/** JSON Schema as far as the documents use it. */
interface Schema {
  readonly $ref?: string;
  readonly type?: TypeName | readonly TypeName[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

interface QueryParameter {
  readonly name: string;
  readonly in: 'query';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

type Schemas = Readonly<Record<string, Schema>>;

const HEADER = `// Written by scripts/client-records.ts from the OpenAPI documents; a test holds it equal to them.
// Times are RFC 3339 in UTC.
`;

/** Creates the text of records.ts. */
export function formatSdkRecords(): string {
  const documents = [createCallerApiDocument(''), createPlatformDocument()];
  const operations = documents.flatMap(({ paths }) =>
    Object.values(paths).flatMap(Object.values<OperationObject>),
  );
  const asked = OPERATIONS.map((id) => findOperation(operations, id));
  const schemas: Schemas = Object.assign({}, ...documents.map(({ components }) => components.schemas));
  const sent = findReachedNames(
    schemas,
    asked.map(({ requestBody }) => requestBody),
  );
  const got = findReachedNames(
    schemas,
    asked.map(({ responses }) => listSuccesses(responses)),
  );
  const records = new Records(schemas, sent);
  const queries = Object.entries(QUERIES).map(([name, id]) =>
    records.query(name, findOperation(operations, id).parameters.filter(isOptionalInQuery)),
  );
  return formatWithBiome([records.text(sent.union(got)), ...queries].join('\n'));
}

/** Required parameters are arguments of the library's methods, so only optional ones are in its queries. */
function isOptionalInQuery(parameter: unknown): parameter is QueryParameter {
  const { in: place, required }: { in?: unknown; required?: unknown } = Object(parameter);
  return place === 'query' && required === false;
}

function findOperation(operations: readonly OperationObject[], id: string): OperationObject {
  const operation = operations.find(({ operationId }) => operationId === id);
  if (operation === undefined) throw new Error(`the API documents have no operation "${id}"`);
  return operation;
}

/** Returns the successful responses. Refusals are thrown, so they need no record. */
function listSuccesses(responses: OperationObject['responses']): readonly unknown[] {
  return Object.entries(responses).flatMap(([status, response]) =>
    status.startsWith('2') ? [response] : [],
  );
}

/** Returns the names of the schemas that these parts of operations refer to. */
function findReachedNames(schemas: Schemas, parts: readonly unknown[]): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (names.has(name)) continue;
      names.add(name);
      visit(schemas[name]);
    }
  };
  visit(parts);
  return names;
}

function nameOf(schema: string): string {
  return RENAMED[schema] ?? schema;
}

/**
 * Writes schemas as TypeScript. In shapes that are sent, an optional member may be undefined, which JSON leaves out,
 * and members have their descriptions. The descriptions of what is received are on the pages of the API.
 */
class Records {
  readonly #schemas: Schemas;
  readonly #sent: ReadonlySet<string>;
  /** The named schemas by their shape. */
  readonly #named: ReadonlyMap<string, string>;
  /** The members of the shapes that others may extend. */
  readonly #bases = new Map<string, ReadonlySet<string>>();

  constructor(schemas: Schemas, sent: ReadonlySet<string>) {
    this.#schemas = schemas;
    this.#sent = sent;
    this.#named = new Map(Object.keys(NAMED).map((name) => [toShapeText(this.#example(name)), name]));
  }

  text(names: ReadonlySet<string>): string {
    const got = [...names].filter((name) => !this.#sent.has(name));
    const shapes = [
      ...Object.keys(NAMED).map((name) => [name, this.#example(name)] as const),
      ...got.map((name) => [nameOf(name), this.#schemas[name] ?? {}] as const),
    ];
    for (const [name, schema] of shapes) {
      const members = this.#members(schema, false);
      if (members.length >= BASE_MEMBERS_MIN) this.#bases.set(name, new Set(members));
    }
    const shared = Object.keys(NAMED).map((name) => this.#declaration(name, this.#example(name), false));
    const records = [...names]
      .toSorted((a, b) => nameOf(a).localeCompare(nameOf(b), 'en'))
      .map((name) => this.#declaration(nameOf(name), this.#schemas[name] ?? {}, this.#sent.has(name)));
    return [HEADER, ...shared, ...records].join('\n');
  }

  query(name: string, parameters: readonly QueryParameter[]): string {
    const members = parameters.map(({ name, description, schema }) => {
      const absent = schema.default === undefined ? '' : `; ${schema.default} when absent`;
      return `/** ${description}${absent} */\nreadonly ${name}?: ${this.#asked(schema)} | undefined;`;
    });
    return `export interface ${name} {\n${members.join('\n')}\n}\n`;
  }

  #asked(schema: Schema): string {
    const { format, minimum = 0, maximum = Number.MAX_VALUE } = schema;
    if (format === 'date-time') return 'Date | string';
    if (maximum - minimum < LISTED_NUMBERS_MAX)
      return Array.from({ length: maximum - minimum + 1 }, (_, place) => minimum + place).join(' | ');
    return this.#type(schema, true);
  }

  #example(name: string): Schema {
    const [schema = '', ...members] = NAMED[name] ?? [];
    return members.reduce((within: Schema, member) => {
      if (member === 'items') return within.items ?? {};
      const example = within.properties?.[member] ?? {};
      return within.required?.includes(member) ? example : removeNull(example);
    }, this.#schemas[schema] ?? {});
  }

  #declaration(name: string, schema: Schema, isSent: boolean): string {
    if (schema.properties === undefined)
      return `${formatComment(schema)}export type ${name} = ${this.#structure(schema, isSent)}\n`;
    const { base, rest } = this.#based(this.#members(schema, isSent), isSent);
    const head = base === null ? name : `${name} extends ${base}`;
    return `${formatComment(schema)}export interface ${head} {\n${rest.join('\n')}\n}\n`;
  }

  /**
   * Finds the largest named shape of which a received shape has all members. Returns it with the received shape's
   * other members.
   */
  #based(members: readonly string[], isSent: boolean) {
    const known = isSent ? [] : [...this.#bases].filter(([, its]) => its.size < members.length);
    const [base = null, its = new Set()] =
      known
        .filter(([, its]) => its.isSubsetOf(new Set(members)))
        .toSorted(([, a], [, b]) => b.size - a.size)[0] ?? [];
    return { base, rest: members.filter((member) => !its.has(member)) };
  }

  #type(schema: Schema, isSent: boolean): string {
    if (schema.$ref !== undefined) return nameOf(schema.$ref.replace(/^.*\//, ''));
    return this.#named.get(toShapeText(schema)) ?? this.#structure(schema, isSent);
  }

  #structure(schema: Schema, isSent: boolean): string {
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return choices.map((choice) => this.#type(choice, isSent)).join(' | ');
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
    if (schema.type === undefined) return 'unknown';
    return [schema.type]
      .flat()
      .map((type) => this.#plain(type, schema, isSent))
      .join(' | ');
  }

  #plain(type: TypeName, schema: Schema, isSent: boolean): string {
    switch (type) {
      case 'object':
        return schema.properties === undefined ? this.#dictionary(schema) : this.#literal(schema, isSent);
      case 'array':
        return `readonly (${this.#type(schema.items ?? {}, isSent)})[]`;
      case 'integer':
        return 'number';
      default:
        return type;
    }
  }

  #dictionary({ patternProperties = {} }: Schema): string {
    const [value = {}] = Object.values(patternProperties);
    return `Readonly<Record<string, ${this.#type(value, false)}>>`;
  }

  /** Writes a literal. Without a line break at its beginning, a short literal stays on one line. */
  #literal(schema: Schema, isSent: boolean): string {
    const { base, rest } = this.#based(this.#members(schema, isSent), isSent);
    const literal = `{${rest.join(isSent ? '\n' : ' ')}\n}`;
    return base === null ? literal : `${base} & ${literal}`;
  }

  #members({ properties = {}, required = [] }: Schema, isSent: boolean): readonly string[] {
    return Object.entries(properties).map(([name, member]) => {
      const isOptional = !required.includes(name);
      const told = isSent && isOptional ? removeNull(member) : member;
      const type = this.#type(told, isSent);
      if (!isSent) return `readonly ${name}${isOptional ? '?' : ''}: ${type};`;
      const optional = isOptional ? `?: ${type} | undefined` : `: ${type}`;
      return `${formatComment(told)}readonly ${name}${optional};`;
    });
  }
}

/**
 * Returns the schema without null. Senders leave out an optional member, and need not know that null means the same.
 */
function removeNull(schema: Schema): Schema {
  const { anyOf, enum: values, type } = schema;
  const [only, ...others] = anyOf?.filter((choice) => choice.type !== 'null') ?? [];
  if (only !== undefined && others.length === 0) return only;
  if (type === undefined || typeof type === 'string') return schema;
  const types = type.filter((one) => one !== 'null');
  const [first, ...more] = types;
  return {
    ...schema,
    type: first !== undefined && more.length === 0 ? first : types,
    ...(values === undefined ? {} : { enum: values.filter((value) => value !== null) }),
  };
}

function formatComment({ description }: Schema): string {
  return description === undefined ? '' : `/** ${description} */\n`;
}

/** Returns a text that is the same for schemas that differ only in their descriptions. */
function toShapeText(schema: Schema): string {
  return JSON.stringify(schema, (key, value: unknown) => (key === 'description' ? undefined : value));
}

function formatWithBiome(text: string): string {
  const biome = join(ROOT, 'node_modules', '.bin', 'biome');
  const { stdout, stderr, status } = spawnSync(biome, ['format', `--stdin-file-path=${RECORDS}`], {
    cwd: ROOT,
    input: text,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

if (import.meta.main) writeFileSync(RECORDS, formatSdkRecords());
