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
import { refusedMembers, refusedQueryValues, refusedTexts } from './refused-values.ts';

/** A request that an operation refuses, because of what the document says of it. */
export interface Refused {
  /** Goes on after "refuses". */
  readonly title: string;
  readonly status: number;
  /** Left out where operations have codes of their own for it. */
  readonly code?: string;
  readonly detail?: string;
  /** One of the faults that the answer lists. Its detail is null where the document does not tell it. */
  readonly fault?: { readonly pointer: string; readonly detail: string | null };
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
  const notKnown = 'The access key is not known, was revoked, or has expired.';
  const lacking = alternatives.length === 1 ? (alternatives[0] ?? []) : [];
  return [
    {
      ...unknown,
      title: 'a request without a key, before it looks at anything else',
      detail: 'The header X-KA-Access-Key is missing.',
      ask: () => ({ ...wrong, key: NO_KEY }),
    },
    {
      ...unknown,
      title: 'a key that was never issued, before it looks at anything else',
      detail: notKnown,
      ask: () => ({ ...wrong, key: UNKNOWN_KEY }),
    },
    {
      ...unknown,
      title: 'a good key with one more character',
      detail: notKnown,
      ask: async (live: Live) => ({ ...wrong, key: `${await live.keyOf(described.path, [])}A` }),
    },
    ...lacking.map((operation) => ({
      title: `a key of all operations but ${operation}, before it looks at the request`,
      status: 403,
      code: `not-provisioned-for-${operation.replace(':', '-')}`,
      detail: `The access key was not issued for the operation "${operation}"; the platform owner grants operations.`,
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

/** The operations, one or several together, each of which a key must have been issued for to be let in. */
export function sufficientGrants({ operation: { security = [] } }: DescribedOperation) {
  return security.map(({ accessKey = [] }) => accessKey);
}

/** A request with a mistake, which is found after the key is let in, and its status. */
export function refusedAfterKey(described: DescribedOperation): {
  readonly ask: Ask;
  readonly status: number;
} {
  return { ask: wrongRequest(described), status: isStrict(described) ? 400 : 415 };
}

function refusedParameters(described: DescribedOperation): readonly Refused[] {
  const bad = { status: 400, code: 'bad-parameter' };
  const all = parametersOf(described);
  const apart = all
    .filter((one) => one.in !== 'query')
    .flatMap((one) =>
      refusedTexts(one).map((text) => ({
        status: 400,
        title: `the ${one.in === 'path' ? 'parameter' : 'header'} ${one.name} as ${shown(text)}`,
        ask: () => askWith(described, { [one.name]: text }),
      })),
    );
  const absent = all.filter((one) => one.required && one.in !== 'path');
  return [
    ...apart,
    ...absent.map((one) => ({
      status: 400,
      title: `a request without the ${one.in === 'query' ? 'parameter' : 'header'} ${one.name}`,
      ...(one.in === 'query' ? { ...bad, detail: `The parameter ${one.name} is required.` } : {}),
      ask: () => askWith(described, { [one.name]: undefined }),
    })),
    ...(isStrict(described) ? refusedQueries(described) : []),
  ];
}

function refusedQueries(described: DescribedOperation): readonly Refused[] {
  const bad = { status: 400, code: 'bad-parameter' };
  const queried = parametersOf(described).filter((one) => one.in === 'query');
  const names = queried.map(({ name }) => name);
  const known = names.length === 0 ? 'This operation takes none' : `This operation takes ${names.join(', ')}`;
  return [
    {
      ...bad,
      title: 'a parameter that it does not know, before it looks at the body',
      detail: `The parameter "stray" is not known. ${known}.`,
      ask: () => ownSite(described, wrongRequest(described)),
    },
    ...queried.flatMap((one) => [
      {
        ...bad,
        title: `the parameter ${one.name} twice`,
        detail: `The parameter ${one.name} must come once.`,
        ask: () => withQuery(without(described, one), `${one.name}=1&${one.name}=1`),
      },
      ...refusedQueryValues(one).map(([value, detail]) => ({
        ...bad,
        title: `the parameter ${one.name} as ${shown(value)}`,
        ...(detail === null ? {} : { detail }),
        ask: () => withQuery(without(described, one), new URLSearchParams({ [one.name]: value }).toString()),
      })),
    ]),
  ];
}

function without(described: DescribedOperation, { name }: DescribedParameter): Ask {
  return askWith(described, { [name]: undefined });
}

/** A good request with other values of some parameters. */
function askWith(described: DescribedOperation, others: Readonly<Record<string, string | undefined>>): Ask {
  const [content] = Object.entries(described.operation.requestBody?.content ?? {});
  const [type, { example }] = content ?? [null, { example: null }];
  return ownSite(described, askOf(described, { ...requiredOf(described), ...others }, type, example));
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
  const types = Object.keys(content);
  const json = content['application/json'];
  return [
    {
      ...unsupported,
      title: 'a body of another type, before it looks at its length',
      detail: `Content-Type must be ${types.join(' or ')}, once, and in UTF-8.`,
      ask: () => typed('text/plain'),
    },
    {
      ...unsupported,
      title: 'a body in another encoding than UTF-8',
      detail: `Content-Type must be ${types.join(' or ')}, once, and in UTF-8.`,
      ask: () => typed(`${types[0]}; charset=latin1`),
    },
    {
      ...unsupported,
      title: 'a compressed body',
      detail: 'Content-Encoding is not supported.',
      ask: () => typed(types[0] ?? '', { 'Content-Encoding': 'br' }),
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
  const sent = (body: object | string): Ask => ({ ...good, body });
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
      ['\uFEFF{}', 'The body starts with a byte order mark; send plain UTF-8.'],
      ['null', 'The body must be a JSON object.'],
      ['[]', 'The body must be a JSON object.'],
      ['{"twice":1,"twice":1}', 'The body has the member "twice" twice.'],
    ].map(([body = '', detail = '']) => ({
      ...MALFORMED,
      detail,
      title: `the body ${JSON.stringify(body)}`,
      ask: () => sent(body),
    })),
    ...objectsOf(described, schema, example).flatMap((one) => refusedObject(described, one, sent)),
  ];
}

const MALFORMED = { status: 400, code: 'malformed-body' };

/** A body that is right, and what it is taken for. */
interface DescribedObject {
  readonly whole: object;
  readonly schema: Schema;
  /** Goes before the title, where the body may be of several kinds. */
  readonly kind: string;
}

function refusedObject(
  described: DescribedOperation,
  { whole, schema: { properties = {}, required = [] }, kind }: DescribedObject,
  sent: (body: object) => Ask,
): readonly Refused[] {
  const names = Object.keys(properties);
  const stray = `is not known; allowed: ${names.join(', ')}`;
  return [
    ...(isStrict(described) && names.length > 0
      ? [
          {
            ...MALFORMED,
            title: `${kind}a member that it does not know`,
            fault: { pointer: '/stray', detail: stray },
            ask: () => sent({ ...whole, stray: 1 }),
          },
        ]
      : []),
    ...required.map((name) => ({
      ...MALFORMED,
      title: `${kind}a body without the member ${name}`,
      fault: { pointer: `/${name}`, detail: 'is required' },
      ask: () => sent({ ...whole, [name]: undefined }),
    })),
    ...Object.entries(properties).flatMap(([name, member]) =>
      refusedMembers(member, required.includes(name)).map(({ value, below, detail }) => ({
        ...MALFORMED,
        title: `${kind}the member ${name} as ${shown(value)}`,
        fault: { pointer: `/${name}${below}`, detail },
        ask: () => sent({ ...whole, [name]: value }),
      })),
    ),
  ];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 40 ? `something of ${text.length} characters` : text;
}

/** The objects that a body may be: one, or one of each kind. */
function objectsOf(
  { api }: DescribedOperation,
  schema: Schema,
  example: unknown,
): readonly DescribedObject[] {
  const named = ({ $ref = '' }: Schema): Schema =>
    Object(api.document.components.schemas[$ref.replace(/^.*\//, '')]);
  const one = named(schema);
  const kinds = (one.oneOf ?? []).map(named);
  if (kinds.length === 0) return [{ schema: one, whole: { ...Object(example) }, kind: '' }];
  const all = kinds.flatMap(({ properties }) => properties?.['kind']?.enum ?? []);
  return kinds.map(({ properties, required = [] }, index) => ({
    schema: { properties: { ...properties, kind: { type: 'string', enum: all } }, required },
    whole: Object.fromEntries(
      required.map((name) => [name, name === 'kind' ? all[index] : (SAMPLES[name] ?? '')]),
    ),
    kind: `in a body of the kind ${all[index]}, `,
  }));
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
  const capital = address.replace(
    /^(\/v1)?\/[a-z]/,
    (start) => start.slice(0, -1) + start.slice(-1).toUpperCase(),
  );
  const otherPaths = [`${address}/`, capital, `/v2${address.replace('/v1', '')}`];
  return [
    ...refusedMethods(address, at),
    {
      title: 'to be asked on the other listener',
      status: 404,
      code: 'not-found',
      detail: `There is nothing at ${address}.`,
      ask: () => ({ method: at[0] ?? 'GET', path: address, elsewhere: true }),
    },
    ...otherPaths.map((other) => ({
      title: `${other}, which is another path`,
      status: 404,
      code: 'not-found',
      detail: `There is nothing at ${other}.`,
      ask: () => ({ method: at[0] ?? 'GET', path: other }),
    })),
  ];
}

/** What is refused at a path that takes these methods. */
export function refusedMethods(path: string, taking: readonly string[]): readonly Refused[] {
  const taken = new Set(taking.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])));
  return METHODS.filter((method) => !taken.has(method)).map((method) => ({
    title: `the method ${method}, also to those without a key`,
    status: 405,
    code: 'method-not-allowed',
    allow: [...taken].toSorted(),
    ask: () => ({ method, path, key: NO_KEY }),
  }));
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
