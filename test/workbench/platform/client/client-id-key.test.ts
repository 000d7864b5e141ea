import { expect } from 'chai';
import { call, type Problem } from '../../../service/http-call.ts';
import { serviceOfSuite } from '../../../service/running-service.ts';

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
  const { shop } = serviceOfSuite();
  before(async () => {
    for (const clientIdKey of BYSTANDERS) {
      await shop.verdict({ clientIdKey });
      await shop.bind(clientIdKey);
    }
  });

  const url = (path: string) => `${shop.platformUrl}/v1/platform/${path}`;
  const key = () => ({ 'X-KA-Access-Key': shop.key });

  /** Every bystander is still known and still bound. */
  const expectNobodyTouched = async (except: string) => {
    for (const clientIdKey of BYSTANDERS.filter((one) => one !== except)) {
      const { body } = await shop.client(clientIdKey);
      expect(body.binding?.requisiteRef, clientIdKey).to.equal('requisite-7');
    }
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

  it('must be well encoded', async () => {
    const { body } = await call<Problem>('DELETE', url('client?clientIdKey=%ff'), key());
    expect(body.detail).to.equal('The query is not percent-encoded UTF-8; encode the clientIdKey in it.');
    await expectNobodyTouched('');
  });
});
