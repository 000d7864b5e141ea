import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { liveThroughJuly, Workplace } from '../../evidence/backtest/backtest-history.ts';

describe('rules backtest', () => {
  let place: Workplace;
  before(async () => {
    place = new Workplace();
    await liveThroughJuly(place);
    await place.scoring('journal', 'export', '--output', place.path('j'));
    place.draft('p2.v11', {
      file: 'verdicts.yaml',
      from: 'waitRemainingSeconds, operator: greaterThan, value: 0',
      to: 'waitRemainingSeconds, operator: greaterThan, value: 2',
    });
    place.draft('p2.v13', {
      file: 'bot-signals.yaml',
      from: 'clientsOnFingerprint, params: { window: 24h }',
      to: 'clientsOnFingerprint, params: { window: 48h }',
    });
    place.draft('p2.v14', { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[20s, 5m, 30m]' });
  });
  after(() => place.end());

  const run = (version: string, ...more: readonly string[]) =>
    place.scoring('rules', 'backtest', version, '--journal', place.path('j'), ...more);

  it('prints what changes, in aligned tables', async () => {
    const { code, stdout, stderr } = await run('p2.v11');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(1)).to.deep.equal([
      'Journal: 30 records, 13 decisions decided by p2.v10, 2026-07-01T00:00:00Z to 2026-07-06T05:07:23Z.',
      '',
      '1 of 13 verdicts change (7.69 %).',
      '',
      'Verdicts: rows say what the base decides, columns what the version decides',
      '  recorded \\ p2.v11  GET_NEW  GET_SAME_STICKY  WAIT  BLOCK',
      '  GET_NEW                  7                0     0      0',
      '  GET_SAME_STICKY          0                1     0      0',
      '  WAIT                     1                0     1      0',
      '  BLOCK                    0                0     0      3',
      '',
      'Changes by rule',
      '  COUNT  FROM  BY RULE          TO       BY RULE    ORDERS, FOR EXAMPLE',
      '      1  WAIT  asked-too-early  GET_NEW  otherwise  ann-2',
      '',
      'Bot flag: 1 -> 1 of 13 decisions; 0 newly flagged, 0 no longer.',
      'Client groups: no change.',
      '',
      'Outcomes',
      '                                    ORDERS      RECORDED        p2.v11',
      '  paid orders held back or blocked       1  1 (100.00 %)  1 (100.00 %)',
      '    held back (WAIT)                     1  1 (100.00 %)  1 (100.00 %)',
      '    blocked                              1    0 (0.00 %)    0 (0.00 %)',
      '  unpaid attempts stopped                6   1 (16.67 %)   1 (16.67 %)',
      '',
      'Cooldown ladder: who came back after a wait and paid',
      '  RULE SET  LEVEL  WAITS  CLIENTS     CAME BACK  CAME BACK AND PAID',
      '  recorded      1      1        1  1 (100.00 %)        1 (100.00 %)',
      '  recorded      2      1        1  1 (100.00 %)        1 (100.00 %)',
      '  p2.v11        1      1        1  1 (100.00 %)        1 (100.00 %)',
      '',
    ]);
  });

  it('prints one JSON object with stable members on request', async () => {
    const { stdout } = await run('p2.v11', '--json', '--mode', 'closed-loop');
    const printed = JSON.parse(stdout);
    expect(Object.keys(printed)).to.deep.equal([
      'ruleVersion',
      'digest',
      'against',
      'mode',
      'journal',
      'compared',
      'changed',
      'transitions',
      'changes',
      'bots',
      'groups',
      'waits',
      'outcomes',
      'ladder',
      'undecidable',
      'reproduced',
    ]);
    expect([printed.mode, printed.against, printed.changed]).to.deep.equal(['closed-loop', null, 2]);
  });

  it('names the facts that the records lack, and the way on', async () => {
    const { code, stdout } = await run('p2.v13');
    expect(code).to.equal(0);
    expect(stdout).to.include(
      'Note: 13 decisions cannot be decided again: their records lack clientsOnFingerprint(2d). Use --mode closed-loop, which counts these facts anew.\n\nThere is no decision to compare.\n',
    );
  });

  it('says when a difference cannot show on recorded facts', async () => {
    const { stdout } = await run('p2.v14');
    expect(stdout).to.include(
      'Note: The versions differ in ladder, which recorded facts cannot show; use --mode closed-loop.\n',
    );
  });

  it('says when the journal does not begin at the beginning', async () => {
    const lines = readFileSync(place.path('j'), 'utf8').split('\n');
    writeFileSync(place.path('later'), lines.slice(3).join('\n'));
    const { stdout } = await place.scoring(
      ...['rules', 'backtest', 'p2.v10', '--mode', 'closed-loop', '--journal', place.path('later')],
    );
    expect(stdout).to.match(
      /Note: Lived through again, the recorded versions repeat \d+ of 11 recorded verdicts/,
    );
  });

  it('refuses to guess the base when the version that decided is not there any more', async () => {
    const text = readFileSync(place.path('j'), 'utf8');
    writeFileSync(place.path('old'), text.replaceAll('"ruleVersion":"p2.v10"', '"ruleVersion":"p2.v9"'));
    const { code, stderr } = await place.scoring(
      ...['rules', 'backtest', 'p2.v11', '--mode', 'closed-loop', '--journal', place.path('old')],
    );
    expect(code).to.equal(2);
    expect(stderr).to.equal(
      `error: the journal was decided by p2.v9, and there is no sound rule set at ${join(place.rulesDir, 'p2.v9')}; name the base yourself: --against <version>\n`,
    );
  });

  const refused: readonly (readonly [string, string, string])[] = [
    ['a line that is not JSON', 'Dear Ann,\n', 'the line is not JSON'],
    ['a line that is no object', '[]\n', 'the line is no journal entry: it must be an object'],
    [
      'an unknown kind of entry',
      '{"kind":"letter","at":1,"platform":"demo","clientIdKey":"ann"}\n',
      'the line is no journal entry: "kind" must be one of score, verdict, outcome, binding, override, erasure',
    ],
    [
      'a verdict without its facts',
      '{"kind":"verdict","at":1,"platform":"demo","clientIdKey":"ann","decision":{}}\n',
      'the line is no journal entry: "decision" must be a decision with its facts',
    ],
  ];
  for (const [title, line, message] of refused) {
    it(`refuses ${title} and names the line`, async () => {
      writeFileSync(place.path('bad'), readFileSync(place.path('j')));
      appendFileSync(place.path('bad'), line);
      const { code, stderr } = await place.scoring(
        ...['rules', 'backtest', 'p2.v11', '--journal', place.path('bad')],
      );
      expect({ code, stderr }).to.deep.equal({
        code: 2,
        stderr: `error: ${place.path('bad')}:31  ${message}\n`,
      });
    });
  }

  it('refuses a file without a complete line', async () => {
    writeFileSync(place.path('short'), 'Dear Ann');
    const { code, stderr } = await place.scoring(
      ...['rules', 'backtest', 'p2.v11', '--journal', place.path('short')],
    );
    expect({ code, stderr }).to.deep.equal({
      code: 2,
      stderr: `error: ${place.path('short')}:1  the file has no complete line; this is not a journal\n`,
    });
  });

  it('refuses a missing file, a folder and an unknown version or mode', async () => {
    const none = await place.scoring('rules', 'backtest', 'p2.v11', '--journal', place.path('none'));
    expect([none.code, none.stderr]).to.deep.equal([
      2,
      `error: there is no file ${place.path('none')}; write one: journal export --output ${place.path('none')}\n`,
    ]);
    const folder = await place.scoring('rules', 'backtest', 'p2.v11', '--journal', place.folder);
    expect([folder.code, folder.stderr]).to.deep.equal([
      2,
      `error: ${place.folder} is a folder; --journal wants a file\n`,
    ]);
    expect((await run('p2.v99')).code).to.equal(2);
    expect((await run('p2.v11', '--mode', 'dreamt')).code).to.equal(2);
  });
});
