import { callerDocument } from '../src/http/caller/caller-api.ts';
import type { OpenApiDocument } from '../src/http/openapi/document.ts';
import { platformDocument } from '../src/http/platform/platform-operations.ts';

/** A refusal as a document shows it. */
interface Shown {
  readonly code: string;
  readonly status: number;
  readonly when: string;
}

/** What a caller does about a refusal, where its status does not say it. */
const BY_CODE: Readonly<Record<string, string>> = {
  'store-away': 'sends it again; a verdict with the same Idempotency-Key, because it may have counted',
  'internal-error': 'the same, and quotes the `requestId` when it stays',
  'session-ended': 'signs in again',
  'other-site': 'sends it from the console itself, or with a key',
  'other-platform': 'loads the page again',
  'not-yours-to-give': 'lets somebody issue it who has these operations',
  'idempotency-key-reused': 'takes a new key for a new verdict',
  'not-found': 'corrects the address',
};

function whatToDo({ code, status }: Shown): string {
  const own = BY_CODE[code];
  if (own !== undefined) return own;
  switch (status) {
    case 401:
      return 'sends a key that the platform owner issued and nobody revoked';
    case 403:
      return 'asks the platform owner for the operation';
    case 404:
      return 'looks whether it names the right thing, which may be gone';
    case 409:
    case 412:
      return 'reads how things stand now, and decides anew';
    case 408:
      return 'sends it again, all at once; nothing happened';
    case 429:
    case 503:
      return 'sends it again after Retry-After; nothing happened';
    default:
      return 'corrects the request';
  }
}

/** Every code with what to do about it, and the operations with those that not all have: the guide of the interface. */
export function refusalsTable(): string {
  const documents = [callerDocument(''), platformDocument()];
  const operations = documents.flatMap(operationsOf);
  const codes = new Map(
    operations.flatMap(({ refusals }) => refusals.map(withoutGrant).map((one) => [one.code, one])),
  );
  const keyed = operations.filter(({ isKeyed }) => isKeyed);
  const isOfAll = ({ code }: Shown) =>
    keyed.every(({ refusals }) => refusals.some((one) => one.code === code)) ||
    OF_LISTENER.has(code) ||
    code.startsWith('not-provisioned');
  return [
    '| code | status | when | what the caller does |',
    '|---|---|---|---|',
    ...[...codes.values()]
      .toSorted((a, b) => a.status - b.status || a.code.localeCompare(b.code, 'en'))
      .map((one) => `| \`${one.code}\` | ${one.status} | ${one.when} | ${whatToDo(one)} |`),
    '',
    '| operation | its own codes |',
    '|---|---|',
    ...operations
      .map(({ operationId, refusals }) => ({ operationId, own: refusals.filter((one) => !isOfAll(one)) }))
      .filter(({ own }) => own.length > 0)
      .map(
        ({ operationId, own }) =>
          `| \`${operationId}\` | ${own.map(({ code }) => `\`${code}\``).join(', ')} |`,
      ),
  ].join('\n');
}

/** One row for all that a key may lack. */
function withoutGrant(one: Shown): Shown {
  if (!one.code.startsWith('not-provisioned-for-')) return one;
  return {
    ...one,
    code: 'not-provisioned-for-..',
    when: 'The key was not issued for the operation that it names.',
  };
}

/** What follows from the listener, and not from what is asked. */
const OF_LISTENER = new Set(
  ['session-ended', 'other-site', 'other-platform', 'too-many-at-once', 'bad-parameter'].concat(
    Object.values(platformDocument().components.responses['Other']?.content ?? {}).flatMap(({ examples }) =>
      Object.keys(examples ?? {}),
    ),
  ),
);

function operationsOf({ paths, components }: OpenApiDocument) {
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId, security, responses }) => ({
      operationId,
      isKeyed: security.length > 0,
      refusals: Object.values(responses).flatMap((response): readonly Shown[] => {
        const shared =
          '$ref' in response ? components.responses[response.$ref.replace(/^.*\//, '')] : undefined;
        const { examples = {} } = shared?.content?.['application/problem+json'] ?? {};
        return Object.values(examples).flatMap(({ $ref }) => {
          const example = components.examples[$ref.replace(/^.*\//, '')];
          const { code, status } = Object(example?.value);
          return example === undefined ? [] : [{ code, status, when: example.summary }];
        });
      }),
    }));
}
