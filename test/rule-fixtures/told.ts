import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';

type Tell = () => readonly string[] | Promise<readonly string[]>;

/**
 * Tests, one a title, that what is told is what the file has kept under that title. `TOLD=write npm run test:one -- FILE` writes the
 * file first: then its difference is what to review.
 */
export function itTells(file: URL, told: Readonly<Record<string, Tell>>): void {
  const written = new Map<string, readonly string[]>();
  let kept: ReadonlyMap<string, readonly string[]>;
  before(async () => {
    if (process.env['TOLD'] === 'write') {
      for (const [title, tell] of Object.entries(told)) written.set(title, await tell());
      const paragraphs = [...written].map(([title, lines]) => [title, ...lines].join('\n  '));
      writeFileSync(file, `${paragraphs.join('\n\n')}\n`);
    }
    kept = paragraphsOf(file);
  });

  for (const [title, tell] of Object.entries(told))
    it(title, async () => {
      expect(written.get(title) ?? (await tell())).to.deep.equal(kept.get(title));
    });

  it('nothing else is kept', () => {
    expect([...kept.keys()]).to.deep.equal(Object.keys(told));
  });
}

/** The lines under each title of a file. */
export function paragraphsOf(file: URL): ReadonlyMap<string, readonly string[]> {
  const paragraphs = readFileSync(file, 'utf8').trimEnd().split('\n\n');
  return new Map(
    paragraphs.map((paragraph) => {
      const [title = '', ...lines] = paragraph.split('\n  ');
      return [title, lines];
    }),
  );
}
