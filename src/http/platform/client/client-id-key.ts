import { KEY_CHARACTERS_MAX } from '../../../key-length.ts';
import {
  type Asked,
  type Gated,
  type KeyedSpec,
  type Operation,
  operation,
} from '../../operation/operation.ts';
import {
  inQuery,
  isDecodable,
  isSafeInPath,
  type Parameter,
  queryText,
  requireKey,
  safeInPath,
} from '../../operation/parameters.ts';
import type { Grant } from '../../request/authenticate.ts';
import { badRequest, type HttpProblem, refusal } from '../../request/problems.ts';

const BAD_CLIENT_PATH = refusal(
  'badClientIdKey',
  'The clientIdKey in the path is too long, not percent-encoded UTF-8, or one that a path cannot carry safely.',
  (detail: string) => badRequest(detail),
  'The path is not percent-encoded UTF-8; encode the clientIdKey in it.',
);

const BAD_CLIENT_QUERY = refusal(
  'badClientIdKey',
  'The clientIdKey is missing, too long, or not well-formed Unicode.',
  (detail: string) => badRequest(detail),
  'The parameter clientIdKey is required.',
);

/** What stands below a client in a path. */
type Below = '' | '/history' | '/links' | '/export' | '/binding' | '/override';

const BELOW: readonly Below[] = ['/history', '/links', '/export', '/binding', '/override'];

/** The client that a path names. */
const IN_PATH: Parameter<string> = {
  name: 'clientIdKey',
  in: 'path',
  required: true,
  description: 'As the caller chose it, percent-encoded; ids that a path cannot carry go into a query',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: KEY_CHARACTERS_MAX,
    ...safeInPath(...BELOW.map((below) => below.slice(1))),
  },
  read: ({ path, params }) => {
    requireDecodable(path, BAD_CLIENT_PATH, 'path');
    const clientIdKey = params['clientIdKey'] ?? '';
    requireKey(clientIdKey, 'clientIdKey');
    if (!isSafeClient(clientIdKey)) throw unsafe(clientIdKey);
    return clientIdKey;
  },
};

/** The client that a query names, whatever its id is. */
const IN_QUERY: Parameter<string> = {
  ...queryText('clientIdKey', 'As the caller chose it'),
  required: true,
  read: (ctx) => {
    requireDecodable(ctx.querystring, BAD_CLIENT_QUERY, 'query');
    const clientIdKey = queryText('clientIdKey', '').read(ctx);
    if (clientIdKey === null) throw BAD_CLIENT_QUERY.problem('The parameter clientIdKey is required.');
    return clientIdKey;
  },
};

function requireDecodable(text: string, bad: typeof BAD_CLIENT_PATH, part: 'path' | 'query'): void {
  if (isDecodable(text)) return;
  throw bad.problem(`The ${part} is not percent-encoded UTF-8; encode the clientIdKey in it.`);
}

/** A request about `.` and its binding would arrive as one about a client `binding`. */
function isSafeClient(clientIdKey: string): boolean {
  return isSafeInPath(clientIdKey) && !BELOW.some((below) => below === `/${clientIdKey}`);
}

function unsafe(clientIdKey: string): HttpProblem {
  return BAD_CLIENT_PATH.problem(
    `A path cannot carry the clientIdKey ${JSON.stringify(clientIdKey)} safely; name it in the query: /v1/platform/client?clientIdKey=${inQuery(clientIdKey)}.`,
  );
}

/** A request about one client. */
export type AskedAboutClient<Body> = Asked<Body> & { readonly clientIdKey: string };

/** An operation about one client; its path and its parameter for the client are added. */
interface ClientSpec<Parts, Body>
  extends Omit<KeyedSpec<Parts, Body>, 'path' | 'tag' | 'answer' | 'gate' | 'grant'> {
  readonly below: Below;
  readonly grant: Grant;
  readonly gate?: (asked: AskedAboutClient<Body>, parts: Parts) => Promise<Gated>;
  readonly answer: (asked: AskedAboutClient<Body>, parts: Parts) => Promise<unknown>;
}

/** Declares an operation about one client twice: with the client in the path, and with the client in the query. */
export function clientOperation<Parts, Body = never>(
  spec: ClientSpec<Parts, Body>,
): readonly [Operation<Parts>, Operation<Parts>] {
  const { below, parameters = [], refusals, answer, gate, operationId, ...rest } = spec;
  const by = (parameter: Parameter<string>, path: string, suffix: string, bad: typeof BAD_CLIENT_PATH) =>
    operation<Parts, Body>({
      ...rest,
      path,
      tag: 'Clients',
      operationId: `${operationId}${suffix}`,
      parameters: [parameter, ...parameters],
      refusals: [...refusals, bad],
      ...(gate === undefined
        ? {}
        : {
            gate: async (asked: Asked<Body>, parts: Parts) =>
              gate({ ...asked, clientIdKey: parameter.read(asked.ctx) }, parts),
          }),
      answer: async (asked, parts) => answer({ ...asked, clientIdKey: parameter.read(asked.ctx) }, parts),
    });
  return [
    by(IN_PATH, `/v1/platform/clients/{clientIdKey}${below}`, '', BAD_CLIENT_PATH),
    by(IN_QUERY, `/v1/platform/client${below}`, 'ByQuery', BAD_CLIENT_QUERY),
  ];
}
