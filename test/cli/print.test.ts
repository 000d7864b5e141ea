import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { printable, printableLine } from '../../src/cli/print.ts';

const CLI = join(import.meta.dirname, '..', '..', 'src', 'cli');

describe('the output of commands', () => {
  it('escapes control characters, and leaves words of every language as they are', () => {
    expect(printable('a\u001b[31mred\u009b2J')).to.equal('a\\u001b[31mred\\u009b2J');
    expect(printable('right-to-left \u202e and back')).to.equal('right-to-left \\u202e and back');
    expect(printable('Ärger, 決済, оплата, 😀')).to.equal('Ärger, 決済, оплата, 😀');
    expect(printableLine('one\ntwo')).to.equal('one\\ntwo');
  });

  it('has no control character but line ends, whatever the input, and JSON stays the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.to.match(/[^\P{Cc}\n]/u);
        expect(JSON.parse(printable(JSON.stringify({ text })))).to.deep.equal({ text });
      }),
    );
  });

  it('goes through print alone', () => {
    const files = readdirSync(CLI, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const direct = files.filter((name) => /\bconsole\./.test(readFileSync(join(CLI, name), 'utf8')));
    expect(direct).to.deep.equal(['print.ts']);
  });
});
