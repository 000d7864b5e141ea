import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { factsTable } from '../../src/analysis/facts-table.ts';

describe('the guide for analysts', () => {
  it('shows the fact catalogue as it is; node scripts/write-facts-table.ts mends it', () => {
    const text = readFileSync(join(import.meta.dirname, '..', '..', 'rules', 'README.md'), 'utf8');
    expect(/<!-- facts -->\n([\s\S]*?)\n<!-- \/facts -->/.exec(text)?.[1]).to.equal(factsTable());
  });
});
