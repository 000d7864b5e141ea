import { readFileSync } from 'node:fs';
import { DECISION_ID_PATTERN } from '../../client/client-key.ts';
import { type TSchema, Type } from '../../json-schema.ts';
import { INSTANT, nameOf, pointerTo } from '../../shapes.ts';
import type { AnswerSpec, Operation, RequestBodySpec } from '../operation/operation.ts';
import { BAD_PARAMETER } from '../operation/parameters.ts';
import { type Grant, grantLists, grantRefusals } from '../request/authenticate.ts';
import { BODY_BYTES_MAX, bodyTooLarge, UNSUPPORTED_TYPE } from '../request/body.ts';
import { ProblemSchema, type ShownRefusal } from '../request/problems.ts';
import {
  HEADERS_TOO_LARGE,
  INTERNAL_ERROR,
  METHOD_NOT_ALLOWED,
  NO_HTTP,
  NOTHING_THERE,
  OVERLOADED,
  problemBody,
  STATE_AWAY,
  TOO_MANY_WAITING,
  TOO_SLOW,
  UNKNOWN_EXPECTATION,
  UNKNOWN_KEY,
} from '../request/refusals.ts';

const PACKAGE: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
);

/** An operation as far as a document describes it. */
type DescribedOperation = Omit<Operation<never>, 'run'>;

interface DocumentSpec {
  readonly title: string;
  readonly description: string;
  readonly serverUrl: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly operations: readonly DescribedOperation[];
  /** What the listener may answer to any request, besides what all listeners may; documented with every operation. */
  readonly elsewhere: readonly ShownRefusal[];
  /** As the listener's. */
  readonly refusesUnknownParameters: boolean;
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
  'Cache-Control': {
    description: 'Always no-store: an answer is for one caller and one moment',
    required: true,
    schema: { type: 'string', enum: ['no-store'] },
  },
  'X-Ignored-Members': {
    description:
      'Members of the body that the operation does not have, percent-encoded, ten at most: perhaps misspelt',
    schema: { type: 'string' },
  },
  'X-Decision-Id': {
    description: 'Names the decision record; leads to its explanation',
    required: true,
    schema: { type: 'string', pattern: DECISION_ID_PATTERN },
  },
  ETag: {
    description: 'The revision in quotes: what If-Match takes',
    required: true,
    schema: { type: 'string', pattern: '^"[1-9][0-9]*"$' },
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
  'WWW-Authenticate': {
    description: 'Names the header that the access key belongs into',
    required: true,
    schema: { type: 'string' },
  },
  Allow: { description: 'Only with 405: the methods that the path takes', schema: { type: 'string' } },
} as const;

/** The document of one listener, made from what its routes are made from. */
export function documentOf(spec: DocumentSpec): OpenApiDocument {
  const components = new Components();
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of spec.operations) {
    const methods = paths[operation.path] ?? {};
    methods[operation.method] = operationObject(operation, spec, components);
    paths[operation.path] = methods;
  }
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
      schemas: components.schemas(),
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

function operationObject(
  operation: DescribedOperation,
  spec: DocumentSpec,
  components: Components,
): OperationObject {
  const { operationId, summary, description, tag, grant, parameters = [], body } = operation;
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    security: grant === null ? [] : grantLists(grant).map((accessKey) => ({ accessKey })),
    parameters: [
      ...parameters.map(({ name, in: place, required, description, schema }) => ({
        name,
        in: place,
        required,
        description,
        schema,
      })),
      REQUEST_ID_PARAMETER,
    ],
    ...(body === null ? {} : { requestBody: requestBody(body, components) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [
          status,
          success(answer, components, operation.body !== null),
        ]),
      ),
      ...refusalsByStatus(refusalsOf(operation, spec), components),
      default: refusalResponse(
        'Any other refusal',
        [
          INTERNAL_ERROR,
          NOTHING_THERE,
          METHOD_NOT_ALLOWED,
          NO_HTTP,
          TOO_SLOW,
          UNKNOWN_EXPECTATION,
          HEADERS_TOO_LARGE,
          ...(grant === null ? spec.elsewhere : []),
        ],
        ['Allow'],
        components,
      ),
    },
  };
}

/** Its own refusals, and those that follow from what it takes: parameters, a body, a key. */
function refusalsOf(
  { refusals, grant, body }: DescribedOperation,
  { refusesUnknownParameters, elsewhere }: DocumentSpec,
): readonly ShownRefusal[] {
  return [
    ...refusals,
    ...(grant !== null && refusesUnknownParameters ? [BAD_PARAMETER] : []),
    ...(body === null || body.onlyLines === true ? [] : [bodyTooLarge(body.bytesMax ?? BODY_BYTES_MAX)]),
    ...(body === null ? [] : [UNSUPPORTED_TYPE]),
    ...(grant === null ? [] : [...keyRefusals(grant), ...elsewhere]),
  ];
}

function keyRefusals(grant: Grant): readonly ShownRefusal[] {
  return [UNKNOWN_KEY, ...grantRefusals(grant), STATE_AWAY, TOO_MANY_WAITING, OVERLOADED];
}

function requestBody({ content, shapes }: RequestBodySpec, components: Components) {
  for (const [name, schema] of Object.entries(shapes)) components.add(name, withBlanks(schema));
  return {
    required: true,
    content: Object.fromEntries(
      Object.entries(content).map(([type, { name, example }]) => [
        type,
        { schema: components.pointerTo(name), example },
      ]),
    ),
  } as const;
}

function success(
  { description, headers = [], content = {}, text }: AnswerSpec,
  components: Components,
  hasBody: boolean,
): ResponseObject {
  const media = Object.entries(content).map(([type, { shape, example }]): [string, MediaType] => [
    type,
    { schema: components.published(shape), example },
  ]);
  if (text === true) media.push(['text/plain', { schema: { type: 'string' } }]);
  return {
    description,
    headers: headerRefs([
      ...(['X-Request-Id', 'Cache-Control'] as const),
      ...(hasBody ? (['X-Ignored-Members'] as const) : []),
      ...headers,
    ]),
    ...(media.length === 0 ? {} : { content: Object.fromEntries(media) }),
  };
}

function refusalsByStatus(
  refusals: readonly ShownRefusal[],
  components: Components,
): Record<string, ResponseObject> {
  const byStatus = Map.groupBy(refusals, ({ example }) => example.status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      refusalResponse(group.map(({ when }) => when).join(' '), group, headersOf(Number(status)), components),
    ]),
  );
}

function headersOf(status: number): readonly (keyof typeof HEADERS)[] {
  if (status === 401) return ['WWW-Authenticate'];
  return status === 429 || status === 503 ? ['Retry-After'] : [];
}

function refusalResponse(
  description: string,
  refusals: readonly ShownRefusal[],
  headers: readonly (keyof typeof HEADERS)[],
  components: Components,
): ResponseObject {
  return {
    description,
    headers: headerRefs(['X-Request-Id', 'Cache-Control', ...headers]),
    content: {
      'application/problem+json': {
        schema: components.published(ProblemSchema),
        examples: Object.fromEntries(
          refusals.map((refusal) => [
            refusal.name,
            { summary: refusal.when, value: problemBody(refusal.example, REQUEST_ID) },
          ]),
        ),
      },
    },
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

/** A shape with a name, as a document points at it. */
interface Pointer {
  readonly $ref: string;
}

/** The schemas that a document defines once: those with a name, collected as the others are published. */
class Components {
  readonly #schemas = new Map<string, unknown>();

  /** Keeps a shape under a name, also where it is used without one. */
  add(name: string, schema: TSchema): void {
    if (this.#schemas.has(name)) return;
    // The shape may contain itself.
    this.#schemas.set(name, {});
    this.#schemas.set(name, this.#members(schema));
  }

  pointerTo(name: string): Pointer {
    return { $ref: pointerTo(name) };
  }

  /** The schema of a shape in words that every tool knows; a pointer when the shape has a name. */
  published(schema: TSchema): Readonly<Record<string, unknown>> {
    const name = nameOf(schema);
    if (name === null) return this.#members(schema);
    this.add(name, schema);
    return { ...this.pointerTo(name) };
  }

  /** All named schemas so far. */
  schemas(): Readonly<Record<string, unknown>> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => a.localeCompare(b, 'en')));
  }

  /**
   * Three keywords are our own: `wellFormed` cannot be said in JSON Schema, `instant` is a date-time or a count of
   * milliseconds, and `told` holds what something else checks, so that a fault is one fault to the validator.
   */
  #members(schema: object): Readonly<Record<string, unknown>> {
    const { instant, wellFormed, told, ...rest } = {
      instant: false,
      wellFormed: false,
      told: {},
      ...schema,
    };
    const members = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, this.#value(value)]),
    );
    return instant ? { ...members, ...told, oneOf: INSTANT } : { ...members, ...told };
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#value(item));
    return typeof value === 'object' && value !== null ? this.published(value) : value;
  }
}

/**
 * A body's schema as callers may fill it in: an optional member may also be null, because `bodyOf` leaves out members
 * that are null or ''. Only the former is described, so that generated clients know one way to say nothing.
 */
function withBlanks(schema: TSchema): TSchema {
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

/** A JSON value of the document that tools read and this code does not. */
type Json = unknown;

interface HeaderObject {
  readonly description: string;
  /** The header always comes with the answers that name it. */
  readonly required?: true;
  readonly schema: { readonly type: string };
}

interface MediaType {
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
