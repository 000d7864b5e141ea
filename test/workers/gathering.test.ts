import { expect } from 'chai';
import { Gathering } from '../../src/workers/gathering.ts';

describe('the answers of several workers', () => {
  const gather = (act: (gathering: Gathering) => void): Promise<readonly string[]> => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>();
    const gathering = new Gathering();
    gathering.begin('q', [1, 2, 3], resolve);
    act(gathering);
    return promise;
  };

  it('are given together when the last of them has come', async () => {
    const values = await gather((gathering) => {
      for (const worker of [3, 1, 2]) gathering.answer('q', worker, `"${worker}"`);
    });
    expect(values).to.deep.equal(['"3"', '"1"', '"2"']);
  });

  it('leave out who has nothing to say, who is gone, and what nobody asked', async () => {
    const values = await gather((gathering) => {
      gathering.answer('another', 1, '"?"');
      gathering.answer('q', 1, null);
      gathering.gone(2);
      gathering.answer('q', 9, '"?"');
      gathering.answer('q', 3, '"3"');
    });
    expect(values).to.deep.equal(['"3"']);
  });

  it('do not wait for a worker that stands still', async () => {
    const values = await gather((gathering) => gathering.answer('q', 2, '"2"'));
    expect(values).to.deep.equal(['"2"']);
  });
});
