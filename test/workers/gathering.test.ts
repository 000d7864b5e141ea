import { expect } from 'chai';
import { Gathering } from '../../src/workers/supervisor.ts';

describe('the answers of several workers', () => {
  const gather = (
    act: (gathering: Gathering) => void,
    { keep = false, gathering = new Gathering() } = {},
  ): Promise<readonly string[]> => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    gathering.begin({ id: 'q', workers: [1, 2, 3], keep }, resolve);
    act(gathering);
    return promise;
  };

  it('are given together once the last one has arrived', async () => {
    const values = await gather((gathering) => {
      for (const worker of [3, 1, 2]) gathering.answer('q', worker, `"${worker}"`);
    });
    expect(values).to.deep.equal(['"3"', '"1"', '"2"']);
  });

  it('leave out workers without an answer, workers that are gone, and answers to no question', async () => {
    const values = await gather((gathering) => {
      gathering.answer('another', 1, '"?"');
      gathering.answer('q', 1, null);
      gathering.gone(2);
      gathering.answer('q', 9, '"?"');
      gathering.answer('q', 3, '"3"');
    });
    expect(values).to.deep.equal(['"3"']);
  });

  it('do not wait for a worker that hangs', async () => {
    const values = await gather((gathering) => gathering.answer('q', 2, '"2"'));
    expect(values).to.deep.equal(['"2"']);
  });

  it('include the last answer of a silent worker where answers are kept', async () => {
    const gathering = new Gathering();
    const answers = (value: string, workers: readonly number[]) => () => {
      for (const worker of workers) gathering.answer('q', worker, value);
    };
    await gather(answers('"first"', [1, 2, 3]), { keep: true, gathering });
    const standsStill = await gather(answers('"second"', [1, 3]), { keep: true, gathering });
    expect(standsStill).to.deep.equal(['"second"', '"second"', '"first"']);
    const dies = await gather(
      () => {
        answers('"third"', [1, 3])();
        expect(gathering.gone(2)).to.equal('"first"');
      },
      { keep: true, gathering },
    );
    expect(dies).to.deep.equal(['"third"', '"third"', '"first"']);
    expect(gathering.gone(2)).to.equal(null);
  });
});
