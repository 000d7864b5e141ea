import { expect } from 'chai';
import fc from 'fast-check';
import type { Problem } from '../../../service/http-call.ts';
import { scoreBody, verdictBody } from '../../../service/request-bodies.ts';
import { serviceOfSuite } from '../../../service/running-service.ts';

type Operation = 'score' | 'verdict';

/** The longest texts, by member. */
const TEXTS: Readonly<Record<Operation, Readonly<Record<string, number>>>> = {
  score: {
    sellPointKey: 256,
    clientIdKey: 256,
    selectedMethodKey: 256,
    fingerprint: 256,
    ip: 64,
    userAgent: 512,
  },
  verdict: { sellPointKey: 256, clientIdKey: 256, method: 256, orderRef: 256 },
};

const REQUIRED: Readonly<Record<Operation, readonly string[]>> = {
  score: ['sellPointKey', 'clientIdKey', 'amountRequested', 'selectedMethodKey'],
  verdict: ['sellPointKey', 'clientIdKey', 'method', 'amountRequested', 'orderRef'],
};

const NO_DECIMAL =
  'must be a decimal number of at most 38 digits and 18 decimals, like "250.00", without sign, exponent or space';
const NO_CURRENCY = 'must be 3 or 4 letters or digits, like "EUR"';

const operations: readonly Operation[] = ['score', 'verdict'];

function bodyOf(operation: Operation, members: object): object {
  return operation === 'score' ? scoreBody(members) : verdictBody(members);
}

/** Members whose forms have words of their own. What follows from the documents is in openapi/refusals.test.ts. */
const REFUSALS = [
  ['amountRequested', NO_DECIMAL, ['1e5', '', '1\n', '1'.repeat(39)]],
  ['toPayCurrency', NO_CURRENCY, ['EU', 'EUROS', 'E R', '€€€', 'EU\ud800']],
] as const;

/** What is taken, by member. */
function taken(operation: Operation): readonly (readonly [member: string, values: readonly string[]])[] {
  const longest = Object.entries(TEXTS[operation]).map(
    ([member, length]) => [member, ['a', '😀', '\u0001', ' '].map((one) => one.repeat(length))] as const,
  );
  const decimals = ['0', '007.50', `${'9'.repeat(20)}.${'9'.repeat(18)}`];
  return [...longest, ['amountRequested', decimals], ['toPayCurrency', ['EUR', 'eur', 'USDT', '978']]];
}

describe('the members of a request body', () => {
  const { shop } = serviceOfSuite();

  describe('refused with 400 and a pointer, changing nothing', () => {
    afterEach('nothing is known of the client', async () => {
      expect(await shop.decisions()).to.deep.equal([]);
      expect((await shop.client('payer-1')).status).to.equal(404);
    });

    for (const operation of operations) {
      for (const [member, detail, values] of REFUSALS)
        it(`${operation}: /${member} ${detail}`, async () => {
          for (const value of values) {
            const { status, body } = await shop.post(operation, bodyOf(operation, { [member]: value }));
            expect([status, body.errors], JSON.stringify(value)).to.deep.equal([
              400,
              [{ pointer: `/${member}`, detail }],
            ]);
          }
        });

      it(`${operation} whose members come only from a __proto__ member`, async () => {
        const text = `{"__proto__":${JSON.stringify(bodyOf(operation, {}))}}`;
        const { detail, errors = [] } = (await shop.post(operation, text)).body;
        const missing = REQUIRED[operation].map((one) => ({ pointer: `/${one}`, detail: 'is required' }));
        expect(detail).to.equal(`/sellPointKey is required. There are ${missing.length} faults; see errors.`);
        expect(errors).to.have.deep.members(missing);
      });
    }
  });

  describe('several of which are wrong', () => {
    it('are all named, the first of them also in words', async () => {
      const body = verdictBody({ amountRequested: 25, orderRef: '', method: undefined, toPayCurrency: 'E' });
      const answer = await shop.post('verdict', body);
      expect(answer.body.detail).to.equal('/method is required. There are 4 faults; see errors.');
      expect(answer.body.errors).to.have.deep.members([
        { pointer: '/method', detail: 'is required' },
        { pointer: '/amountRequested', detail: 'must be a JSON string' },
        { pointer: '/orderRef', detail: 'must not be empty' },
        { pointer: '/toPayCurrency', detail: NO_CURRENCY },
      ]);
    });

    it('are named up to a limit, with their number', async () => {
      const acceptorKeys = Array.from({ length: 10_000 }, () => 1);
      const { body } = await shop.ask('PUT', 'client/binding?clientIdKey=a', {
        requisiteRef: 'r',
        acceptorKeys,
      });
      expect(body.errors).to.have.length(20);
      expect(body.detail).to.match(/ There are 10001 faults; see errors\.$/);
    });
  });

  describe('that are optional and null or empty', () => {
    it('count as absent in a score, also within its hints', async () => {
      const blank = { toPayCurrency: '', fingerprint: null, ip: '', userAgent: null };
      for (const clientHints of [null, '', {}, { jsOk: null, honeypotTriggered: '' }]) {
        const members = { clientIdKey: 'blank-score', ...blank, clientHints };
        expect((await shop.post('score', scoreBody(members))).status).to.equal(200);
      }
      const history = await shop.ask<{ entries: readonly { request: object }[] }>(
        'GET',
        'client/history?clientIdKey=blank-score',
      );
      expect(history.body.entries[0]?.request).to.deep.include({
        currency: null,
        jsOk: null,
        fingerprintPresent: false,
        ipPresent: false,
        userAgentPresent: false,
      });
    });

    it('make the same verdict request as without them', async () => {
      const key = { 'Idempotency-Key': 'blank' };
      const first = await shop.verdict({ clientIdKey: 'blank-verdict' }, key);
      const again = await shop.verdict({ clientIdKey: 'blank-verdict', toPayCurrency: null }, key);
      expect(again.headers.get('Idempotent-Replayed')).to.equal('true');
      expect(again.body).to.deep.equal(first.body);
    });

    it('count as absent in what the platform reports', async () => {
      const report = { clientIdKey: 'b', orderRef: 'b-1', outcome: 'PAID', cause: null, occurredAt: '' };
      expect((await shop.ask('POST', 'outcomes', report)).status).to.equal(200);
      const binding = { requisiteRef: 'r', acceptorKeys: ['a'], method: '', expiresAt: null };
      expect((await shop.ask('PUT', 'client/binding?clientIdKey=b', binding)).body).to.deep.equal({
        requisiteRef: 'r',
        acceptorKeys: ['a'],
        method: null,
        expiresAt: null,
      });
    });
  });

  describe('accepted', () => {
    for (const operation of operations) {
      for (const [member, values] of taken(operation))
        it(`${operation} with every form of ${member}, texts counted in characters`, async () => {
          for (const value of values) {
            const { status } = await shop.post(operation, bodyOf(operation, { [member]: value }));
            expect(status, JSON.stringify(value)).to.equal(200);
          }
        });

      it(`${operation} with members named like those of every object`, async () => {
        const odd =
          '"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"toString":1,"hasOwnProperty":null';
        const text = JSON.stringify(bodyOf(operation, {})).replace('{', `{${odd},`);
        expect((await shop.post(operation, text)).status).to.equal(200);
        const keyed = await shop.post(operation, text, { 'Idempotency-Key': `odd-${operation}` });
        expect(keyed.status).to.equal(200);
        expect({}).not.to.have.property('admin');
      });
    }
  });

  describe('of any kind', () => {
    it('never lead to 5xx, and to 200 only in a valid body', async () => {
      const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.constant('25.00'));
      const member = fc.oneof(text, fc.jsonValue(), fc.double(), fc.constant(undefined));
      const bodies = fc.oneof(
        fc.json(),
        fc.string(),
        fc
          .record({ members: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), odd: member })
          .map(({ members, odd }) => JSON.stringify(scoreBody({ ...members, userAgent: odd }))),
        fc
          .record({ clientIdKey: member, amountRequested: member, toPayCurrency: member })
          .map((members) => JSON.stringify(verdictBody(members))),
      );
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...operations), bodies, async (operation, body) => {
          const answer = await shop.post(operation, body, { 'Idempotency-Key': crypto.randomUUID() });
          const { status, body: problem }: { status: number; body: Problem } = answer;
          expect([200, 400]).to.include(status);
          if (status === 400) expect(problem.title).to.equal('malformed JSON body');
        }),
        { numRuns: 100 },
      );
    });
  });
});
