import { expect } from 'chai';
import {
  type ConnectionOptions,
  type ListChangeWithResult,
  NotFoundError,
  PlatformClient,
  type ReportWithResult,
  TimeoutError,
  UnavailableError,
} from '#sdk/client.ts';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';
import { serviceOfSuite } from '../service/running-service.ts';
import { DescribedApi } from '../workbench/openapi/described-api.ts';

/** A name that must be encoded, wherever it stands. */
const NAME = 'ann/ü %';
const PAID = { orderRef: 'order-1', outcome: 'PAID' } as const;
const REASON = { reason: 'r' };

/** Where a reader of events stopped. */
function placeInMemory(place: string | null = null) {
  const save = (next: string) => {
    place = next;
  };
  return { load: () => place, save };
}

type Call = (client: PlatformClient) => Promise<unknown>;

/** Every call, with the operation that it asks; those are long that read years, take many lines, or wait for every node. */
const CALLS: readonly (readonly [operationId: string, call: Call, takes?: 'long'])[] = [
  ['reportOutcomes', (client) => client.reportOutcome({ clientIdKey: NAME, ...PAID })],
  ['reportOutcomes', (client) => client.reportOutcomes([{ clientIdKey: NAME, ...PAID }]).next(), 'long'],
  ['readClient', (client) => client.client(NAME)],
  ['readClientHistory', (client) => client.clientHistory(NAME, { limit: 1, after: 'a' }), 'long'],
  ['readClientLinks', (client) => client.clientLinks(NAME, { depth: 1, limit: 5 }), 'long'],
  ['exportClient', (client) => client.exportClient(NAME), 'long'],
  ['eraseClient', (client) => client.eraseClient(NAME)],
  ['bindClient', (client) => client.bind(NAME, { requisiteRef: 'q', acceptorKeys: ['x'] })],
  ['unbindClient', (client) => client.unbind(NAME)],
  ['overrideClient', (client) => client.setOverride(NAME, { group: 'BLOCKED', ...REASON })],
  ['liftOverride', (client) => client.liftOverride(NAME)],
  ['listDecisions', (client) => client.decisions({ from: new Date(), include: 'outcomes' }), 'long'],
  ['find', (client) => client.find(NAME, { limit: 5 }), 'long'],
  ['readDecision', (client) => client.decision(NAME), 'long'],
  ['explainDecision', (client) => client.explanation(NAME), 'long'],
  ['readEvents', (client) => client.events(placeInMemory('a'), { limit: 3 }).next(), 'long'],
  ['readLists', (client) => client.lists({ limit: 1, after: 'a' })],
  ['readListEntries', (client) => client.listEntries(NAME, { value: NAME, limit: 1, after: 'a' })],
  ['makeList', (client) => client.makeList(NAME, { kind: 'ip' })],
  ['putListEntry', (client) => client.putListEntry(NAME, NAME, REASON)],
  ['removeListEntry', (client) => client.removeListEntry(NAME, NAME, REASON)],
  ['importListEntries', (client) => client.changeList(NAME, [{ value: NAME, ...REASON }]).next(), 'long'],
  ['readRollout', (client) => client.rulesStatus()],
  ['rollOut', (client) => client.rollOut({ version: 'p2.v10', mode: 'shadow', ...REASON }), 'long'],
  ['rollBack', (client) => client.rollBack(REASON), 'long'],
];

const api = new DescribedApi(createPlatformDocument());
const DESCRIBED = Object.entries(api.document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
    operation,
  })),
);

interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly type: string;
  readonly text: string;
  readonly signal: AbortSignal;
}

/** A client of what answers so, and all that it sends there. */
function clientOf(
  answer: (sent: Sent, number: number) => Response | Promise<Response>,
  options: Partial<ConnectionOptions> = {},
) {
  const sent: Sent[] = [];
  const client = new PlatformClient({
    baseUrl: 'http://127.0.0.1:9',
    accessKey: 'k',
    ...options,
    fetch: async (url: string | URL | Request, init?: RequestInit) => {
      const { method = '', body, headers, signal } = init ?? {};
      const type = new Headers(headers).get('Content-Type') ?? '';
      if (!(signal instanceof AbortSignal)) throw new Error('it has no deadline');
      sent.push({ method, url: new URL(String(url)), type, text: String(body ?? ''), signal });
      return answer(sent.at(-1) ?? expect.fail('nothing was sent'), sent.length);
    },
  });
  return { client, sent };
}

/** An answer with which every call is content. */
function contented(): Response {
  return new Response('{"line":1,"result":"recorded","events":[{}],"next":"b"}');
}

function away(): Response {
  const headers = { 'Content-Type': 'application/problem+json', 'Retry-After': '0' };
  return new Response('{"title":"away","detail":"d"}', { status: 503, headers });
}

describe('the platform client', () => {
  for (const [index, [operationId, call]] of CALLS.entries())
    it(`sends what the API document describes: ${operationId} (${index + 1})`, async () => {
      const { client, sent } = clientOf(contented);
      await call(client);
      const [{ method, url, type, text } = expect.fail('nothing was sent'), ...more] = sent;
      const { operation, path } =
        DESCRIBED.find((one) => one.method === method && one.path.test(url.pathname)) ??
        expect.fail(`${method} ${url.pathname} is not described`);
      expect([more, operation.operationId]).to.deep.equal([[], operationId]);
      const inPath = path.exec(url.pathname)?.slice(1).map(decodeURIComponent) ?? [];
      expect(inPath.filter((part) => part !== NAME)).to.deep.equal([]);
      const described = operation.parameters.map(Object).filter((one) => one.in === 'query');
      const given = [...url.searchParams.keys()];
      expect(described.map(({ name }) => name)).to.include.members(given);
      expect(given).to.include.members(described.filter(({ required }) => required).map(({ name }) => name));
      for (const name of ['clientIdKey', 'value'])
        expect(url.searchParams.get(name)).to.be.oneOf([null, NAME]);
      const content = operation.requestBody?.content ?? {};
      const schema = content[type]?.schema;
      expect(schema !== undefined).to.equal(text !== '');
      if (schema !== undefined) expect(api.schemaComplaints(schema, JSON.parse(text))).to.deep.equal([]);
    });

  it('sends a change of the rollout once, and everything else again after a failure that may pass', async () => {
    const sends = CALLS.map(async ([operationId, call]) => {
      const { client, sent } = clientOf(away, { retriesMax: 1 });
      expect(await call(client).catch((error: unknown) => error)).to.be.instanceOf(UnavailableError);
      return `${operationId} ${sent.length}`;
    });
    const once = new Set(['rollOut', 'rollBack']);
    expect(await Promise.all(sends)).to.deep.equal(CALLS.map(([id]) => `${id} ${once.has(id) ? 1 : 2}`));
  });

  it('gives searches, lines and rollouts longer than others', async () => {
    const late = ({ signal }: Sent) =>
      new Promise<Response>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        setTimeout(() => resolve(contented()), 300);
      });
    const ends = CALLS.map(async ([, call]) => {
      const { client } = clientOf(late, { attemptTimeoutMs: 100, timeoutMs: 100, retriesMax: 0 });
      return (await call(client).catch((error: unknown) => error)) instanceof TimeoutError;
    });
    expect(await Promise.all(ends)).to.deep.equal(CALLS.map(([, , takes]) => takes !== 'long'));
  });

  it('reads events page by page from where it stopped, and again what was not saved', async () => {
    const { client, sent } = clientOf(({ url }) => {
      const after = Number(url.searchParams.get('after') ?? 0);
      // A page without events does not end the feed.
      const events = after < 3 && after !== 1 ? [{ id: after }, { id: `${after} again` }] : [];
      return Response.json({ events, next: String(Math.min(3, after + 1)) });
    });
    const place = placeInMemory();
    const read = async (take = 10) => {
      const seen: unknown[] = [];
      for await (const { id } of client.events(place, { follow: false })) {
        seen.push(id);
        if (seen.length === take) break;
      }
      return seen;
    };
    expect(await read(3)).to.deep.equal([0, '0 again', 2]);
    expect(await read()).to.deep.equal([2, '2 again']);
    expect(await read()).to.deep.equal([]);
    expect(sent.at(-1)?.url.search).to.equal('?after=3');
    await client.events(placeInMemory()).next();
    expect(sent.at(-1)?.url.search, 'it waits where it follows').to.equal('?wait=20');
  });
});

const REPORTS = ['a', 'b', 'c'].map((orderRef) => ({ ...PAID, clientIdKey: 'ann', orderRef }));
const AWAY = { error: 'temporarily unavailable', code: 'store-away', detail: 'No.', retryable: true };
const BAD = {
  error: 'malformed JSON body',
  code: 'malformed-body',
  detail: 'No.',
  errors: [{ pointer: '/clientIdKey', detail: 'must not be empty' }],
  retryable: false,
};
const TAKEN = { result: 'recorded' };

function linesIn({ text }: Sent): readonly { readonly orderRef: string }[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function answerLines(ends: readonly object[]): Response {
  return new Response(ends.map((end, index) => JSON.stringify({ line: index + 1, ...end })).join('\n'));
}

describe('reports by lines', () => {
  /** The orders that were sent, by request; each answer has these results for the first lines, and none for others. */
  async function report(...answers: readonly (readonly object[])[]) {
    const { client, sent } = clientOf((asked, number) =>
      answerLines(answers[number - 1] ?? linesIn(asked).map(() => AWAY)),
    );
    const told: ReportWithResult[] = [];
    for await (const one of client.reportOutcomes(REPORTS)) told.push(one);
    expect(told.map(({ report }) => report)).to.deep.equal(REPORTS);
    const orders = sent.map((one) => linesIn(one).map(({ orderRef }) => orderRef));
    return { sent: orders, ends: told.map(({ report: _, ...end }) => end) };
  }

  it('are sent again from the first retryable one, or where the answer broke off, and keep their earlier results', async () => {
    const retryable = await report([BAD, AWAY, TAKEN], [TAKEN, { result: 'unchanged' }]);
    const brokenOff = await report([TAKEN], [TAKEN, TAKEN]);
    for (const { sent } of [retryable, brokenOff]) expect(sent.map(String)).to.deep.equal(['a,b,c', 'b,c']);
    expect(retryable.ends).to.deep.equal([BAD, TAKEN, TAKEN]);
    expect(brokenOff.ends).to.deep.equal([TAKEN, TAKEN, TAKEN]);
  });

  it('are given back as retryable after several tries', async () => {
    const { sent, ends } = await report([TAKEN, BAD, AWAY]);
    expect(sent.map((orders) => orders.length)).to.deep.equal([3, 1, 1, 1]);
    expect(ends).to.deep.equal([TAKEN, BAD, AWAY]);
  });

  it('are sent a thousand at a time, as changes of a list are', async () => {
    const changes = Array.from({ length: 2500 }, (_, n) => ({ value: `client-${n}`, remove: true }));
    const { client, sent } = clientOf((asked) =>
      answerLines(linesIn(asked).map(() => ({ result: 'removed' }))),
    );
    const made: ListChangeWithResult[] = [];
    for await (const one of client.changeList('many', changes)) made.push(one);
    expect(sent.map((one) => linesIn(one).length)).to.deep.equal([1000, 1000, 500]);
    expect(made).to.deep.equal(changes.map((change) => ({ change, result: 'removed' })));
  });
});

describe('the platform client at a running service', () => {
  const { service, shop } = serviceOfSuite();

  it('changes, shows and erases a client whatever its name, and says when there is nothing', async () => {
    const { platformUrl: baseUrl } = service.application;
    const patient = { timeoutMs: 60_000, attemptTimeoutMs: 60_000 };
    const client = new PlatformClient({ baseUrl, accessKey: shop.key, ...patient });
    expect(await client.reportOutcome({ clientIdKey: NAME, ...PAID })).to.include({ result: 'recorded' });
    await client.bind(NAME, { requisiteRef: 'q-1', acceptorKeys: ['x'] });
    expect((await client.client(NAME)).binding?.requisiteRef).to.equal('q-1');
    await client.unbind(NAME);
    expect(await client.client(NAME)).to.include({ clientIdKey: NAME, binding: null });
    const results: ReportWithResult[] = [];
    for await (const one of client.reportOutcomes([{ clientIdKey: NAME, ...PAID }])) results.push(one);
    expect(results.map((one) => 'result' in one && one.result)).to.deep.equal(['unchanged']);
    await client.eraseClient(NAME);
    const error = await client.client(NAME).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(NotFoundError).with.property('code', 'unknown-client');
  });
});
