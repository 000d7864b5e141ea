import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';

type Tell = () => readonly string[] | Promise<readonly string[]>;

/**
 * Tests, one a title, that what is told is what the file has kept under that title. `TOLD=write npm run test:one -- FILE` writes the
 * file first: then its difference is what to review.
 */
export function itTells(file: URL, told: Readonly<Record<string, Tell>>): void {
  const kept = new Map<string, readonly string[]>();
  before(async () => {
    if (process.env['TOLD'] === 'write') {
      const paragraphs: string[] = [];
      for (const [title, tell] of Object.entries(told))
        paragraphs.push([title, ...(await tell())].join('\n  '));
      writeFileSync(file, `${paragraphs.join('\n\n')}\n`);
    }
    for (const paragraph of readFileSync(file, 'utf8').trimEnd().split('\n\n')) {
      const [title = '', ...lines] = paragraph.split('\n  ');
      kept.set(title, lines);
    }
  });

  for (const [title, tell] of Object.entries(told))
    it(title, async () => {
      expect(await tell()).to.deep.equal(kept.get(title));
    });

  it('nothing else is kept', () => {
    expect([...kept.keys()]).to.deep.equal(Object.keys(told));
  });
}
