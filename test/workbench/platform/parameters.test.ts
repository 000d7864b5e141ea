import { expect } from 'chai';
import fc from 'fast-check';
import { stringifyInSteps } from '#checkout/http/operation/operation.ts';
import { call } from '../../service/http-call.ts';
import { serviceOfSuite } from '../../service/running-service.ts';

/** What operations of the platform refuse of their parameters is in workbench/openapi/refusals.test.ts. */
describe('a query parameter that an operation does not know', () => {
  const { shop } = serviceOfSuite();

  it("is ignored by the caller's operations and by health checks", async () => {
    const score = { sellPointKey: 's', clientIdKey: 'c', amountRequested: '1', selectedMethodKey: 'card' };
    const key = { 'X-KA-Access-Key': shop.key };
    expect((await call('POST', `${shop.callerUrl}/v1/client/score?trace=1`, key, score)).status).to.equal(
      200,
    );
    expect((await call('GET', `${shop.platformUrl}/livez?now=1`, {})).status).to.equal(200);
  });
});

describe('an answer', () => {
  const { shop } = serviceOfSuite();

  it('is never cached where no document describes it, and its type is never guessed', async () => {
    const { headers } = await shop.verdict();
    expect(headers.get('X-Content-Type-Options')).to.equal('nosniff');
    const stray = await call('GET', `${shop.platformUrl}/nowhere`, { 'X-KA-Access-Key': shop.key });
    expect(stray.headers.get('Cache-Control')).to.equal('no-store');
  });

  it('names ignored members of the body, if there are any', async () => {
    const ignored = async (members: object) => (await shop.verdict(members)).headers.get('X-Ignored-Members');
    expect(await ignored({})).to.equal(null);
    expect(await ignored({ fingerPrint: 'f', 'ü\n': 1 })).to.equal('fingerPrint, %C3%BC%0A');
  });

  it('may be cached with revalidation when it is a file of a page', async () => {
    for (const path of ['/', '/docs', '/openapi.json']) {
      const { headers } = await call('GET', `${shop.platformUrl}${path}`, {});
      expect(headers.get('Cache-Control'), path).to.equal('no-cache');
    }
  });
});

describe('JSON that is written in steps', () => {
  it('is the JSON that one step writes', async () => {
    const member = fc.oneof(
      fc.jsonValue(),
      fc.constant(undefined),
      fc.array(fc.jsonValue(), { maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.dictionary(fc.string(), member), fc.jsonValue()), async (answer) => {
        expect(await stringifyInSteps(answer)).to.equal(JSON.stringify(answer));
      }),
    );
  });

  it('has all items of a long list in order', async () => {
    const decisions = Array.from({ length: 100 }, (_, seq) => ({
      seq,
      rule: seq % 2 === 0 ? null : undefined,
    }));
    const answer = { decisions, lookedAt: { complete: true } };
    expect(await stringifyInSteps(answer)).to.equal(JSON.stringify(answer));
  });
});
