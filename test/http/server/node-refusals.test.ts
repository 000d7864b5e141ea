import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import { answerNodeRefusals } from '../../../src/http/server/node-refusals.ts';
import type { Problem } from '../../service/http-call.ts';
import { scoreBody } from '../../service/request-bodies.ts';
import { type RunningService, startService } from '../../service/running-service.ts';
import { rawExchange, rawStatus } from '../raw-exchange.ts';

/** The problem in a raw answer; checks the headers that all problems have. */
function problemIn(answer: string): Problem {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head).to.match(/\r\nContent-Type: application\/problem\+json(\r\n|$)/i);
  expect(head).to.match(/\r\nCache-Control: no-store(\r\n|$)/i);
  expect(head).to.match(/\r\nConnection: close(\r\n|$)/i);
  const problem: Problem = JSON.parse(/\{.*\}/s.exec(body)?.[0] ?? '{}');
  expect(head).to.contain(`\r\nX-Request-Id: ${problem.requestId}`);
  return problem;
}

describe('a request that Node refuses before any route', () => {
  let service: RunningService;
  before(async () => {
    service = await startService();
  });
  after(() => service?.stop());

  const listeners = () => [service.application.callerUrl, service.application.platformUrl];

  const refused = async (request: string, status: number, code: string, title: string, detail: string) => {
    for (const url of listeners()) {
      const answer = await rawExchange(url, request);
      expect(rawStatus(answer), answer).to.equal(status);
      const { requestId, ...problem } = problemIn(answer);
      expect(requestId).not.to.equal('');
      expect(problem).to.deep.equal({ title, status, code, detail, retryable: false });
    }
  };
  const NO_HTTP = 'What was sent is not a well-formed HTTP/1.1 request with one Host header.';

  it('is a problem with 400 when it is no HTTP', async () => {
    await refused('hello\r\n\r\n', 400, 'no-http', 'bad request', NO_HTTP);
    await refused(
      'GET /livez HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n',
      400,
      'no-http',
      'bad request',
      NO_HTTP,
    );
  });

  it('is a problem with 400 when the Host is missing or comes twice', async () => {
    await refused('GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'no-http', 'bad request', NO_HTTP);
    await refused(
      'GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
      400,
      'no-http',
      'bad request',
      NO_HTTP,
    );
  });

  it('is a problem with 417 when it expects anything but 100-continue', async () => {
    const detail = 'The header Expect may only be 100-continue.';
    const request = 'GET /livez HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n';
    await refused(request, 417, 'unknown-expectation', 'expectation failed', detail);
  });

  it('is a problem with 431 when its headers are too large', async () => {
    const detail = 'Request line and headers must have less than 16384 bytes together.';
    const request = `GET /livez HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`;
    await refused(request, 431, 'headers-too-large', 'headers too large', detail);
  });

  it('is answered with its own id when it has one', async () => {
    const answer = await rawExchange(
      service.application.callerUrl,
      'GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: r-7\r\nExpect: tea\r\n\r\n',
    );
    expect(problemIn(answer).requestId).to.equal('r-7');
  });

  it('may lack a Host when it is HTTP/1.0', async () => {
    const answer = await rawExchange(service.application.platformUrl, 'GET /livez HTTP/1.0\r\n\r\n');
    expect(rawStatus(answer)).to.equal(200);
  });
});

describe('a body that waits for 100 Continue', () => {
  const BODY = JSON.stringify(scoreBody());

  const asked = (url: string, key: string, ...parts: readonly string[]) =>
    rawExchange(
      url,
      `POST /v1/client/score HTTP/1.1\r\nHost: x\r\nX-KA-Access-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue\r\n`,
      ...parts,
    );

  let service: RunningService;
  before(async () => {
    service = await startService();
  });
  after(() => service?.stop());

  it('is asked for after the key, and never when that is refused', async () => {
    const { callerUrl } = service.application;
    const refused = await asked(callerUrl, 'nonsense', '\r\n');
    expect(refused)
      .to.match(/^HTTP\/1\.1 401 /)
      .and.to.match(/\r\nConnection: close\r\n/i);
    const { key } = await service.tenant();
    const answered = await asked(callerUrl, key, 'Connection: close\r\n\r\n', BODY);
    expect(answered).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

describe('a request that does not arrive in time', () => {
  let server: Server;
  before(async () => {
    server = createServer({
      headersTimeout: 200,
      requestTimeout: 200,
      connectionsCheckingInterval: 50,
      requireHostHeader: false,
    });
    answerNodeRefusals(server);
    server.on('request', (req, res) => {
      req.resume().once('end', () => res.end('here'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is refused with a problem with 408, late headers as well as a late body', async () => {
    const address = server.address();
    const url = `http://127.0.0.1:${address === null || typeof address === 'string' ? 0 : address.port}`;
    for (const part of ['GET / HT', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{']) {
      const answer = await rawExchange(url, part);
      expect(rawStatus(answer)).to.equal(408);
      expect(problemIn(answer)).to.deep.include({
        title: 'request timeout',
        status: 408,
        retryable: true,
        detail: 'The request did not arrive in time; send it again, all at once.',
      });
    }
  });
});
