import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect } from 'chai';
import Koa from 'koa';
import type { RequestState } from '../../../src/http/request/request-state.ts';
import { compressAnswers } from '../../../src/http/server/compress-answers.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import type { Tenant } from '../../service/tenant.ts';

const asked = async (url: string, encoding: string, key = '') => {
  const answer = await fetch(url, { headers: { 'X-KA-Access-Key': key, 'Accept-Encoding': encoding } });
  const { headers } = answer;
  return {
    encoding: headers.get('Content-Encoding'),
    vary: headers.get('Vary'),
    length: Number(headers.get('Content-Length')),
    text: await answer.text(),
  };
};

describe('long answers', () => {
  let service: RunningService;
  let shop: Tenant;
  before(async () => {
    service = await startService();
    shop = await service.tenant('shop');
    for (let ask = 0; ask < 20; ask++) await shop.verdict({ clientIdKey: 'ann', orderRef: `order-${ask}` });
  });
  after(() => service?.stop());

  it('of the platform are compressed for clients that accept gzip, with the same content', async () => {
    const decisions = (encoding: string) =>
      asked(`${shop.platformUrl}/v1/platform/decisions?limit=20`, encoding, shop.key);
    const plain = await decisions('identity');
    const compressed = await decisions('gzip, br');
    expect([plain.encoding, plain.vary]).to.deep.equal([null, 'Accept-Encoding']);
    expect([compressed.encoding, compressed.vary]).to.deep.equal(['gzip', 'Accept-Encoding']);
    expect(compressed.length).to.be.below(plain.length / 4);
    expect(compressed.text).to.equal(plain.text);
  });

  it('are sent uncompressed where they have an ETag, and so are short ones', async () => {
    const app = new Koa<RequestState>();
    app.use(compressAnswers());
    app.use((ctx) => {
      ctx.body = 'long '.repeat(ctx.path === '/short' ? 10 : 10_000);
      if (ctx.path === '/named') ctx.set('ETag', '"1"');
    });
    const server = createServer(app.callback()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const address = server.address();
      const port = address === null || typeof address === 'string' ? 0 : address.port;
      const encodings = ['short', 'named', 'long'].map(
        async (path) => (await asked(`http://127.0.0.1:${port}/${path}`, 'gzip')).encoding,
      );
      expect(await Promise.all(encodings)).to.deep.equal([null, null, 'gzip']);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
