import { expect } from 'chai';
import fc from 'fast-check';
import {
  type ConnectionOptions,
  InvalidArgumentError,
  PlatformClient,
  ScoringClient,
  type VerdictRequest,
} from '#sdk/client.ts';
import { REQUEST } from './verdict-request.ts';

/** Members that a program without types might pass. */
function untyped(members: object): VerdictRequest {
  const request: VerdictRequest = JSON.parse(JSON.stringify({ ...REQUEST, ...members }));
  return request;
}

describe('bad arguments', () => {
  let sent: string[];
  beforeEach(() => {
    sent = [];
  });

  const options = {
    baseUrl: 'http://127.0.0.1:9/pay/',
    accessKey: 'k',
    fetch: async (url: string | URL | Request) => {
      sent.push(String(url));
      return new Response('{}');
    },
  } satisfies ConnectionOptions;
  const scoring = new ScoringClient(options);
  const platform = new PlatformClient(options);

  /** The message of the refusal; nothing was sent. */
  async function refusal(call: () => unknown): Promise<string> {
    try {
      await call();
    } catch (error) {
      expect(sent).to.deep.equal([]);
      if (error instanceof InvalidArgumentError) return error.message;
      throw error;
    }
    throw new Error(`it was sent to ${sent}`);
  }

  const NO_AMOUNT = 'amountRequested must be a string with a decimal number, like "25.00"';
  for (const [members, message] of [
    [{ clientIdKey: '' }, 'clientIdKey must not be empty'],
    [{ clientIdKey: null }, 'clientIdKey must be a string, not null'],
    [{ orderRef: 7 }, 'orderRef must be a string, not number'],
    [{ method: 'm'.repeat(257) }, 'method must have at most 256 characters'],
    [{ sellPointKey: '\ud800' }, 'sellPointKey must be well-formed Unicode'],
    [{ sellPointKey: 'a\0b' }, 'sellPointKey must not contain U+0000'],
    [{ amountRequested: 25 }, NO_AMOUNT],
    [{ amountRequested: '-1' }, NO_AMOUNT],
  ] as const) {
    it(`are refused by name: ${JSON.stringify(members).slice(0, 40)}`, async () => {
      expect(await refusal(() => scoring.verdict(untyped(members)))).to.equal(message);
    });
  }

  it('include an Idempotency-Key or a request id that no header may have', async () => {
    const blank = () => scoring.verdict(REQUEST, { idempotencyKey: 'a b' });
    expect(await refusal(blank)).to.equal(
      'idempotencyKey must be 1 to 255 visible ASCII characters without spaces',
    );
    const newline = () => scoring.verdict(REQUEST, { requestId: 'a\nb' });
    expect(await refusal(newline)).to.match(/^requestId must be 1 to 128 letters/);
  });

  it('include bad settings of a connection', async () => {
    const allowed = 'must be an http or https URL, like https://scoring.example.com';
    for (const baseUrl of ['', '127.0.0.1:8080', 'ftp://x', 'http://x/?a=1', 'http://u:p@x/']) {
      expect(await refusal(() => new ScoringClient({ ...options, baseUrl }))).to.equal(`baseUrl ${allowed}`);
    }
    expect(await refusal(() => new ScoringClient({ ...options, accessKey: '' }))).to.match(/^accessKey must/);
    expect(await refusal(() => new ScoringClient({ ...options, timeoutMs: 0 }))).to.equal(
      'timeoutMs must be a whole number of at least 1',
    );
    expect(await refusal(() => scoring.verdict(REQUEST, { timeoutMs: Number.NaN }))).to.match(/^timeoutMs/);
  });

  it('include the decision ids "." and "..", which every URL parser takes for steps in the path', async () => {
    for (const id of ['.', '..'])
      expect(await refusal(() => platform.decision(id))).to.match(/^decisionId must not be/);
  });

  it('include bodies that cannot be written as JSON, and limits that are not whole numbers', async () => {
    const report = { clientIdKey: 'a', orderRef: 'o', outcome: 'PAID' } as const;
    const circle: typeof report & { itself?: object } = { ...report };
    circle.itself = circle;
    expect(await refusal(() => platform.reportOutcome(circle))).to.equal('body cannot be written as JSON');
    expect(await refusal(() => platform.decisions({ limit: 1.5 }))).to.match(/^limit must be a whole number/);
  });

  it('never turn one id into another: the query that is sent names the id that was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), async (id) => {
        sent = [];
        await platform.unbind(id).catch((error: unknown) => {
          if (!(error instanceof InvalidArgumentError)) throw error;
        });
        for (const url of sent) {
          const { pathname, searchParams } = new URL(url);
          expect(pathname).to.equal('/pay/v1/platform/client/binding');
          expect([...searchParams]).to.deep.equal([['clientIdKey', id]]);
        }
      }),
      { examples: [['.'], ['..'], ['/'], ['%2e'], ['a/../b'], ['\\'], ['?#'], ['\t.'], [' ']] },
    );
  });

  it('leave undefined members of a query out', async () => {
    await platform.decisions({ orderRef: 'a&b', clientIdKey: undefined, limit: undefined });
    expect(sent).to.deep.equal(['http://127.0.0.1:9/pay/v1/platform/decisions?orderRef=a%26b']);
  });
});
