import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { refusalsTable } from '../../scripts/refusals-table.ts';

describe('the guide of refusals', () => {
  it('has the codes of the documents', () => {
    const guide = readFileSync(new URL('../../src/http/README.md', import.meta.url), 'utf8');
    expect(/<!-- refusals -->\n([\s\S]*?)\n<!-- \/refusals -->/.exec(guide)?.[1]).to.equal(refusalsTable());
  });
});
