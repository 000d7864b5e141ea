import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { UsageError } from '#workbench/commands/exit.ts';
import { parseTime } from '#workbench/commands/options.ts';
import { escapeControls, escapeToLine, formatTable } from '#workbench/commands/print.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const CLI = join(ROOT, 'src', 'workbench', 'commands');

describe('the output of commands', () => {
  it('escapes control characters, and leaves words of every language as they are', () => {
    expect(escapeControls('a\u001b[31mred\u009b2J')).to.equal('a\\u001b[31mred\\u009b2J');
    expect(escapeControls('right-to-left \u202e and back')).to.equal('right-to-left \\u202e and back');
    expect(escapeControls('Ärger, 決済, оплата, 😀')).to.equal('Ärger, 決済, оплата, 😀');
    expect(escapeToLine('one\ntwo')).to.equal('one\\ntwo');
  });

  it('has no control character but line ends, whatever the input, and JSON stays the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(escapeControls(text)).not.to.match(/[^\P{Cc}\n]/u);
        expect(JSON.parse(escapeControls(JSON.stringify({ text })))).to.deep.equal({ text });
      }),
    );
  });

  it('is coloured only where the program says so, also if a text has the marks of colours', () => {
    const program = `
      import { markTone, print } from '#workbench/commands/print.ts';
      print('payer \\uFDD1red\\uFDD4 ' + markTone('fail', 'one \\uFDD4 two'));`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, FORCE_COLOR: '1', NO_COLOR: undefined },
    });
    expect(stdout).to.equal('payer \\ufdd1red\\ufdd4 \u001b[31mone \\ufdd4 two\u001b[39m\n');
  });

  it('goes through print alone', () => {
    const files = readdirSync(CLI, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    );
    const direct = files.filter((name) => /\bconsole\./.test(readFileSync(join(CLI, name), 'utf8')));
    expect(direct).to.deep.equal(['print.ts']);
  });
});

describe('a table for people', () => {
  it('has aligned columns, numbers by their last digit', () => {
    const text = formatTable(
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
    const text = formatTable(['VALUE', 'REASON'], [['payer-1', 'seen\npayer-2  trusted\r\u2028']]);
    expect(text).to.equal('VALUE    REASON\npayer-1  seen\\npayer-2  trusted\\u000d\\u2028');
  });

  it('may have as many rows as a list has entries', () => {
    const rows = Array.from({ length: 100_000 }, (_, row) => [String(row)]);
    expect(formatTable(['VALUE'], rows)).to.match(/\n99999$/);
  });
});

describe('a time on the command line', () => {
  const TIMES: readonly (readonly [string, string])[] = [
    ['2026-11-01', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01T10:00:00Z', '2026-11-01T10:00:00.000Z'],
    ['2026-11-01T10:00+02:00', '2026-11-01T08:00:00.000Z'],
  ];
  for (const [text, moment] of TIMES) {
    it(`may be ${text}`, () => {
      expect(new Date(parseTime(text, '--from') ?? 0).toISOString()).to.equal(moment);
    });
  }

  for (const text of [
    '2026-11-01T10:00:00',
    '2026-11-01 10:00',
    '7',
    'Nov 1',
    '2026-02-30',
    '1793520000',
    '',
  ]) {
    it(`may not be ${JSON.stringify(text)}, which is malformed or depends on the time zone`, () => {
      expect(() => parseTime(text, '--from')).to.throw(
        UsageError,
        `--from is "${text}"; it must be a time like 2026-11-01 (from midnight UTC), 2026-11-01T10:00:00Z or 2026-11-01T11:00:00+01:00`,
      );
    });
  }
});
