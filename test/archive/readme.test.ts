import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { columnsText } from '../../scripts/columns-text.ts';

describe('the guide of the archive', () => {
  it('names every table and column as they are; node scripts/write-tables.ts mends it', () => {
    const text = readFileSync(new URL('../../src/archive/README.md', import.meta.url), 'utf8');
    const [, shown = ''] = /<!-- columns -->\n([\s\S]*?)\n<!-- \/columns -->/.exec(text) ?? [];
    expect(shown).to.equal(columnsText());
  });
});
