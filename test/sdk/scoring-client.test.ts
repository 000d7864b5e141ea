import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  IdempotencyKeyReusedError,
  MalformedBodyError,
  NotProvisionedError,
  ScoringClient,
  UnknownKeyError,
  waitUntil,
} from '#sdk/client.ts';
import { formatSdkRecords } from '../../scripts/client-records.ts';
import { serviceOfSuite } from '../service/running-service.ts';
import { REQUEST } from './verdict-request.ts';

const { method, orderRef, ...rest } = REQUEST;
const SCORE = { ...rest, selectedMethodKey: method };

/** The error of a promise; fails when it is resolved. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it gave ${JSON.stringify(value)} for ${orderRef}`);
    },
    (error: unknown) => error,
  );
}

describe('the scoring client at a running service', () => {
  let client: ScoringClient;
  let connect: (accessKey: string) => ScoringClient;
  const { service } = serviceOfSuite(() => ({ basePath: '/pay' }));
  before(async () => {
    connect = (accessKey) => new ScoringClient({ baseUrl: `${service.application.callerUrl}/`, accessKey });
    client = connect((await service.tenant()).key);
  });

  it('scores a payer', async () => {
    expect(await client.score(SCORE, { requestId: 'r-0' })).to.deep.equal({
      clientGroup: 'NEW',
      paymentScore: '0.5000',
      isBot: false,
      requestId: 'r-0',
      fallback: false,
      noAnswer: null,
    });
  });

  it('gives a verdict with its origin', async () => {
    const first = await client.verdict(REQUEST, { requestId: 'r-1' });
    expect(first).to.include({ verdict: 'GET_NEW', ruleVersion: 'p2.v10', isBot: false, requestId: 'r-1' });
    expect(first.decisionId).to.match(/^.{22}\.1\.[0-9a-z]+$/);
    expect(first.replayed).to.equal(false);
    expect(waitUntil(first)).to.equal(null);
    const again = await client.verdict(REQUEST, { idempotencyKey: first.idempotencyKey, requestId: 'r-2' });
    expect(again).to.deep.equal({ ...first, requestId: 'r-2', replayed: true });
  });

  it('says when to ask again after WAIT, and never too early', async () => {
    const { verdict } = await client.verdict({ ...REQUEST, clientIdKey: 'bob' });
    expect(verdict).to.equal('GET_NEW');
    const waiting = await client.verdict({ ...REQUEST, clientIdKey: 'bob' });
    if (waiting.verdict !== 'WAIT') throw new Error('no WAIT');
    const moment = waitUntil(waiting, new Date(1_000_000));
    expect(moment?.getTime()).to.equal(1_000_000 + waiting.waitSeconds * 1000 + 250);
  });

  it('distinguishes refusals by class', async () => {
    const unknown = await failure(connect('nonsense').score(SCORE));
    expect(unknown).to.be.instanceOf(UnknownKeyError);
    const scoreOnly = connect((await service.tenant('shop', ['score'])).key);
    expect(await failure(scoreOnly.verdict(REQUEST))).to.be.instanceOf(NotProvisionedError);
    await client.verdict({ ...REQUEST, method: 'other' }, { idempotencyKey: 'a' });
    const reused = await failure(client.verdict(REQUEST, { idempotencyKey: 'a' }));
    expect(reused).to.be.instanceOf(IdempotencyKeyReusedError);
  });

  it('leaves out members that are undefined', async () => {
    const { fingerprint, ip }: { fingerprint?: string; ip?: string } = {};
    const answer = await client.score({ ...SCORE, fingerprint, ip, clientHints: { jsOk: undefined } });
    expect(answer.clientGroup).to.be.a('string');
  });

  it('points at the wrong members of a body', async () => {
    const error = await failure(client.score({ ...SCORE, toPayCurrency: 'EURO!' }, { requestId: 'r-1' }));
    if (!(error instanceof MalformedBodyError)) throw error;
    expect(error.errors.map(({ pointer }) => pointer)).to.deep.equal(['/toPayCurrency']);
    expect(error.requestId).to.equal('r-1');
    expect(error.message).to.match(/^400 malformed JSON body: \/toPayCurrency must be/);
  });
});

describe("the client library's records", () => {
  it('are those of the API documents; node scripts/client-records.ts writes them', () => {
    const file = join(import.meta.dirname, '..', '..', 'src', 'sdk', 'records.ts');
    expect(readFileSync(file, 'utf8')).to.equal(formatSdkRecords());
  });
});
