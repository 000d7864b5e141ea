import { expect } from 'chai';
import { answerNodeRefusals } from '#checkout/http/server/node-refusals.ts';
import { serving } from '../../../servers/listening.ts';
import type { Problem } from '../../../service/http-call.ts';
import { scoreBody } from '../../../service/request-bodies.ts';
import { serviceOfSuite } from '../../../service/running-service.ts';
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
  const { service } = serviceOfSuite();

  const NO_HTTP = 'The request must be well-formed HTTP/1.1 with exactly one Host header.';
  const BAD = ['bad request', 400, 'no-http', NO_HTTP] as const;
  const LARGE = 'The request line and the headers together must have less than 16384 bytes.';
  const EXPECT = 'The header Expect may only be 100-continue.';

  for (const [why, request, [title, status, code, detail]] of [
    ['is no HTTP', 'hello', BAD],
    ['has a header without a colon', 'GET /livez HTTP/1.1\r\nHost: x\r\nno colon', BAD],
    ['has no Host', 'GET /livez HTTP/1.1\r\nConnection: close', BAD],
    ['has two Hosts', 'GET /livez HTTP/1.1\r\nHost: x\r\nHost: y', BAD],
    [
      'expects anything but 100-continue',
      'GET /livez HTTP/1.1\r\nHost: x\r\nExpect: tea',
      ['expectation failed', 417, 'unknown-expectation', EXPECT],
    ],
    [
      'has too large headers',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}`,
      ['headers too large', 431, 'headers-too-large', LARGE],
    ],
  ] as const)
    it(`is a problem with ${status} when it ${why}`, async () => {
      for (const url of [service.application.callerUrl, service.application.platformUrl]) {
        const answer = await rawExchange(url, `${request}\r\n\r\n`);
        expect(rawStatus(answer), answer).to.equal(status);
        const { requestId, ...problem } = problemIn(answer);
        expect(requestId).not.to.equal('');
        expect(problem).to.deep.equal({ title, status, code, detail, retryable: false });
      }
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

  const { service } = serviceOfSuite();

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
  it('is refused with a problem with 408, late headers as well as a late body', async () => {
    const times = { headersTimeout: 200, requestTimeout: 200, connectionsCheckingInterval: 50 };
    const { server, url, stop } = await serving(
      (req, res) => void req.resume().once('end', () => res.end('here')),
      { ...times, requireHostHeader: false },
    );
    answerNodeRefusals(server);
    for (const part of ['GET / HT', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{']) {
      const answer = await rawExchange(url, part);
      expect(rawStatus(answer)).to.equal(408);
      expect(problemIn(answer)).to.deep.include({
        title: 'request timeout',
        status: 408,
        retryable: true,
        detail: 'The request did not arrive in time; send it again without pauses.',
      });
    }
    stop();
  });
});
