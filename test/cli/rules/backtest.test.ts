import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { draftCandidates, playJuly, Workplace } from '../../evidence/backtest/backtest-history.ts';

describe('rules backtest', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(playJuly);
    draftCandidates(place);
  });
  after(() => place.end());

  const run = (version: string, ...more: readonly string[]) =>
    place.scoring('rules', 'backtest', version, '--journal', place.path('j'), ...more);

  it('prints what it opens and closes, and what changes, in aligned tables', async () => {
    const { code, stdout, stderr } = await run('p2.v12');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(1)).to.deep.equal([
      '13 decisions, 2026-07-01T00:00:00Z to 2026-07-06T05:07:23Z.',
      'Decided by p2.v10.',
      'p2.v12: 1 of 13 verdicts change: 7.7 % (0.9 to 43.0).',
      'p2.v12 opens 0 orders and closes 1: 0 paid, 1 unpaid, 0 turned away, 0 unknown.',
      'No reversal was ever reported: whether payments last nobody knows, and none counts as mature.',
      'Replayed payers come back when they did, whatever wait they are told. Only those outcomes happen whose order a version grants.',
      '',
      'Earlier part, 2026-07-01T00:00:00Z to 2026-07-03T02:07:23Z: 1 paid, 4 unpaid, 0 turned away, 0 unknown',
      '                 UNPAID CLOSED                 95 %  PAID CLOSED                 95 %  PAID HELD BACK                 95 %  FRONT',
      '  the candidate              0  0.0 % (0.0 to 65.8)            0  0.0 % (0.0 to 79.3)               0  0.0 % (0.0 to 79.3)  *',
      '',
      'Later part, 2026-07-04T03:07:23Z to 2026-07-06T05:07:23Z: 0 paid, 1 unpaid, 3 turned away, 2 unknown',
      '                 UNPAID CLOSED                     95 %  PAID CLOSED  95 %  PAID HELD BACK  95 %  FRONT',
      '  the candidate              1  100.0 % (20.7 to 100.0)            0     -               0     -  *',
      '',
      'Amounts, later part, 95 % by a bootstrap over clients',
      '                 CURRENCY        UNPAID CLOSED          PAID CLOSED       PAID HELD BACK',
      '  the candidate  EUR       1.00 (0.00 to 3.00)  0.00 (0.00 to 0.00)  0.00 (0.00 to 0.00)',
      '',
      'Verdicts, and what became of the orders that the decisions are about',
      '  RECORDED         P2.V12  DECISIONS  PAID  UNPAID  TURNED AWAY  UNKNOWN',
      '  GET_NEW                          6     1       4            0        1',
      '  GET_NEW          BLOCK           1     0       1            0        0',
      '  GET_SAME_STICKY                  1     0       0            0        1',
      '  WAIT                             2     2       0            0        0',
      '  BLOCK                            3     0       0            3        0',
      '',
      'Changes by rule',
      '  COUNT  PAID  UNPAID  TURNED AWAY  UNKNOWN  FROM     BY RULE    TO     BY RULE         ORDERS, FOR EXAMPLE',
      '      1     0       1            0        0  GET_NEW  otherwise  BLOCK  client-blocked  bob-4',
      '',
    ]);
  });

  it('tries other values of a constant', async () => {
    const { stdout } = await run('p2.v10', '--vary', 'groups.blocked-by-unpaid-chain.unpaidChain=2..3');
    expect(stdout).to.match(/\n {2}2 +\d+ .*\n {2}3 +\d+ .*\n {2}4 \(now\) +\d+ /);
    const { code, stderr } = await run('p2.v10', '--vary', 'unpaidChain');
    expect({ code, stderr }).to.deep.equal({
      code: 2,
      stderr:
        'error: --vary is PATH=VALUES, like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s, unlike "unpaidChain"\n',
    });
  });

  it('prints one JSON object with stable members on request', async () => {
    const { stdout } = await run('p2.v11', '--json');
    expect(Object.keys(JSON.parse(stdout))).to.deep.equal([
      ...[
        'kind',
        'version',
        'digest',
        'against',
        'from',
        'to',
        'decisions',
        'gaps',
        'silences',
        'torn',
        'versions',
      ],
      ...['compared', 'reproduced', 'splitAt', 'parts', 'reversals', 'emptyLists', 'heldOut', 'candidates'],
      ...['transitions', 'changes', 'notes', 'tables'],
    ]);
  });

  it('says when the beginning of the journal is missing', async () => {
    const lines = readFileSync(place.path('j'), 'utf8').split('\n');
    writeFileSync(place.path('later'), lines.slice(3).join('\n'));
    const { stdout } = await place.scoring(
      ...['rules', 'backtest', 'p2.v10', '--journal', place.path('later')],
    );
    expect(stdout).to.match(/\nReplayed, the recorded versions repeat \d+ of 11 recorded verdicts/);
  });

  it('refuses to guess the base when the version that decided is gone', async () => {
    const text = readFileSync(place.path('j'), 'utf8');
    writeFileSync(place.path('old'), text.replaceAll('"ruleVersion":"p2.v10"', '"ruleVersion":"p2.v9"'));
    const { code, stderr } = await place.scoring(
      ...['rules', 'backtest', 'p2.v11', '--journal', place.path('old')],
    );
    expect(code).to.equal(2);
    expect(stderr).to.equal(
      'error: p2.v9 with digest 154de0e41169 decided, and this rule set is neither in RULES_DIR nor in the archive; name the base yourself: --against <version>\n',
    );
  });

  const refused: readonly (readonly [string, string, string])[] = [
    ['a line that is not JSON', 'Dear Ann,\n', 'the line is not JSON'],
    ['a line that is no object', '[]\n', 'the line is no journal entry: it must be an object'],
    [
      'an unknown kind of entry',
      '{"kind":"letter","at":1,"platform":"demo","clientIdKey":"ann"}\n',
      'the line is no journal entry: "kind" must be one of score, verdict, outcome, binding, override, waitEnded, erasure',
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

  it('refuses a missing file, a folder and an unknown version', async () => {
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
  });
});
