import { expect } from 'chai';
import { PlatformClient, type ReportedOutcome } from '../../src/sdk/client.ts';

const REPORTS = ['a', 'b', 'c'].map((orderRef) => ({
  clientIdKey: 'ann',
  orderRef,
  outcome: 'PAID' as const,
}));
const AWAY = {
  error: 'temporarily unavailable',
  code: 'store-away',
  detail: 'Not recorded.',
  retryable: true,
};
const BAD = { error: 'malformed JSON body', code: 'malformed-body', detail: 'No.', retryable: false };
const TAKEN = { result: 'recorded' };

describe('reports by lines', () => {
  /** The orders that were sent, by request; each answer has these results for the first lines, and none for others. */
  async function report(...answers: readonly (readonly object[])[]) {
    const sent: string[][] = [];
    const platform = new PlatformClient({
      baseUrl: 'http://127.0.0.1:9',
      accessKey: 'k',
      fetch: async (_: string | URL | Request, init?: RequestInit) => {
        const lines: readonly { orderRef: string }[] = String(init?.body)
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        sent.push(lines.map(({ orderRef }) => orderRef));
        const ends = answers[sent.length - 1] ?? lines.map(() => AWAY);
        return new Response(ends.map((end, index) => JSON.stringify({ line: index + 1, ...end })).join('\n'));
      },
    });
    const told: ReportedOutcome[] = [];
    for await (const one of platform.reportOutcomes(REPORTS)) told.push(one);
    expect(told.map(({ report }) => report)).to.deep.equal(REPORTS);
    return { sent, ends: told.map(({ report: _, ...end }) => end) };
  }

  it('are sent again from the first retryable one, and keep their earlier results', async () => {
    const { sent, ends } = await report([BAD, AWAY, TAKEN], [TAKEN, { result: 'unchanged' }]);
    expect(sent).to.deep.equal([
      ['a', 'b', 'c'],
      ['b', 'c'],
    ]);
    expect(ends).to.deep.equal([BAD, TAKEN, TAKEN]);
  });

  it('are sent again when the answer broke off before them', async () => {
    const { sent, ends } = await report([TAKEN], [TAKEN, TAKEN]);
    expect(sent).to.deep.equal([
      ['a', 'b', 'c'],
      ['b', 'c'],
    ]);
    expect(ends).to.deep.equal([TAKEN, TAKEN, TAKEN]);
  });

  it('are given back as retryable after several tries', async () => {
    const { sent, ends } = await report([TAKEN, BAD, AWAY]);
    expect(sent.map((orders) => orders.length)).to.deep.equal([3, 1, 1, 1]);
    expect(ends).to.deep.equal([TAKEN, BAD, AWAY]);
  });
});
