import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { allowHalfClosedCallers } from '#checkout/http/server/half-close.ts';
import { serving } from '../../../servers/listening.ts';
import { until } from '../../../servers/until.ts';
import { scoreBody, verdictBody } from '../../../service/request-bodies.ts';
import { serviceOfSuite } from '../../../service/running-service.ts';
import { halfClosedExchange, rawStatus } from '../raw-exchange.ts';

describe('a caller who closes for writing', () => {
  const { service } = serviceOfSuite();

  const request = (path: string, key: string, body: string, length = body.length) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-KA-Access-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;

  it('behind a whole request gets the answer, on both listeners', async () => {
    const { key, callerUrl, platformUrl } = await service.tenant();
    const order = { clientIdKey: 'payer-1', orderRef: 'order-1', outcome: 'PAID' };
    for (const [url, path, body] of [
      [callerUrl, '/v1/client/score', scoreBody()],
      [callerUrl, '/v1/client/verdict', verdictBody()],
      [platformUrl, '/v1/platform/outcomes', order],
    ] as const) {
      const answer = await halfClosedExchange(url, request(path, key, JSON.stringify(body)));
      expect(rawStatus(answer), `${path} ${answer}`).to.equal(200);
    }
  });

  it('within the body is told that the body broke off, and nothing of HTTP', async () => {
    const { key, callerUrl, platformUrl } = await service.tenant();
    const chunked = `POST /v1/client/verdict HTTP/1.1\r\nHost: x\r\nX-KA-Access-Key: ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{`;
    for (const [url, text] of [
      [callerUrl, request('/v1/client/verdict', key, '{"sellPointKey":', 200)],
      [callerUrl, chunked],
      [platformUrl, request('/v1/platform/outcomes', key, '{', 200)],
    ] as const) {
      const answer = await halfClosedExchange(url, text);
      expect(rawStatus(answer), answer).to.equal(400);
      expect(answer).to.include('"title":"malformed JSON body"');
      expect(answer).to.include('"detail":"The connection ended before the whole body had arrived."');
    }
  });

  it('within the headers is told that it is no HTTP', async () => {
    const answer = await halfClosedExchange(
      service.application.callerUrl,
      'POST /v1/client/score HTTP/1.1\r\nHo',
    );
    expect(answer).to.include('must be well-formed HTTP/1.1');
  });

  it('long after the request has given up, and work for the answer ends', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const { server, url, stop } = await serving((_req, res) => {
      res.once('close', () => end());
    });
    allowHalfClosedCallers(server);
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const sentMs = performance.now();
    await until('nothing came for a while', async () => performance.now() - sentMs > 1000);
    socket.end();
    await ended;
    stop();
  });
});
