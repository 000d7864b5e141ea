import { expect } from 'chai';
import fc from 'fast-check';
import { call, type Problem } from '../../../service/http-call.ts';
import { type RunningService, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { rawExchange, rawStatus } from '../../raw-exchange.ts';

/** Clients that a request about another one must never reach. */
const BYSTANDERS = ['binding', 'override', 'history', 'b', 'a', 'client', 'clients'];

/** Ids that URL parsers or proxies could change. */
const TRICKY = [
  '.',
  '..',
  '%2e',
  '%2e%2e',
  'a/b',
  'a/../b',
  '../b',
  'a/binding',
  'b\\..',
  'b?x',
  'b#x',
  '//b',
  'binding',
];

describe('the client that a request is about', () => {
  let service: RunningService;
  let shop: Tenant;
  before(async () => {
    service = await startService();
    shop = await service.tenant();
    for (const clientIdKey of BYSTANDERS) {
      await shop.verdict({ clientIdKey });
      await shop.bind(clientIdKey);
    }
  });
  after(() => service?.stop());

  const url = (path: string) => `${shop.platformUrl}/v1/platform/${path}`;
  const key = () => ({ 'X-KA-Access-Key': shop.key });

  /** Every bystander is still known and still bound. */
  const expectNobodyTouched = async (except: string) => {
    for (const clientIdKey of BYSTANDERS.filter((one) => one !== except)) {
      const { body } = await shop.client(clientIdKey);
      expect(body.binding?.requisiteRef, clientIdKey).to.equal('requisite-7');
    }
  };

  /** A request sent as written, past any URL parser. */
  const raw = async (method: string, target: string) => {
    const { host } = new URL(shop.platformUrl);
    const head = [`${method} ${target} HTTP/1.1`, `Host: ${host}`, `X-KA-Access-Key: ${shop.key}`];
    const answer = await rawExchange(shop.platformUrl, `${head.join('\r\n')}\r\nConnection: close\r\n\r\n`);
    return { status: rawStatus(answer), answer };
  };

  it('is the one in the query, whatever its id is', async () => {
    for (const clientIdKey of TRICKY.filter((one) => !BYSTANDERS.includes(one))) {
      await shop.verdict({ clientIdKey, orderRef: 'tricky' });
      expect((await shop.bind(clientIdKey)).status, clientIdKey).to.equal(200);
      expect((await shop.override(clientIdKey, 'TRUSTED')).status).to.equal(200);
      const { body } = await shop.client(clientIdKey);
      expect(body.clientIdKey).to.equal(clientIdKey);
      expect(body.binding?.requisiteRef).to.equal('requisite-7');
      const query = `clientIdKey=${encodeURIComponent(clientIdKey)}`;
      for (const [method, path, status] of [
        ['GET', `client/history?${query}`, 200],
        ['GET', `client/export?${query}`, 200],
        ['DELETE', `client/binding?${query}`, 204],
        ['DELETE', `client/override?${query}`, 204],
        ['DELETE', `client?${query}`, 204],
        ['GET', `client?${query}`, 404],
      ] as const) {
        expect((await call(method, url(path), key())).status, `${method} ${path}`).to.equal(status);
      }
      await expectNobodyTouched(clientIdKey);
    }
  });

  it('is never changed by how fetch writes a path', async () => {
    for (const id of TRICKY) {
      for (const method of ['DELETE', 'PUT']) {
        for (const below of ['', '/binding', '/override']) {
          const { status } = await call(method, url(`clients/${encodeURIComponent(id)}${below}`), key(), {});
          expect([400, 404, 405], `${method} ${id}${below}`).to.include(status);
        }
      }
    }
    await expectNobodyTouched('');
  });

  it('is never another one in a raw path with dots, double slashes or their encodings', async () => {
    const ids = [
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '%2e%2e%2fb',
      'a%2Fb',
      'a%2fbinding',
      'a/../b',
      '/b',
      'a//b',
      '%252e',
      'b%3Fx',
      'b%23',
      '%5C',
    ];
    for (const id of ids) {
      for (const below of ['', '/binding', '/override']) {
        const { status, answer } = await raw('DELETE', `/v1/platform/clients/${id}${below}`);
        expect([400, 404, 405], `${id}${below}: ${answer}`).to.include(status);
      }
    }
    for (const target of [
      '/v1/platform/clients//binding',
      '/v1/platform//clients/b',
      '//v1/platform/clients/b',
    ]) {
      expect((await raw('DELETE', target)).status, target).to.equal(404);
    }
    await expectNobodyTouched('');
  });

  it('is answered with a hint at the query when a path cannot have its id', async () => {
    const { body } = await shop.ask('DELETE', 'clients/a%2Fbinding');
    expect(body).to.deep.include({
      title: 'bad request',
      status: 400,
      retryable: false,
      detail:
        'A path cannot carry the clientIdKey "a/binding" safely; name it in the query: /v1/platform/client?clientIdKey=a%2Fbinding.',
    });
  });

  it('gets an address in the hint that ends with the id, without a full stop', async () => {
    const { answer } = await raw('DELETE', '/v1/platform/clients/.');
    expect(answer).to.include('name it in the query: /v1/platform/client?clientIdKey=%2E."');
  });

  it('must be in the query once, and well encoded', async () => {
    const detail = async (query: string) =>
      (await call<Problem>('DELETE', url(`client${query}`), key())).body.detail;
    expect(await detail('')).to.equal('The parameter clientIdKey is required.');
    expect(await detail('?clientIdKey=a&clientIdKey=b')).to.equal(
      'The parameter clientIdKey must come once.',
    );
    expect(await detail('?clientIdKey=')).to.equal(
      'clientIdKey must have 1 to 256 characters of well-formed Unicode.',
    );
    expect(await detail('?clientIdKey=%ff')).to.equal(
      'The query is not percent-encoded UTF-8; encode the clientIdKey in it.',
    );
    await expectNobodyTouched('');
  });

  it('is the one with that id, or none, for every id in a path', async () => {
    const characters = fc.constantFrom('.', '/', '\\', '%', '2', 'e', 'f', 'b', '?', '#', ';', ' ', 'ü');
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: characters, minLength: 1, maxLength: 8 }), async (id) => {
        const { status, body } = await call<{ clientIdKey?: string; detail?: string }>(
          'GET',
          url(`clients/${encodeURIComponent(id)}`),
          key(),
        );
        if (status === 200) expect(body.clientIdKey).to.equal(id);
        else expect([400, 404]).to.include(status);
      }),
      { numRuns: 200 },
    );
  });
});
