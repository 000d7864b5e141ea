import { expect } from 'chai';
import type { ListLogRecord, Store } from '#state/store.ts';

/** What every adapter does with the records of shared lists. */
export function describeListLog(store: () => Store): void {
  const log = () => store().listLog;
  const put = (id: string, text = `text of ${id}`) => ({ id, text });

  async function since(after: number, limit = 100): Promise<readonly ListLogRecord[]> {
    return (await log().read(after, limit)).records;
  }

  async function latest(): Promise<number> {
    return (await log().read(Number.MAX_SAFE_INTEGER, 1)).latest;
  }

  it('are read in the order in which they were last written, each once', async () => {
    const before = await latest();
    const written = await log().write([put('a'), put('b'), put('c'), put('a', 'again')]);
    expect(written).to.deep.equal(Array(4).fill(true));
    expect(await since(before)).to.deep.equal([
      { id: 'b', version: before + 2, text: 'text of b' },
      { id: 'c', version: before + 3, text: 'text of c' },
      { id: 'a', version: before + 4, text: 'again' },
    ]);
    expect(await since(before + 3)).to.deep.equal([{ id: 'a', version: before + 4, text: 'again' }]);
    expect(await since(before + 4)).to.deep.equal([]);
    expect(await since(before, 2)).to.have.length(2);
  });

  it('report a removed one once, without its content', async () => {
    await log().write([put('gone', 'a secret')]);
    const before = await latest();
    expect(await log().write([{ id: 'gone', text: null }])).to.deep.equal([true]);
    expect(await log().write([{ id: 'gone', text: null }])).to.deep.equal([false]);
    expect(await log().write([{ id: 'never there', text: null }])).to.deep.equal([false]);
    expect(await since(before)).to.deep.equal([{ id: 'gone', version: before + 1, text: null }]);
    await log().write([put('gone', 'back')]);
    expect(await since(before + 1)).to.deep.equal([{ id: 'gone', version: before + 2, text: 'back' }]);
  });

  it('change only what is as expected, when something is expected', async () => {
    await log().write([put('kept')]);
    const version = await latest();
    await log().write([put('kept', 'newer')]);
    const changes = [{ id: 'kept', text: null, expected: version }];
    expect(await log().write(changes)).to.deep.equal([false]);
    expect(await log().write([{ id: 'kept', text: null, expected: version + 1 }])).to.deep.equal([true]);
    expect(await log().write([{ id: 'kept', text: 'x', expected: version + 2 }])).to.deep.equal([false]);
  });

  it('are not written when a related record was changed meanwhile', async () => {
    const before = await latest();
    await log().write([put('beside/a', 'red a'), put('elsewhere/a', 'blue a')]);
    const unless = { since: before, idsBegin: 'beside/', textsBegin: 'blue ' };
    expect(await log().write([put('beside/b', 'blue b')], unless)).to.equal(null);
    expect((await since(before)).map(({ id }) => id)).to.deep.equal(['beside/a', 'elsewhere/a']);
    const red = { ...unless, textsBegin: 'red ' };
    expect(await log().write([put('beside/b', 'red b')], red)).to.deep.equal([true]);
    await log().write(['beside/a', 'beside/b'].map((id) => ({ id, text: null })));
    expect(await log().write([put('beside/c', 'blue c')], unless)).to.deep.equal([true]);
  });

  it('take many at once, and keep their epoch until the store is emptied', async () => {
    const before = await latest();
    const { epoch } = await log().read(0, 1);
    const many = Array.from({ length: 500 }, (_, n) => put(`many ${n}`, 'ä'.repeat(100)));
    expect(await log().write(many)).to.deep.equal(many.map(() => true));
    const page = await log().read(before, 1000);
    expect(page.records.map(({ id }) => id)).to.deep.equal(many.map(({ id }) => id));
    expect({ epoch: page.epoch, latest: page.latest }).to.deep.equal({ epoch, latest: before + 500 });
    expect(epoch).to.be.a('string');
  });
}
