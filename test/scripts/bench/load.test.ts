import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { type LoadKind, runLoad } from '../../../scripts/bench/load.ts';
import { describeWithServer } from '../../servers/needed-programs.ts';

/** What the server was asked. */
interface Asked extends Readonly<Record<'key' | 'type' | 'idempotencyKey', string | undefined>> {
  readonly line: string;
  readonly body: Readonly<Partial<Record<string, string>>>;
}

describeWithServer('wrk', 'a load of the bench', () => {
  let server: Server;
  let asked: Asked[];
  let status: number;

  beforeEach(async () => {
    asked = [];
    status = 200;
    server = createServer(async (req, res) => {
      const body: Asked['body'] = JSON.parse(await text(req));
      const { 'x-ka-access-key': key, 'content-type': type, 'idempotency-key': once } = req.headers;
      const idempotencyKey = once?.toString();
      asked.push({ line: `${req.method} ${req.url}`, key: key?.toString(), type, idempotencyKey, body });
      res.writeHead(status).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  function load(rate: number | null, asks: LoadKind = 'verdict') {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const url = `http://127.0.0.1:${address.port}`;
    return runLoad({ url, accessKey: 'ka_bench', connections: 2, seconds: 1, rate, asks });
  }

  it('asks for verdicts, each for a new client and order', async () => {
    await load(50);
    const { line, key, type, body: first } = asked[0] ?? expect.fail('nothing was asked');
    expect([line, key, type]).to.deep.equal(['POST /v1/client/verdict', 'ka_bench', 'application/json']);
    expect(first).to.include({ sellPointKey: 'shop-1', amountRequested: '25.00', method: 'card' });
    for (const member of ['clientIdKey', 'orderRef'])
      expect(new Set(asked.map(({ body }) => body[member])).size).to.equal(asked.length);
  });

  it('in pairs asks for a score with a device, and later for a verdict of that client under a key', async () => {
    await load(100, 'pair');
    const lines = ['POST /v1/client/score', 'POST /v1/client/verdict'];
    const [scores = [], verdicts = []] = lines.map((wanted) => asked.filter(({ line }) => line === wanted));
    for (const member of ['fingerprint', 'ip'])
      expect(new Set(scores.map(({ body }) => body[member])).size).to.equal(scores.length);
    expect(new Set(verdicts.map(({ idempotencyKey }) => idempotencyKey)).size).to.equal(verdicts.length);
    const last = verdicts.at(-1)?.body['clientIdKey'];
    const ofLast = asked.filter(({ body }) => body['clientIdKey'] === last);
    expect(ofLast.map(({ line }) => line)).to.deep.equal(lines);
  });

  it('counts every answer but 2xx as failed', async () => {
    status = 503;
    const { requests, failures } = await load(50);
    expect(requests).to.be.greaterThan(0);
    expect(failures).to.equal(requests);
  });
});
