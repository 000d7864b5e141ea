import { expect } from 'chai';
import { type Input, inputsOf } from '../../../src/evidence/backtest/input.ts';
import { type Evidence, withEvidence } from '../../../src/evidence/source/evidence.ts';
import { makeInputView } from '../../../src/evidence/source/shared-devices.ts';
import { JULY, playJuly, Workplace } from './backtest-history.ts';

const LATER = `"at" > ${JULY + 38_000}`;

describe('the inputs of a history', () => {
  const place = new Workplace();
  before(async () => {
    await playJuly(place);
    await place.scoring('journal', 'export', '--output', place.path('j'));
  });
  after(() => place.end());

  function read<T>(work: (evidence: Evidence) => Promise<T>): Promise<T> {
    const journal = { kind: 'journal', path: place.path('j') } as const;
    return withEvidence({ place: journal, from: null, to: null, platform: null }, async (evidence) => {
      await makeInputView(evidence, []);
      return work(evidence);
    });
  }

  async function all({ duck }: Evidence, where: string, orderedAtOnceMax: number): Promise<readonly Input[]> {
    return (await Array.fromAsync(inputsOf(duck, where, orderedAtOnceMax))).flat();
  }

  for (const where of ['true', LATER]) {
    it(`come in the same order however few are ordered at once${where === 'true' ? '' : ', also when some are asked for'}`, () =>
      read(async (evidence) => {
        const expected = await all(evidence, where, 1_000_000);
        expect(expected.length).to.be.above(10);
        for (const most of [1, 2, 3, 7, expected.length - 1])
          expect(await all(evidence, where, most), `${most} at once`).to.deep.equal(expected);
      }));
  }
});
