import {
  askOf,
  type DescribedOperation,
  type DescribedParameter,
  describedOperations,
  parametersOf,
  requiredOf,
  SAMPLES,
  type Schema,
} from './described-request.ts';
import { type Ask, type Live, NO_KEY } from './live-api.ts';

/** A request that an operation refuses, because of what the document says of it. */
export interface Refused {
  /** Goes on after "refuses". */
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail?: string;
  /** Of the header Allow, sorted. */
  readonly allow?: readonly string[];
  readonly ask: (live: Live) => Ask | Promise<Ask>;
}

const UNKNOWN_KEY = `ka_0123456789ab_${'x'.repeat(43)}`;

/** All that an operation refuses whatever it does: made from its description alone. */
export function refusalsOf(described: DescribedOperation): readonly Refused[] {
  return [...refusedKeys(described), ...refusedParameters(described), ...refusedBodies(described)];
}

/** The statuses of all refusals that follow from the documents, and of stores that are away. */
export function refusedStatuses() {
  return describedOperations().flatMap((described) => {
    const { operationId } = described.operation;
    const statuses = refusalsOf(described).map(({ status }) => status);
    return [...statuses, ...(needsKey(described) ? [503] : [])].map((status) => ({ operationId, status }));
  });
}

/** A request that is right; the body is the example of the document. */
export function goodRequest(described: DescribedOperation): Ask {
  const [content] = Object.entries(described.operation.requestBody?.content ?? {});
  const [type, { example }] = content ?? [null, { example: null }];
  return askOf(described, requiredOf(described), type, example);
}

export function needsKey({ operation: { security = [] } }: DescribedOperation): boolean {
  return security.length > 0;
}

/** Unknown members and parameters are refused on the listener of the platform alone. */
function isStrict({ path }: DescribedOperation): boolean {
  return path.startsWith('/v1/platform/');
}

/** The request with a mistake in everything that is looked at after the key and its grant. */
function wrongRequest(described: DescribedOperation): Ask {
  const good = withQuery(goodRequest(described), 'stray=1');
  if (described.operation.requestBody === undefined) return good;
  return { ...good, headers: { ...good.headers, 'Content-Type': 'text/plain' }, body: tooLong(described) };
}

/** The refusal of a key that has none of several operations, where it is not that of every place of the console. */
const NOT_PROVISIONED: Readonly<Record<string, string>> = {
  readExploration: 'not-provisioned-for-figures',
  find: 'not-provisioned-for-find',
};

function refusedKeys(described: DescribedOperation): readonly Refused[] {
  if (!needsKey(described)) return [];
  const wrong = wrongRequest(described);
  const { security = [] } = described.operation;
  const alternatives = security.map(({ accessKey }) => accessKey ?? []);
  const unknown = { status: 401, code: 'unknown-key' };
  const lacking = alternatives.length === 1 ? (alternatives[0] ?? []) : [];
  return [
    {
      ...unknown,
      title: 'a request without a key, before it looks at anything else',
      ask: () => ({ ...wrong, key: NO_KEY }),
    },
    {
      ...unknown,
      title: 'a key that was never issued, before it looks at anything else',
      ask: () => ({ ...wrong, key: UNKNOWN_KEY }),
    },
    ...lacking.map((operation) => ({
      title: `a key of all operations but ${operation}, before it looks at the request`,
      status: 403,
      code: `not-provisioned-for-${operation.replace(':', '-')}`,
      ask: async (live: Live) => ({ ...wrong, key: await live.keyWithout(described.path, [operation]) }),
    })),
    ...(alternatives.length === 1
      ? []
      : [
          {
            title: 'a key of none of its operations, before it looks at the request',
            status: 403,
            code: NOT_PROVISIONED[described.operation.operationId] ?? 'not-provisioned',
            ask: async (live: Live) => ({
              ...wrong,
              key: await live.keyWithout(described.path, alternatives.flat()),
            }),
          },
        ]),
  ];
}

function refusedParameters(described: DescribedOperation): readonly Refused[] {
  if (!isStrict(described) || !needsKey(described)) return [];
  const bad = { status: 400, code: 'bad-parameter' };
  const queried = parametersOf(described).filter((one) => one.in === 'query');
  const names = queried.map(({ name }) => name);
  const known = names.length === 0 ? 'This operation takes none' : `This operation takes ${names.join(', ')}`;
  return [
    {
      ...bad,
      title: 'a parameter that it does not know, before it looks at the body',
      detail: `The parameter "stray" is not known. ${known}.`,
      ask: () => wrongRequest(described),
    },
    ...queried.flatMap((one) => [
      {
        ...bad,
        title: `the parameter ${one.name} twice`,
        detail: `The parameter ${one.name} must come once.`,
        ask: () => withQuery(without(described, one), `${one.name}=1&${one.name}=1`),
      },
      ...refusedValues(one).map(([value, detail]) => ({
        ...bad,
        title: `the parameter ${one.name} as ${shown(value)}`,
        ...(detail === null ? {} : { detail }),
        ask: () => withQuery(without(described, one), new URLSearchParams({ [one.name]: value }).toString()),
      })),
      ...(one.required
        ? [
            {
              ...bad,
              title: `a request without the parameter ${one.name}`,
              detail: `The parameter ${one.name} is required.`,
              ask: () => without(described, one),
            },
          ]
        : []),
    ]),
  ];
}

/** Values that a parameter does not take, and what is said of them where the schema tells it. */
function refusedValues({ name, schema }: DescribedParameter): readonly (readonly [string, string | null])[] {
  const said = (detail: string) => `The parameter ${name} must be ${detail}.`;
  const { type, format, pattern, minimum = 0, maximum = 0, maxLength = 256 } = schema;
  if (schema.enum !== undefined) return [['no-such-word', said(`one of ${schema.enum.join(', ')}`)]];
  if (type === 'integer') {
    const detail = said(`a whole number from ${minimum} to ${maximum}`);
    return [minimum - 1, maximum + 1, 'ten', '1e2'].map((value) => [String(value), detail]);
  }
  if (format === 'date-time') return [['yesterday', said('a moment like 2026-11-21T10:00:00Z')]];
  if (pattern !== undefined) return [['?', null]];
  const length = `${name} must have 1 to ${maxLength} characters of well-formed Unicode.`;
  return [
    ['', length],
    ['😀'.repeat(maxLength + 1), length],
    ['a\0b', `${name} must not contain U+0000.`],
  ];
}

function without(described: DescribedOperation, { name }: DescribedParameter): Ask {
  const { [name]: left, ...given } = requiredOf(described);
  const [content] = Object.entries(described.operation.requestBody?.content ?? {});
  const [type, { example }] = content ?? [null, { example: null }];
  return askOf(described, given, type, example);
}

function withQuery(ask: Ask, query: string): Ask {
  return { ...ask, path: `${ask.path}${ask.path.includes('?') ? '&' : '?'}${query}` };
}

function refusedBodies(described: DescribedOperation): readonly Refused[] {
  const content = described.operation.requestBody?.content;
  if (content === undefined) return [];
  const good = ownSite(described, goodRequest(described));
  const typed = (type: string, more: Readonly<Record<string, string>> = {}): Ask => ({
    ...good,
    headers: { ...good.headers, 'Content-Type': type, ...more },
    body: tooLong(described),
  });
  const unsupported = { status: 415, code: 'unsupported-type' };
  const json = content['application/json'];
  return [
    {
      ...unsupported,
      title: 'a body of another type, before it looks at its length',
      ask: () => typed('text/plain'),
    },
    {
      ...unsupported,
      title: 'a body in another encoding than UTF-8',
      ask: () => typed(`${Object.keys(content)[0]}; charset=latin1`),
    },
    {
      ...unsupported,
      title: 'a compressed body',
      detail: 'Content-Encoding is not supported.',
      ask: () => typed(Object.keys(content)[0] ?? '', { 'Content-Encoding': 'br' }),
    },
    ...(json === undefined ? [] : refusedJson(described, good, json.schema, json.example)),
  ];
}

function refusedJson(
  described: DescribedOperation,
  good: Ask,
  schema: Schema,
  example: unknown,
): readonly Refused[] {
  const malformed = { status: 400, code: 'malformed-body' };
  const sent = (body: object | string): Ask => ({ ...good, body });
  const { properties = {}, required = [] } = objectOf(described, schema);
  const names = Object.keys(properties);
  const whole = { ...Object(example) };
  return [
    {
      title: 'a body that is too long',
      status: 413,
      code: 'body-too-large',
      detail: `The body must have at most ${bytesMaxOf(described)} bytes.`,
      ask: () => sent(tooLong(described)),
    },
    ...[
      ['', 'The body is empty.'],
      ['{', 'The body is not valid JSON.'],
      ['null', 'The body must be a JSON object.'],
      ['[]', 'The body must be a JSON object.'],
      ['{"twice":1,"twice":1}', 'The body has the member "twice" twice.'],
    ].map(([body = '', detail = '']) => ({
      ...malformed,
      detail,
      title: `the body ${JSON.stringify(body)}`,
      ask: () => sent(body),
    })),
    ...(isStrict(described) && names.length > 0
      ? [
          {
            ...malformed,
            title: 'a member that it does not know',
            detail: `/stray is not known; allowed: ${names.join(', ')}.`,
            ask: () => sent({ ...whole, stray: 1 }),
          },
        ]
      : []),
    ...required.map((name) => ({
      ...malformed,
      title: `a body without the member ${name}`,
      detail: `/${name} is required.`,
      ask: () => sent({ ...whole, [name]: undefined }),
    })),
    ...Object.entries(properties).flatMap(([name, member]) =>
      refusedMembers(member).map(([value, detail]) => ({
        ...malformed,
        title: `the member ${name} as ${shown(value)}`,
        detail: `/${name} ${detail}.`,
        ask: () => sent({ ...whole, [name]: value }),
      })),
    ),
  ];
}

/** Values that a member does not take, and what is said of them. */
function refusedMembers(schema: Schema): readonly (readonly [unknown, string])[] {
  const { type, format, pattern, minLength = 0, maxLength } = schema;
  const types = [type ?? []].flat();
  if (schema.enum !== undefined)
    return [['no-such-word', `must be one of ${schema.enum.filter((one) => one !== null).join(', ')}`]];
  if (types.includes('boolean')) return [['true', 'must be true or false']];
  if (types.includes('array')) return [['a', 'must be a JSON array'], ...refusedLengths(schema)];
  if (format === 'date-time') return [['tomorrow', 'must be a moment like "2026-11-21T10:00:00Z"']];
  if (!types.includes('string')) return [];
  return [
    [7, 'must be a JSON string'],
    [['a'], 'must be a JSON string'],
    ...(pattern === undefined && minLength > 0 && !types.includes('null')
      ? [['', 'must not be empty'] as const]
      : []),
    ...(pattern === undefined && maxLength !== undefined
      ? [['😀'.repeat(maxLength + 1), `must have at most ${maxLength} characters`] as const]
      : []),
  ];
}

/** Arrays with too few and too many items, and what is said of them. */
function refusedLengths({ minItems = 0, maxItems }: Schema): readonly (readonly [unknown, string])[] {
  const items = (count: number) => (count === 1 ? '1 item' : `${count} items`);
  return [
    ...(minItems > 0 ? [[[], `must have at least ${items(minItems)}`] as const] : []),
    ...(maxItems === undefined
      ? []
      : [[Array(maxItems + 1).fill('a'), `must have at most ${items(maxItems)}`] as const]),
  ];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 40 ? `something of ${text.length} characters` : text;
}

/** The schema of a body that is one object; nothing where it is one of several. */
function objectOf({ api }: DescribedOperation, { $ref = '' }: Schema): Schema {
  return Object(api.document.components.schemas[$ref.replace(/^.*\//, '')]);
}

/** Where no key is needed, the console itself must be asking. */
function ownSite(described: DescribedOperation, ask: Ask): Ask {
  return needsKey(described) ? ask : { ...ask, headers: { ...ask.headers, 'Sec-Fetch-Site': 'same-origin' } };
}

function tooLong(described: DescribedOperation): string {
  return 'x'.repeat(bytesMaxOf(described) + 1);
}

/** As the document says it in its example of that refusal; 0 where no length is too long. */
function bytesMaxOf({ api, operation }: DescribedOperation): number {
  const { content = {} } = api.responseOf(operation, '413') ?? {};
  const examples = Object.values(content['application/problem+json']?.examples ?? {});
  const details = examples.map(
    ({ $ref }) => api.document.components.examples[$ref.replace(/^.*\//, '')]?.value.detail ?? '',
  );
  return Number(/\d+/.exec(details.join())?.[0] ?? 0);
}

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'];

/** What is refused at the path of an operation. */
export function refusalsAt(path: string, all: readonly DescribedOperation[]): readonly Refused[] {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => SAMPLES[name] ?? '');
  // Where `{version}` may be anything, it may be the name of another path, too.
  const at = all.filter((one) => patternOf(one.path).test(address)).map(({ method }) => method);
  const taken = new Set(at.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
  const allow = [...taken].toSorted();
  const others = METHODS.filter((method) => !taken.has(method));
  const capital = address.replace(
    /^(\/v1)?\/[a-z]/,
    (start) => start.slice(0, -1) + start.slice(-1).toUpperCase(),
  );
  const otherPaths = [`${address}/`, capital, `/v2${address.replace('/v1', '')}`];
  return [
    ...others.map((method) => ({
      title: `the method ${method}, also to those without a key`,
      status: 405,
      code: 'method-not-allowed',
      allow,
      ask: () => ({ method, path: address, key: NO_KEY }),
    })),
    ...otherPaths.map((other) => ({
      title: `${other}, which is another path`,
      status: 404,
      code: 'not-found',
      detail: `There is nothing at ${other}.`,
      ask: () => ({ method: at[0] ?? 'GET', path: other }),
    })),
  ];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
