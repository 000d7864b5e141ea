import { expect } from 'chai';
import { table } from '../../src/cli/print.ts';

describe('a table for people', () => {
  it('has aligned columns, numbers by their last digit', () => {
    const text = table(
      ['LIST', 'ENTRIES'],
      [
        ['stolen', '3'],
        ['shops', '100000'],
      ],
      { right: [1] },
    );
    expect(text).to.equal('LIST    ENTRIES\nstolen        3\nshops    100000');
  });

  it('lets no cell look like another row', () => {
    const text = table(['VALUE', 'REASON'], [['payer-1', 'seen\npayer-2  trusted\r\u2028']]);
    expect(text).to.equal('VALUE    REASON\npayer-1  seen\\npayer-2  trusted\\u000d\\u2028');
  });

  it('may have as many rows as a list has entries', () => {
    const rows = Array.from({ length: 100_000 }, (_, row) => [String(row)]);
    expect(table(['VALUE'], rows)).to.match(/\n99999$/);
  });
});
