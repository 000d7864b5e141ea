import { expect } from 'chai';
import { differences, requisitesAtOnce } from '../../../../scripts/chaos/accidents/fleet.ts';

const WAIT_MS = 30_000;

function shown(clientIdKey: string, at: number, verdict = 'GET_NEW') {
  return { clientIdKey, at, verdict };
}

describe('a drill of a fleet', () => {
  it('names payers who were shown a second requisite before a wait was over, in any order of decisions', () => {
    const decisions = [shown('a', 29_999), shown('b', 1), shown('a', 0), shown('c', 5)];
    expect(requisitesAtOnce(decisions, WAIT_MS)).to.deep.equal(['a']);
  });

  it('accepts a second one after the wait, waits, and other payers', () => {
    const decisions = [shown('a', 0), shown('a', 10, 'WAIT'), shown('a', 30_000), shown('b', 30_001)];
    expect(requisitesAtOnce(decisions, WAIT_MS)).to.deep.equal([]);
  });

  it('shows where answers differ, also after a long common beginning', () => {
    const answer = (paid: number) => `${'same'.repeat(100)} "paidCount":${paid}`;
    expect(differences([answer(1), answer(1), answer(2)])).to.deep.equal(
      [1, 1, 2].map((paid) => `${answer(paid).slice(-61)}`),
    );
  });
});
