import { readFileSync } from 'node:fs';
import type { TSchema } from 'typebox';
import type { Operation } from '../../access/access-keys.ts';
import { PLATFORM_OPERATIONS } from '../platform/session.ts';
import { CONSOLE_SCHEMAS, type ConsoleSchemaName } from './console-schemas.ts';
import { HISTORY_SCHEMAS, type HistorySchemaName } from './history-schemas.ts';
import {
  ELSEWHERE,
  INTERNAL_ERROR,
  NO_OPERATION_OF_THE_PLATFORM,
  notGranted,
  type Refusal,
  UNAVAILABLE,
  UNKNOWN_KEY,
} from './refusals.ts';
import { ANSWER_SCHEMAS, type SchemaName } from './schemas.ts';

const PACKAGE: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
);

/** A JSON value of the document that tools read and this code does not. */
export type Json = unknown;

export interface HeaderObject {
  readonly description: string;
  /** The header always comes with the answers that name it. */
  readonly required?: true;
  readonly schema: { readonly type: string };
}

export interface MediaType {
  readonly schema: { readonly $ref?: string; readonly type?: 'string' };
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: Json }>>;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Json>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Json[];
  readonly parameters: readonly Json[];
  readonly requestBody?: { readonly required: true; readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

/** An OpenAPI 3.1 description of one listener. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Json;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Json>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly securitySchemes: Json;
  };
}

/** What a key must be granted: one operation, several together, or any of the platform's. */
export type Grant = Operation | readonly Operation[] | 'any of the platform';

/** One operation of a listener, as its route answers it. */
export interface OperationSpec {
  readonly method: 'get' | 'put' | 'post' | 'delete';
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: string;
  /** Null when no key is needed. */
  readonly grant: Grant | null;
  readonly parameters?: readonly Json[];
  readonly body?: Readonly<Record<string, { readonly schema: string; readonly example: Json }>>;
  readonly answers: Readonly<Record<number, AnswerSpec>>;
  /** Besides those that every operation with a key shares. */
  readonly refusals: readonly Refusal[];
}

export interface AnswerSpec {
  readonly description: string;
  readonly headers?: readonly ('X-Decision-Id' | 'Idempotent-Replayed')[];
  readonly content?: Readonly<
    Record<
      string,
      { readonly schema: SchemaName | ConsoleSchemaName | HistorySchemaName; readonly example: Json }
    >
  >;
  /** The answer is plain text. */
  readonly text?: true;
}

export interface DocumentSpec {
  readonly title: string;
  readonly description: string;
  readonly serverUrl: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly bodies: Readonly<Record<string, TSchema>>;
  readonly operations: readonly OperationSpec[];
}

const REQUEST_ID = '0b9bfa1e-3a1c-4d5c-9f0e-5d2f8f6f3c11';

const REQUEST_ID_PARAMETER = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description: "The caller's own id of the request; comes back in the answer and stands in the log",
  schema: { type: 'string', pattern: '^[A-Za-z0-9._~:/+=-]{1,128}$' },
} as const;

const HEADERS = {
  'X-Request-Id': {
    description: "The request's id: the one sent when it is safe to repeat, otherwise a new one",
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  'X-Decision-Id': {
    description: 'Names the decision record; leads to its explanation',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{22}\\.[1-9][0-9]*$' },
  },
  'Idempotent-Replayed': {
    description: 'Only on an answer that was given before under the same Idempotency-Key',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': {
    description: 'Seconds after which to try again',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  Allow: {
    description: 'Only with 405: the methods that the path takes',
    schema: { type: 'string' },
  },
} as const;

/**
 * The document of one listener. Its schemas are those that validate requests, and those that tests hold
 * live answers against; only schemas that an operation reaches are kept.
 */
export function documentOf(spec: DocumentSpec): OpenApiDocument {
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of spec.operations) {
    const methods = paths[operation.path] ?? {};
    methods[operation.method] = operationObject(operation);
    paths[operation.path] = methods;
  }
  const schemas = { ...spec.bodies, ...ANSWER_SCHEMAS, ...HISTORY_SCHEMAS, ...CONSOLE_SCHEMAS };
  const published = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, publishedSchema(schema)]),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: spec.title,
      version: PACKAGE.version,
      description: spec.description,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: spec.serverUrl }],
    tags: spec.tags,
    paths,
    components: {
      schemas: reachable(published, JSON.stringify(paths)),
      headers: usedHeaders(JSON.stringify(paths)),
      securitySchemes: {
        accessKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-KA-Access-Key',
          description: 'The access key that the platform owner issued. Keep it as a secret.',
        },
      },
    },
  };
}

function operationObject(spec: OperationSpec): OperationObject {
  const shared = spec.grant === null ? [] : [UNKNOWN_KEY, ...notGrantedFor(spec.grant), UNAVAILABLE];
  const { operationId, summary, description, parameters = [], body } = spec;
  return {
    operationId,
    summary,
    description,
    tags: [spec.tag],
    security: spec.grant === null ? [] : securityOf(spec.grant),
    parameters: [...parameters, REQUEST_ID_PARAMETER],
    ...(body === undefined ? {} : { requestBody: { required: true, content: mediaTypes(body) } }),
    responses: {
      ...Object.fromEntries(
        Object.entries(spec.answers).map(([status, answer]) => [status, success(answer)]),
      ),
      ...refusalsByStatus([...spec.refusals, ...shared]),
      default: refusalResponse('Any other refusal', [INTERNAL_ERROR, ...ELSEWHERE], ['Allow']),
    },
  };
}

/** In 3.1 each list names what the key must be granted; one of the lists is enough. */
function securityOf(grant: Grant): readonly Json[] {
  if (grant === 'any of the platform') return PLATFORM_OPERATIONS.map((one) => ({ accessKey: [one] }));
  return [{ accessKey: typeof grant === 'string' ? [grant] : grant }];
}

function notGrantedFor(grant: Grant): readonly Refusal[] {
  if (grant === 'any of the platform') return [NO_OPERATION_OF_THE_PLATFORM];
  return typeof grant === 'string' ? [notGranted(grant)] : grant.map(notGranted);
}

function success({ description, headers = [], content, text }: AnswerSpec): ResponseObject {
  return {
    description,
    headers: headerRefs(['X-Request-Id', ...headers]),
    ...(content === undefined ? {} : { content: mediaTypes(content) }),
    ...(text === true ? { content: { 'text/plain': { schema: { type: 'string' } } } } : {}),
  };
}

function mediaTypes(
  content: Readonly<Record<string, { readonly schema: string; readonly example: Json }>>,
): Record<string, MediaType> {
  return Object.fromEntries(
    Object.entries(content).map(([type, { schema, example }]) => [
      type,
      {
        schema: { $ref: `#/components/schemas/${schema}` },
        example,
      },
    ]),
  );
}

function refusalsByStatus(refusals: readonly Refusal[]): Record<string, ResponseObject> {
  const byStatus = Map.groupBy(refusals, ({ problem }) => problem.status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      refusalResponse(group.map(({ when }) => when).join(' '), group, status === 503 ? ['Retry-After'] : []),
    ]),
  );
}

function refusalResponse(
  description: string,
  refusals: readonly Refusal[],
  headers: readonly (keyof typeof HEADERS)[],
): ResponseObject {
  return {
    description,
    headers: headerRefs(['X-Request-Id', ...headers]),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(
          refusals.map((refusal) => [refusal.name, { summary: refusal.when, value: exampleOf(refusal) }]),
        ),
      },
    },
  };
}

function exampleOf({ problem: { title, status, message, errors } }: Refusal): Json {
  return {
    title,
    status,
    detail: message,
    ...(errors.length > 0 ? { errors } : {}),
    requestId: REQUEST_ID,
  };
}

function headerRefs(names: readonly (keyof typeof HEADERS)[]): Record<string, Json> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function usedHeaders(text: string): Readonly<Record<string, HeaderObject>> {
  return Object.fromEntries(
    Object.entries(HEADERS).filter(([name]) => text.includes(`"#/components/headers/${name}"`)),
  );
}

/** The schemas that the text points at, and those that they point at. */
function reachable(schemas: Readonly<Record<string, Json>>, text: string): Record<string, Json> {
  const found = new Map<string, Json>();
  const visit = (from: string): void => {
    for (const [, name = ''] of from.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue;
      const schema = schemas[name];
      found.set(name, schema);
      visit(JSON.stringify(schema));
    }
  };
  visit(text);
  return Object.fromEntries([...found].toSorted(([a], [b]) => a.localeCompare(b, 'en')));
}

/**
 * A schema in words that every tool knows. Two keywords are the validator's own: `wellFormed` cannot be
 * said in JSON Schema, and `instant` is a date-time or a count of milliseconds.
 */
export function publishedSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(publishedSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { instant, wellFormed, ...rest } = { instant: false, wellFormed: false, ...schema };
  const members = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, publishedSchema(value)]),
  );
  if (!instant) return members;
  return {
    ...members,
    oneOf: [
      { type: 'string', format: 'date-time' },
      { type: 'integer', minimum: 0 },
    ],
  };
}
