import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import type { OrderReport } from '#checkout/scoring/order-report.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import { GrantWatch } from '#workbench/platform/grant-watch.ts';
import { recordOutcomeLines } from '#workbench/platform/outcomes.ts';
import { until } from '../../servers/until.ts';
import type { Answer } from '../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../service/key-lifetime.ts';
import { malformedLine } from '../../service/request-bodies.ts';
import { serviceOfSuite } from '../../service/running-service.ts';

interface ResultLine {
  readonly line: number;
  readonly clientIdKey?: string;
  readonly orderRef?: string;
  readonly result?: string;
  readonly error?: string;
  readonly detail?: string;
  readonly retryable?: boolean;
}

const NDJSON = { 'Content-Type': 'application/x-ndjson' };

describe('a stream of outcomes', () => {
  const { service, shop } = serviceOfSuite();

  const report = (clientIdKey: string, orderRef: string, more: object = {}) =>
    JSON.stringify({ clientIdKey, orderRef, outcome: 'PAID', ...more });

  const send = async (body: string | Uint8Array<ArrayBuffer>): Promise<readonly ResultLine[]> => {
    const answer: Answer<string> = await shop.ask('POST', 'outcomes', body, NDJSON);
    expect(answer.status).to.equal(200);
    expect(answer.headers.get('Content-Type')).to.equal('application/x-ndjson');
    return answer.body
      .split('\n')
      .filter((line) => line !== '')
      .map((line): ResultLine => JSON.parse(line));
  };

  it('gives one result per line, in the order of the lines', async () => {
    const lines = await send(
      `${report('in-order', 'a')}\n${report('in-order', 'b')}\n${report('in-order', 'a')}\n`,
    );
    expect(lines).to.deep.equal([
      { line: 1, clientIdKey: 'in-order', orderRef: 'a', result: 'recorded' },
      { line: 2, clientIdKey: 'in-order', orderRef: 'b', result: 'recorded' },
      { line: 3, clientIdKey: 'in-order', orderRef: 'a', result: 'unchanged' },
    ]);
  });

  it('records the good lines among bad ones, and says what is wrong with each bad one', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${report('mixed', 'good-1')}\n`),
      Buffer.from('{"clientIdKey":\n'),
      Buffer.from(`${report('mixed', 'x'.repeat(40_000))}\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(`${report('mixed', 'good-2', { outcome: 'LOST' })}\n`),
      Buffer.from(`${report('mixed', 'good-3', { outcome: 'PAID', cause: 'EXPIRED' })}\n`),
      Buffer.from('[]\n'),
      Buffer.from(`\uFEFF${report('mixed', 'marked')}\n`),
      Buffer.from(`${report('mixed', 'good-4')}\n`),
    ]);
    const errors = (pointer: string, detail: string) => ({ errors: [{ pointer, detail }] });
    expect(await send(Uint8Array.from(bytes))).to.deep.equal([
      { line: 1, clientIdKey: 'mixed', orderRef: 'good-1', result: 'recorded' },
      malformedLine(2, 'The body is not valid JSON.'),
      malformedLine(3, 'A line must have at most 32768 bytes.'),
      malformedLine(4, 'The body is not valid UTF-8.'),
      {
        ...malformedLine(5, '/outcome must be one of PAID, UNPAID.'),
        ...errors('/outcome', 'must be one of PAID, UNPAID'),
      },
      { ...malformedLine(6, '/cause goes only with UNPAID.'), ...errors('/cause', 'goes only with UNPAID') },
      { ...malformedLine(7, 'The body must be a JSON object.'), ...errors('', 'must be a JSON object') },
      malformedLine(8, 'The body starts with a byte order mark; send plain UTF-8.'),
      { line: 9, clientIdKey: 'mixed', orderRef: 'good-4', result: 'recorded' },
    ]);
    expect((await shop.client('mixed')).body.outcomes.paidCount).to.equal(2);
  });

  it('takes CRLF, blank lines, and a last line without its end', async () => {
    const text = `${report('ends', 'a')}\r\n \t\r\n\n${report('ends', 'b')}\r\n${report('ends', 'c')}`;
    const lines = await send(text);
    expect(lines.map(({ line, orderRef }) => [line, orderRef])).to.deep.equal([
      [1, 'a'],
      [4, 'b'],
      [5, 'c'],
    ]);
  });

  it('of nothing gives nothing', async () => {
    expect(await send('')).to.deep.equal([]);
    expect(await send('\n\n')).to.deep.equal([]);
  });

  it("keeps the order of one client's lines: a failure after a payment takes nothing back", async () => {
    const lines = await send(
      [{ outcome: 'UNPAID' }, { outcome: 'PAID' }, { outcome: 'UNPAID', cause: 'EXPIRED' }]
        .map((reported) => report('in-turn', 'order-1', reported))
        .join('\n'),
    );
    expect(lines.map(({ result }) => result)).to.deep.equal(['recorded', 'superseded', 'outweighed']);
    expect((await shop.client('in-turn')).body.outcomes).to.deep.include({ paidCount: 1, unpaidCount: 0 });
  });

  it('takes amounts, and names the line whose amount has more digits than its currency', async () => {
    const lines = await send(
      [{ amount: '40.00', currency: 'eur' }, { amount: '1000.5', currency: 'JPY' }, { amount: '0.5' }]
        .map((money, n) => report('with-money', `order-${n}`, money))
        .join('\n'),
    );
    const detail = 'has 1 digits after the point; JPY has none';
    expect(lines).to.deep.equal([
      { line: 1, clientIdKey: 'with-money', orderRef: 'order-0', result: 'recorded' },
      { ...malformedLine(2, `/amount ${detail}.`), errors: [{ pointer: '/amount', detail }] },
      { line: 3, clientIdKey: 'with-money', orderRef: 'order-2', result: 'recorded' },
    ]);
  });

  it('says where it stops when there are too many lines', async () => {
    const lines = await send('7\n'.repeat(100_010));
    expect(lines).to.have.length(100_001);
    expect(lines.at(-1)).to.deep.equal({
      line: 100_001,
      error: 'too many lines',
      code: 'too-many-lines',
      detail: 'Send at most 100000 lines at once.',
      retryable: true,
    });
  });

  it('marks requests beyond 200 waiting for one client as retryable, and goes on', async () => {
    const text = Array.from({ length: 64 }, (_, index) => report('crowd', `order-${index}`)).join('\n');
    const streams = await Promise.all(Array.from({ length: 12 }, () => send(text)));
    const lines = streams.flat();
    expect(lines).to.have.length(12 * 64);
    for (const { result, error } of lines) {
      expect(['recorded', 'unchanged', 'temporarily unavailable']).to.include(result ?? error);
    }
    await send(text);
    expect((await shop.client('crowd')).body.outcomes.paidCount).to.equal(64);
  });

  it('queues lines before their turn, at most a thousand', async () => {
    const bytes = Array.from({ length: 5000 }, (_, index) => Buffer.from(report('ann', `order-${index}`)));
    let expected = 0;
    const { promise: first, resolve: goOn } = Promise.withResolvers<void>();
    const recorder = {
      expect: () => void expected++,
      record: async () => {
        await first;
        return { effect: 'recorded' as const };
      },
    };
    const grant = new GrantWatch(async () => true);
    const stream = recordOutcomeLines(Readable.from(bytes), recorder, grant, () => {});
    const result = stream.next();
    await until('a thousand lines are read', async () => expected >= 1000);
    await setImmediate();
    expect(expected).to.be.within(1000, 1100);
    goOn();
    expect(await result).to.deep.equal({
      done: false,
      value: { line: 1, clientIdKey: 'ann', orderRef: 'order-0', result: 'recorded' },
    });
    await stream.return(undefined);
    grant.stop();
  });

  it('records the lines around one that fails, and marks that one as retryable', async () => {
    const faults: unknown[] = [];
    const bytes = ['good-1', 'poison', 'good-2'].map((orderRef) => Buffer.from(report('ann', orderRef)));
    const record = async ({ orderRef }: OrderReport) => {
      if (orderRef === 'poison') throw new Error('a bug');
      return { effect: 'recorded' as const };
    };
    const recorder = { expect: () => {}, record };
    const grant = new GrantWatch(async () => true);
    const lines: object[] = [];
    const stream = recordOutcomeLines(Readable.from(bytes), recorder, grant, (fault) => faults.push(fault));
    for await (const line of stream) lines.push(line);
    grant.stop();
    expect(lines).to.deep.equal([
      { line: 1, clientIdKey: 'ann', orderRef: 'good-1', result: 'recorded' },
      {
        line: 2,
        error: 'internal error',
        code: 'internal-error',
        detail:
          'The service failed. Quote the requestId to the platform owner, who finds the cause in the log.',
        retryable: true,
      },
      { line: 3, clientIdKey: 'ann', orderRef: 'good-2', result: 'recorded' },
    ]);
    expect(faults.map(String)).to.deep.equal(['Error: a bug']);
  });

  it('does not count as a single outcome, which is application/json', async () => {
    const two = `${report('single', 'a')}\n${report('single', 'b')}`;
    expect((await shop.ask('POST', 'outcomes', two)).status).to.equal(400);
    expect((await shop.client('single')).status).to.equal(404);
  });

  it('ends with a line that says so when its key is revoked, while it is open and nothing is sent', async () => {
    const { key, record } = await service.application.keys.issue(
      toPlatformName('shop'),
      ['outcomes'],
      KEY_LIFETIME_MS,
    );
    const { hostname, port } = new URL(service.application.platformUrl);
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', () => {
      // A reset ends the stream as a close does.
    });
    const chunk = (line: string) => `${Buffer.byteLength(line).toString(16)}\r\n${line}\r\n`;
    socket.write(
      `POST /v1/platform/outcomes HTTP/1.1\r\nHost: x\r\nX-KA-Access-Key: ${key}\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    socket.write(chunk(`${report('revoked-1', 'before')}\n`.repeat(40)));
    await until('the first results are there', async () => answer.includes('"line":1,'));
    await service.application.keys.revoke(record.id);
    await once(socket, 'close');
    expect(answer).to.match(
      /\{"line":41,"error":"unknown X-KA-Access-Key","code":"unknown-key","detail":"The access key was revoked or has expired meanwhile; nothing from this line on was recorded.","retryable":false\}/,
    );
  });
});
