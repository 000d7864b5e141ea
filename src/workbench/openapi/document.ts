import { readFileSync } from 'node:fs';
import { createMomentWriter, toSchemaPointer } from '#base/shapes.ts';
import type { AnswerSpec, Operation, RequestBodySpec } from '#checkout/http/operation/operation.ts';
import {
  listGrantAlternatives,
  listGrantRefusals,
  type RequiredGrant,
} from '#checkout/http/request/authenticate.ts';
import {
  BODY_BYTES_MAX,
  closeSchema,
  createLargeBodyRefusal,
  UNSUPPORTED_TYPE,
} from '#checkout/http/request/body.ts';
import { type DocumentedRefusal, MALFORMED_BODY, ProblemSchema } from '#checkout/http/request/problems.ts';
import {
  HEADERS_TOO_LARGE,
  INTERNAL_ERROR,
  METHOD_NOT_ALLOWED,
  NOT_FOUND,
  NOT_HTTP,
  OVERLOADED,
  REQUEST_TIMED_OUT,
  STORE_UNAVAILABLE,
  TOO_MANY_WAITING_OF_CLIENT,
  toProblemBody,
  UNKNOWN_EXPECTATION,
  UNKNOWN_KEY,
} from '#checkout/http/request/refusals.ts';
import { DECISION_ID_PATTERN } from '#decision/payer/client-key.ts';
import { BAD_PARAMETER } from '#workbench/platform/parameters.ts';
import {
  allowNullMembers,
  Components,
  type ExampleObject,
  type HeaderObject,
  type JsonValue,
  type MediaType,
  type ReferenceObject,
  type ResponseObject,
} from './components.ts';
import { createExample } from './example.ts';

const PACKAGE: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
);

type DescribedOperation = Omit<Operation<never>, 'run'>;

interface DocumentSpec {
  readonly title: string;
  readonly description: string;
  readonly serverUrl: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly operations: readonly DescribedOperation[];
  /**
   * Refusals that this listener may give to any request, in addition to those of every listener. They are documented
   * with every operation that needs a key.
   */
  readonly elsewhere: readonly DocumentedRefusal[];
  /** Whether the listener refuses unknown parameters and members. */
  readonly isStrict: boolean;
}

const REQUEST_ID = '0b9bfa1e-3a1c-4d5c-9f0e-5d2f8f6f3c11';

const REQUEST_ID_PARAMETER = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description: "The caller's own id of the request; the answer repeats it, and the log has it",
  schema: { type: 'string', pattern: '^[A-Za-z0-9._~:/+=-]{1,128}$' },
} as const;

const HEADERS = {
  'X-Request-Id': {
    description: "The request's id: the one sent when it is safe to repeat, otherwise a new one",
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  'Cache-Control': {
    description: 'Always no-store: an answer must not be cached',
    required: true,
    schema: { type: 'string', enum: ['no-store'] },
  },
  'X-Ignored-Members': {
    description:
      'Members of the body that the operation does not have and ignored, perhaps misspelt: at most ten, percent-encoded',
    schema: { type: 'string' },
  },
  'X-Decision-Id': {
    description: 'Id of the decision record, by which the platform finds its explanation',
    required: true,
    schema: { type: 'string', pattern: DECISION_ID_PATTERN },
  },
  ETag: {
    description: 'The revision in quotes, as If-Match takes it',
    required: true,
    schema: { type: 'string', pattern: '^"[1-9][0-9]*"$' },
  },
  'Idempotent-Replayed': {
    description: 'Only with the stored answer of an earlier request with the same Idempotency-Key',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': {
    description: 'Seconds after which to try again',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  'WWW-Authenticate': {
    description: 'Names the header that must carry the access key',
    required: true,
    schema: { type: 'string' },
  },
  Allow: { description: 'Only with 405: the methods that the path takes', schema: { type: 'string' } },
} as const;

/** Creates the document of one listener from the same declarations as its routes. */
export function createOpenApiDocument(spec: DocumentSpec): OpenApiDocument {
  const components = new Components();
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of spec.operations) {
    const methods = paths[operation.path] ?? {};
    methods[operation.method] = createOperationObject(operation, spec, components);
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
      parameters: { 'X-Request-Id': REQUEST_ID_PARAMETER },
      responses: components.responses.all(),
      examples: components.examples.all(),
      headers: findUsedHeaders(JSON.stringify([paths, components.responses.all()])),
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

function createOperationObject(
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
    security: grant === null ? [] : listGrantAlternatives(grant).map((accessKey) => ({ accessKey })),
    parameters: [
      ...parameters.map(({ read: _, ...told }) => told),
      { $ref: '#/components/parameters/X-Request-Id' },
    ],
    ...(body === null ? {} : { requestBody: createRequestBody(body, components, spec.isStrict) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [
          status,
          createSuccess(answer, components, operation.body !== null && !spec.isStrict),
        ]),
      ),
      ...groupRefusalsByStatus(operationId, listRefusals(operation, spec), components),
      default: components.responses.keep(
        grant === null ? 'OtherWithoutKey' : 'Other',
        operationId,
        createRefusalResponse(
          operationId,
          'Any other refusal',
          [...OF_EVERY_LISTENER, ...(grant === null ? spec.elsewhere : [])],
          ['Allow'],
          components,
        ),
      ),
    },
  };
}

/** Refusals that any request may get, whatever it asks for. */
const OF_EVERY_LISTENER: readonly DocumentedRefusal[] = [
  INTERNAL_ERROR,
  NOT_FOUND,
  METHOD_NOT_ALLOWED,
  NOT_HTTP,
  REQUEST_TIMED_OUT,
  UNKNOWN_EXPECTATION,
  HEADERS_TOO_LARGE,
];

/** Lists an operation's own refusals, and the refusals that follow from its parameters, body and key. */
function listRefusals(
  { refusals = [], ignoresQuery, grant, body }: DescribedOperation,
  { isStrict, elsewhere }: Pick<DocumentSpec, 'isStrict' | 'elsewhere'>,
): readonly DocumentedRefusal[] {
  return [
    ...refusals,
    ...(isStrict && ignoresQuery !== true ? [BAD_PARAMETER] : []),
    ...(body === null || body.onlyLines === true
      ? []
      : [MALFORMED_BODY, createLargeBodyRefusal(body.bytesMax ?? BODY_BYTES_MAX)]),
    ...(body === null ? [] : [UNSUPPORTED_TYPE]),
    ...(grant === null ? [] : [...listKeyRefusals(grant), ...elsewhere]),
  ];
}

function listKeyRefusals(grant: RequiredGrant): readonly DocumentedRefusal[] {
  return [
    UNKNOWN_KEY,
    ...listGrantRefusals(grant),
    STORE_UNAVAILABLE,
    TOO_MANY_WAITING_OF_CLIENT,
    OVERLOADED,
  ];
}

function createRequestBody({ content, shapes }: RequestBodySpec, components: Components, isStrict: boolean) {
  for (const [name, schema] of Object.entries(shapes))
    components.add(name, isStrict ? closeSchema(allowNullMembers(schema)) : allowNullMembers(schema));
  return {
    required: true,
    content: Object.fromEntries(
      Object.entries(content).map(([type, { name, example }]) => [
        type,
        { schema: { $ref: toSchemaPointer(name) }, example: example ?? createExample(shapes[name] ?? {}) },
      ]),
    ),
  } as const;
}

function createSuccess(
  { description, headers = [], content = {}, text }: AnswerSpec,
  components: Components,
  mayIgnore: boolean,
): ResponseObject {
  const media = Object.entries(content).map(([type, shape]): [string, MediaType] => [
    type,
    { schema: components.toPublished(shape), example: createMomentWriter(shape)(createExample(shape)) },
  ]);
  if (text === true) media.push(['text/plain', { schema: { type: 'string' } }]);
  return {
    description,
    headers: createHeaderRefs([
      ...(['X-Request-Id', 'Cache-Control'] as const),
      ...(mayIgnore ? (['X-Ignored-Members'] as const) : []),
      ...headers,
    ]),
    ...(media.length === 0 ? {} : { content: Object.fromEntries(media) }),
  };
}

function groupRefusalsByStatus(
  operationId: string,
  refusals: readonly DocumentedRefusal[],
  components: Components,
): Record<string, ReferenceObject> {
  const byCode = new Map(refusals.map((one) => [one.name, one]));
  const byStatus = Map.groupBy(byCode.values(), ({ example }) => example.status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => {
      const named = group.toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
      const response = createRefusalResponse(
        operationId,
        named.map(({ when }) => when).join(' '),
        named,
        listStatusHeaders(Number(status)),
        components,
      );
      return [String(status), components.responses.keep(formatTitle(named), operationId, response)];
    }),
  );
}

/** Joins codes to a name, like `StoreAwayTooManyWaiting`. */
function formatTitle(refusals: readonly DocumentedRefusal[]): string {
  return refusals
    .map(({ name }) => name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()))
    .join('');
}

function listStatusHeaders(status: number): readonly (keyof typeof HEADERS)[] {
  if (status === 401) return ['WWW-Authenticate'];
  return status === 429 || status === 503 ? ['Retry-After'] : [];
}

function createRefusalResponse(
  operationId: string,
  description: string,
  refusals: readonly DocumentedRefusal[],
  headers: readonly (keyof typeof HEADERS)[],
  components: Components,
): ResponseObject {
  return {
    description,
    headers: createHeaderRefs(['X-Request-Id', 'Cache-Control', ...headers]),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            components.toPublished(ProblemSchema),
            {
              type: 'object',
              properties: {
                code: { type: 'string', enum: refusals.map(({ name }) => name) },
                title: { type: 'string', enum: [...new Set(refusals.map(({ example }) => example.title))] },
              },
            },
          ],
        },
        examples: Object.fromEntries(
          refusals.map(({ name, when, example }) => [
            name,
            components.examples.keep(name, operationId, {
              summary: when,
              value: toProblemBody(example, REQUEST_ID),
            }),
          ]),
        ),
      },
    },
  };
}

function createHeaderRefs(names: readonly (keyof typeof HEADERS)[]): Record<string, JsonValue> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function findUsedHeaders(text: string): Readonly<Record<string, HeaderObject>> {
  return Object.fromEntries(
    Object.entries(HEADERS).filter(([name]) => text.includes(`"#/components/headers/${name}"`)),
  );
}

export interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly { readonly accessKey: readonly string[] }[];
  readonly parameters: readonly JsonValue[];
  readonly requestBody?: { readonly required: true; readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, ResponseObject | ReferenceObject>>;
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: JsonValue;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly JsonValue[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonValue>>;
    /** Refusals, named by the codes that they may have. */
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly examples: Readonly<Record<string, ExampleObject>>;
    readonly parameters: Readonly<Record<string, JsonValue>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly securitySchemes: JsonValue;
  };
}
