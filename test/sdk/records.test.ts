import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { clientRecords } from '../../scripts/client-records.ts';

describe("the client library's records", () => {
  it('are those of the API documents; node scripts/client-records.ts writes them', () => {
    const file = join(import.meta.dirname, '..', '..', 'src', 'sdk', 'records.ts');
    expect(readFileSync(file, 'utf8')).to.equal(clientRecords());
  });
});
