import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { parseUniqueMembers } from '#checkout/http/request/body.ts';
import type { Documents } from '#state/documents.ts';
import type { Store } from '#state/store.ts';
import { readBodyLines } from '#workbench/platform/body-lines.ts';
import { until } from '../../../servers/until.ts';
import { call, type Problem } from '../../../service/http-call.ts';
import { scoreBody, verdictBody } from '../../../service/request-bodies.ts';
import { serviceOfSuite, startService } from '../../../service/running-service.ts';
import { storeWith } from '../../../stores/store-with.ts';
import { temporarySqlite } from '../../../stores/temporary-store.ts';
import { rawExchange, rawStatus } from '../raw-exchange.ts';

const BODY_BYTES_MAX = 32 * 1024;

/** A valid verdict request with a body of exactly this many bytes. */
function verdictOfBytes(bytes: number): string {
  const text = JSON.stringify(verdictBody({ padding: '' }));
  return text.replace('"padding":""', `"padding":"${'x'.repeat(bytes - text.length)}"`);
}

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

describe('a request body', () => {
  const { shop } = serviceOfSuite();

  const head = (...more: readonly string[]) =>
    [
      'POST /v1/client/verdict HTTP/1.1',
      'Host: localhost',
      `X-KA-Access-Key: ${shop.key}`,
      'Content-Type: application/json',
      ...more,
      '',
      '',
    ].join('\r\n');

  const send = (...parts: readonly (string | Uint8Array)[]) => rawExchange(shop.callerUrl, ...parts);

  const chunked = (text: string, chunkBytes: number) => {
    const chunks: string[] = [];
    for (let from = 0; from < text.length; from += chunkBytes) {
      const chunk = text.slice(from, from + chunkBytes);
      chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    }
    return `${chunks.join('')}0\r\n\r\n`;
  };

  describe('refused, changing nothing', () => {
    afterEach('nothing is known of the client', async () => {
      expect(await shop.decisions()).to.deep.equal([]);
      expect((await shop.client('payer-1')).status).to.equal(404);
    });

    it('that is no JSON object in UTF-8', async () => {
      const good = JSON.stringify(verdictBody());
      const bytes = (text: string, encoding: BufferEncoding) => Uint8Array.from(Buffer.from(text, encoding));
      const mark = 'The body starts with a byte order mark; send plain UTF-8.';
      const faults: readonly (readonly [string, string | Uint8Array<ArrayBuffer>])[] = [
        ...['  \n', good.slice(0, -1), `${good} x`, `/* */${good}`].map(
          (text) => ['The body is not valid JSON.', text] as const,
        ),
        ...[`\uFEFF${good}`, '\uFEFF'].map((text) => [mark, text] as const),
        ...[
          bytes(JSON.stringify(verdictBody({ method: 'é' })), 'latin1'),
          Uint8Array.from([0xff, 0xfe, ...bytes(good, 'utf16le')]),
          Uint8Array.from([0x7b, 0xc0, 0xaf, 0x7d]),
        ].map((text) => ['The body is not valid UTF-8.', text] as const),
      ];
      for (const [detail, text] of faults) {
        const answer = await shop.post('verdict', text);
        expect(answer.headers.get('Content-Type')).to.equal('application/problem+json');
        expect(answer.body).to.deep.equal({
          title: 'malformed JSON body',
          status: 400,
          code: 'malformed-body',
          retryable: false,
          detail,
          requestId: answer.headers.get('X-Request-Id'),
        });
      }
    });

    it('that has a member twice, which is named', async () => {
      const verdict = JSON.stringify(verdictBody({ amountRequested: '9999.00' })).slice(0, -1);
      const score = JSON.stringify(scoreBody({ userAgent: 'it is "Mozilla":5.0' })).slice(0, -1);
      const cases = [
        ['verdict', `${verdict},"amountRequested":"1.00"}`, 'amountRequested'],
        ['verdict', `${verdict},"amountRequested" \t\r\n : "1.00"}`, 'amountRequested'],
        ['verdict', `${verdict},"\\u0061mountRequested":"9999.00"}`, 'amountRequested'],
        ['verdict', `${verdict},"cart":[{"price":"1","price":"2"}]}`, 'price'],
        ['score', `${score},"clientHints":{"jsOk":false,"jsOk":true}}`, 'jsOk'],
      ] as const;
      for (const [operation, text, name] of cases) {
        const { status, body } = await shop.post(operation, text);
        expect([status, body.title]).to.deep.equal([400, 'malformed JSON body']);
        expect(body.detail, text).to.equal(`The body has the member "${name}" twice.`);
      }
    });

    it('of more than 32 KiB in chunks that say nothing of how many there will be', async () => {
      const answer = await send(
        head('Transfer-Encoding: chunked'),
        chunked(verdictOfBytes(BODY_BYTES_MAX + 1), 10_000),
      );
      expect(rawStatus(answer)).to.equal(413);
      expect(answer).to.include('"title":"body too large"');
    });

    it('that is endless, and cut off in the end', async () => {
      const answer = await send(head('Content-Length: 999999999999'), 'x'.repeat(3_000_000));
      expect([413, null]).to.include(rawStatus(answer));
    });

    it('of another type, with 415', async () => {
      const detail = 'Content-Type must be application/json, once, and in UTF-8.';
      for (const type of [
        'application/xml',
        'application/x-www-form-urlencoded',
        'application/x-ndjson',
        'application/json; charset=utf-16',
        'application/jsonx',
        'json',
      ]) {
        const { status, body } = await shop.post('verdict', verdictBody(), { 'Content-Type': type });
        expect(status, type).to.equal(415);
        expect(body.title, type).to.equal('unsupported content type');
        expect(body.detail, type).to.deep.equal(detail);
      }
    });

    it('without a type, or with two', async () => {
      const text = JSON.stringify(verdictBody());
      const rest = `Host: localhost\r\nX-KA-Access-Key: ${shop.key}\r\nContent-Length: ${text.length}\r\nConnection: close`;
      const request = (types: string) => `POST /v1/client/verdict HTTP/1.1\r\n${rest}\r\n${types}\r\n${text}`;
      expect(rawStatus(await send(request('')))).to.equal(415);
      const json = 'Content-Type: application/json\r\n';
      expect(rawStatus(await send(request(json + json)))).to.equal(415);
      expect(rawStatus(await send(request(`${json}Content-Type: text/plain\r\n`)))).to.equal(415);
    });

    it('nested as deep as 32 KiB allow', async () => {
      const { status, body } = await shop.post('verdict', nested(BODY_BYTES_MAX / 2));
      expect(status).to.equal(400);
      expect(body.detail).to.equal('The body must be a JSON object.');
    });
  });

  /** A verdict at a service of its own, which the caller begins and leaves; gives the status in the metrics. */
  const statusOfLeft = async (store: Store | null, sent: (key: string) => string, left: () => void) => {
    const fresh = await startService(store === null ? {} : { store });
    const tenant = await fresh.tenant();
    const caller = connect(Number(new URL(tenant.callerUrl).port), '127.0.0.1');
    caller.write(sent(tenant.key));
    await delay(100);
    caller.destroy();
    await delay(100);
    left();
    let status: string | undefined;
    await until('the request has ended', async () => {
      const { body } = await call<string>('GET', `${tenant.platformUrl}/metrics`, {});
      status = /request_duration_seconds_count\{operation="verdict",status="(\d+)"\}/.exec(body)?.[1];
      return status !== undefined;
    });
    await fresh.stop();
    return status;
  };

  it('that the caller breaks off does not count as a failure of the service', async () => {
    const begun = (key: string) => `${head('Content-Length: 500').replace(shop.key, key)}{"sellPointKey":`;
    expect(await statusOfLeft(null, begun, () => {})).to.equal('400');
  });

  it('leaves nothing under way when the caller hangs up before it is read', async () => {
    const own = temporarySqlite();
    const { documents } = own.store;
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    const get: Documents['get'] = async (collection, name) => {
      await closed;
      return documents.get(collection, name);
    };
    const text = JSON.stringify(verdictBody());
    const whole = (key: string) => head(`Content-Length: ${text.length}`).replace(shop.key, key) + text;
    // The service may notice the closing too late and answer, which ends it, too.
    await statusOfLeft(storeWith(own.store, { documents: { ...documents, get } }), whole, close);
    await own.remove();
  });

  describe('accepted', () => {
    it('of exactly 32 KiB', async () => {
      expect((await shop.post('verdict', verdictOfBytes(BODY_BYTES_MAX))).status).to.equal(200);
    });

    it('with a deeply nested member that the interface does not name, also with an Idempotency-Key', async () => {
      const text = JSON.stringify(verdictBody({ more: 0 })).replace('"more":0', `"more":${nested(15_000)}`);
      expect((await shop.post('verdict', text)).status).to.equal(200);
      const keyed = await shop.post('verdict', text, { 'Idempotency-Key': 'nested' });
      expect(keyed.status).to.equal(200);
    });

    it('of application/json however it is written', async () => {
      const types = [
        'application/json',
        'application/json; charset=utf-8',
        'Application/JSON;charset="UTF-8"',
      ];
      for (const type of types) {
        const headers = { 'Content-Type': type, 'Content-Encoding': 'identity' };
        expect((await shop.post('verdict', verdictBody(), headers)).status, type).to.equal(200);
      }
    });

    it('in chunks that split a character', async () => {
      const bytes = Buffer.from(JSON.stringify(verdictBody({ clientIdKey: '😀' })));
      const cut = bytes.indexOf(0xf0) + 2;
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut)].flatMap((part) => [
        `${part.length.toString(16)}\r\n`,
        part,
        '\r\n',
      ]);
      const answer = await send(
        head('Transfer-Encoding: chunked', 'Connection: close'),
        ...parts,
        '0\r\n\r\n',
      );
      expect(rawStatus(answer)).to.equal(200);
      expect((await shop.client('😀')).body.decisionCount).to.equal(1);
    });
  });

  describe('of the platform', () => {
    const at = (occurredAt: unknown) => {
      const report = { clientIdKey: 'dated', orderRef: crypto.randomUUID(), outcome: 'PAID', occurredAt };
      return shop.ask<Problem>('POST', 'outcomes', JSON.stringify(report));
    };

    it('takes times as RFC 3339', async () => {
      const moments = ['2025-12-31T23:59:59Z', '2025-12-31T23:59:59.123Z', '2024-02-29T10:00:00+05:30'];
      for (const moment of moments) expect((await at(moment)).status, String(moment)).to.equal(200);
    });

    it('refuses times that do not exist or have another form', async () => {
      const moments = [
        '2025-02-29T10:00:00Z',
        '2025-02-30T10:00:00Z',
        '2025-04-31T10:00:00Z',
        '2025-13-01T10:00:00Z',
        '2025-01-01T24:01:00Z',
        '2025-01-01',
        '2025-01-01T10:00:00',
        'yesterday',
        '1735689600000',
        '1960-01-01T00:00:00Z',
        -1,
        1.5,
        1e300,
        true,
        [],
        {},
        ...[1_795_431_599, 1e9, 1_795_431_599_000, 0],
      ];
      for (const moment of moments) {
        const { status, body } = await at(moment);
        expect(status, String(moment)).to.equal(400);
        expect(body.detail).to.equal('/occurredAt must be a moment like "2026-11-21T10:00:00Z".');
      }
    });
  });
});

async function* chunksOf(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function linesOf(bytesMax: number, ...texts: readonly string[]): Promise<readonly (string | null)[]> {
  const lines: (string | null)[] = [];
  for await (const line of readBodyLines(chunksOf(...texts), bytesMax)) lines.push(line?.toString() ?? null);
  return lines;
}

describe('the lines of a body', () => {
  it('are the same wherever its chunks end', async () => {
    const whole = 'one\r\n\ntwo\nthree';
    const expected = ['one', '', 'two', 'three'];
    expect(await linesOf(10, whole)).to.deep.equal(expected);
    expect(await linesOf(10, ...whole)).to.deep.equal(expected);
  });

  it('are null where they are too long, and later ones are whole', async () => {
    expect(await linesOf(3, 'four\nabc\n', 'fi', 've!')).to.deep.equal([null, 'abc', null]);
  });

  it('let others have their turn, however many come in one chunk', async () => {
    let turns = 0;
    let next: NodeJS.Immediate | null = null;
    const turn = () => {
      turns++;
      next = setImmediate(turn);
    };
    turn();
    await linesOf(10, '\n'.repeat(65_536));
    if (next !== null) clearImmediate(next);
    expect(turns).to.be.at.least(600);
  });
});

/** A text of JSON, and whether one of its objects has a member twice. */
interface DrawnJson {
  readonly text: string;
  readonly hasMemberTwice: boolean;
}

const blank = fc.constantFrom('', '', ' ', '\r\n\t');
const drawnText = fc.constantFrom(
  '',
  'a',
  'b',
  '"',
  '\\',
  ':',
  '":',
  '" :',
  '{"a":1,"a":2}',
  '__proto__',
  '}',
  '\n',
);
// No backslash: JSON.parse of Node 26.10.0 may read "\n" as the name "\\" where an object before had that name.
const drawnName = fc.constantFrom('', 'a', 'b', '"', ':', '":', '{"a":1,"a":2}', '__proto__', '}');
const escaped = (name: string) =>
  `"${[...name].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
const writing = fc.constantFrom(JSON.stringify, escaped);

const drawnJson = fc.letrec<{ json: DrawnJson }>((again) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(drawnText, fc.integer(), fc.constant(null), fc.boolean()).map((value) => ({
      text: JSON.stringify(value),
      hasMemberTwice: false,
    })),
    fc.array(again('json'), { maxLength: 3 }).map((items) => ({
      text: `[${items.map(({ text }) => text).join(',')}]`,
      hasMemberTwice: items.some(({ hasMemberTwice }) => hasMemberTwice),
    })),
    fc.array(fc.tuple(drawnName, writing, blank, again('json')), { maxLength: 4 }).map((members) => ({
      text: `{${members.map(([name, write, blank, { text }]) => `${blank}${write(name)}${blank}:${text}`).join(',')}}`,
      hasMemberTwice:
        new Set(members.map(([name]) => name)).size < members.length ||
        members.some(([, , , { hasMemberTwice }]) => hasMemberTwice),
    })),
  ),
})).json;

describe('a text of JSON', () => {
  it('is read as JSON.parse reads it, and refused exactly when an object has a member twice', () => {
    fc.assert(
      fc.property(drawnJson, ({ text, hasMemberTwice }) => {
        if (hasMemberTwice)
          expect(() => parseUniqueMembers(text)).to.throw(/^The body has the member ".*" twice\.$/);
        else expect(parseUniqueMembers(text)).to.deep.equal(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });
});

const BLOCK = 'x'.repeat(64 * 1024);
/** Far more than the system buffers between two sockets. */
const UPLOAD_BLOCKS = 2_000;

describe('a refusal while the body is still being sent', () => {
  const { service } = serviceOfSuite();

  /** Sends an endless body in chunks for as long as it is read; gives the answer, and how much was sent. */
  const upload = async (url: string, path: string, headers: readonly string[]) => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    let answer = '';
    let ended = false;
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    // A reset ends the upload as a close does.
    socket.on('error', () => {});
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => {
        ended = true;
        resolve();
      });
    });
    const head = [`POST ${path} HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked', ...headers];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    let blocks = 0;
    for (; blocks < UPLOAD_BLOCKS && !ended; blocks++) {
      const taken = socket.write(`${BLOCK.length.toString(16)}\r\n${BLOCK}\r\n`);
      if (!taken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
    }
    socket.destroy();
    return { answer, blocks, ended };
  };

  it('reads no further when the key is unknown', async () => {
    const { platformUrl } = service.application;
    const { answer, blocks, ended } = await upload(platformUrl, '/v1/platform/outcomes', [
      'Content-Type: application/x-ndjson',
      'X-KA-Access-Key: wrong',
    ]);
    expect(ended, `${blocks} blocks`).to.equal(true);
    expect(blocks).to.be.below(UPLOAD_BLOCKS);
    expect([401, null]).to.include(rawStatus(answer));
  });

  it('says in the answer that the connection is closed', async () => {
    const { hostname, port } = new URL(service.application.platformUrl);
    const socket = connect(Number(port), hostname);
    socket.write('POST /v1/platform/outcomes HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{');
    const [answer]: Buffer[] = await once(socket, 'data');
    expect(rawStatus(String(answer))).to.equal(401);
    expect(String(answer)).to.match(/\r\nConnection: close\r\n/i);
    socket.destroy();
  });

  it('keeps the connection for the next request when little is missing', async () => {
    const { hostname, port } = new URL(service.application.platformUrl);
    const socket = connect(Number(port), hostname);
    socket.write('POST /v1/platform/outcomes HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n');
    const [first]: Buffer[] = await once(socket, 'data');
    expect(rawStatus(String(first))).to.equal(401);
    socket.write('{}GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    const [second]: Buffer[] = await once(socket, 'data');
    expect(rawStatus(String(second))).to.equal(200);
    socket.destroy();
  });
});
