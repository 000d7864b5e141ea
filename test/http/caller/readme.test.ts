import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const page = readFileSync(join(ROOT, 'src', 'http', 'caller', 'README.md'), 'utf8');

/** A citation of a section of the interface: where it is, and the section's number. */
function citations(folder: string): readonly (readonly [place: string, section: string])[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js|yaml|json|md)$/.test(entry.name))
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const text = readFileSync(path, 'utf8');
      return [...text.matchAll(/\binterface(?:'s)?,? (?:\()?section (\d+(?:\.\d+)?)/gi)].map(
        ([, section = '']) => [path.slice(ROOT.length + 1), section] as const,
      );
    });
}

describe('the page about the interface', () => {
  it('has every section that the code and the rules cite', () => {
    const sections = [...page.matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number);
    const cited = ['src', 'scripts', 'test', 'rules', 'packaging'].flatMap(citations);
    expect(cited.length).to.be.above(20);
    expect(cited.filter(([, section]) => !sections.includes(section))).to.deep.equal([]);
  });
});
