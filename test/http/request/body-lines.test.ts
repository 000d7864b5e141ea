import { expect } from 'chai';
import { bodyLines } from '../../../src/http/request/body.ts';

async function* chunksOf(...texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function linesOf(bytesMax: number, ...texts: readonly string[]): Promise<readonly (string | null)[]> {
  const lines: (string | null)[] = [];
  for await (const line of bodyLines(chunksOf(...texts), bytesMax)) lines.push(line?.toString() ?? null);
  return lines;
}

describe('the lines of a body', () => {
  it('are the same wherever its chunks end', async () => {
    const whole = 'one\r\n\ntwo\nthree';
    const expected = ['one', '', 'two', 'three'];
    expect(await linesOf(10, whole)).to.deep.equal(expected);
    expect(await linesOf(10, ...whole)).to.deep.equal(expected);
  });

  it('are null where they are too long, and later ones are whole', async () => {
    expect(await linesOf(3, 'four\nabc\n', 'fi', 've!')).to.deep.equal([null, 'abc', null]);
  });

  it('let others have their turn, however many come in one chunk', async () => {
    let turns = 0;
    let next: NodeJS.Immediate | null = null;
    const turn = () => {
      turns++;
      next = setImmediate(turn);
    };
    turn();
    await linesOf(10, '\n'.repeat(65_536));
    if (next !== null) clearImmediate(next);
    expect(turns).to.be.at.least(600);
  });
});
