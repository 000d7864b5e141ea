import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { draftCandidates, liveThroughJuly, Workplace } from '../../evidence/backtest/backtest-history.ts';

describe('rules backtest', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(liveThroughJuly);
    draftCandidates(place);
  });
  after(() => place.end());

  const run = (version: string, ...more: readonly string[]) =>
    place.scoring('rules', 'backtest', version, '--journal', place.path('j'), ...more);

  it('prints what changes, in aligned tables', async () => {
    const { code, stdout, stderr } = await run('p2.v11');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(1)).to.deep.equal([
      '13 decisions, 2026-07-01T00:00:00Z to 2026-07-06T05:07:23Z.',
      'Decided by p2.v10.',
      'Orders: 1 paid, 5 unpaid, 3 turned away, 2 unknown.',
      '1 of 13 verdicts change: 7.7 % (0.9 to 43.0).',
      'Bot flag: 1 -> 1 of 13 decisions; 0 newly flagged, 0 no longer.',
      'Client groups: no change.',
      'On the recorded facts, which no answer changes: unpaid orders stopped 0 -> 0 of 5; paid orders blocked 0 -> 0 and held back 1 -> 1 of 1; 3 more were turned away and prove nothing.',
      '',
      'Amounts',
      '                                      OUTCOME                  CURRENCY  ALL ORDERS  RECORDED  P2.V11',
      '  blocked at least once               paid                     EUR            10.50      0.00    0.00',
      '  blocked at least once               unpaid                   EUR            14.50      0.00    0.00',
      '  blocked at least once               turned away              EUR            22.00     22.00   22.00',
      '  blocked at least once               unknown                  EUR            10.50      0.00    0.00',
      '  blocked at least once               reversed, of the unpaid  EUR             0.00      0.00    0.00',
      '  held back by a wait, never blocked  paid                     EUR            10.50     10.50   10.50',
      '  held back by a wait, never blocked  unpaid                   EUR            14.50      0.00    0.00',
      '  held back by a wait, never blocked  turned away              EUR            22.00      0.00    0.00',
      '  held back by a wait, never blocked  unknown                  EUR            10.50      0.00    0.00',
      '  held back by a wait, never blocked  reversed, of the unpaid  EUR             0.00      0.00    0.00',
      '  granted no requisite                paid                     EUR            10.50      0.00    0.00',
      '  granted no requisite                unpaid                   EUR            14.50      0.00    0.00',
      '  granted no requisite                turned away              EUR            22.00     22.00   22.00',
      '  granted no requisite                unknown                  EUR            10.50      0.00    0.00',
      '  granted no requisite                reversed, of the unpaid  EUR             0.00      0.00    0.00',
      '',
      'Verdicts, and what became of the orders that the decisions are about',
      '  RECORDED         P2.V11   DECISIONS  PAID  UNPAID  TURNED AWAY  UNKNOWN',
      '  GET_NEW                           7     1       5            0        1',
      '  GET_SAME_STICKY                   1     0       0            0        1',
      '  WAIT             GET_NEW          1     1       0            0        0',
      '  WAIT                              1     1       0            0        0',
      '  BLOCK                             3     0       0            3        0',
      '',
      'Share of each verdict, 95 %',
      '                                RECORDED                 P2.V11',
      '  GET_NEW          53.8 % (23.1 to 81.9)  61.5 % (29.1 to 86.2)',
      '  GET_SAME_STICKY    7.7 % (0.7 to 50.6)    7.7 % (0.7 to 50.6)',
      '  WAIT              15.4 % (2.0 to 62.3)    7.7 % (0.9 to 43.0)',
      '  BLOCK             23.1 % (5.6 to 60.1)   23.1 % (5.6 to 60.1)',
      '',
      'Changes by rule',
      '  COUNT  PAID  UNPAID  TURNED AWAY  UNKNOWN  FROM  BY RULE          TO       BY RULE    ORDERS, FOR EXAMPLE',
      '      1     1       0            0        0  WAIT  asked-too-early  GET_NEW  otherwise  ann-2',
      '',
      'Orders',
      '                                      OUTCOME      ORDERS  RECORDED                     95 %  P2.V11                     95 %',
      '  blocked at least once               paid              1         0      0.0 % (0.0 to 79.3)       0      0.0 % (0.0 to 79.3)',
      '  blocked at least once               unpaid            5         0      0.0 % (0.0 to 43.4)       0      0.0 % (0.0 to 43.4)',
      '  blocked at least once               turned away       3         3  100.0 % (43.9 to 100.0)       3  100.0 % (43.9 to 100.0)',
      '  blocked at least once               unknown           2         0      0.0 % (0.0 to 65.8)       0      0.0 % (0.0 to 65.8)',
      '  held back by a wait, never blocked  paid              1         1  100.0 % (20.7 to 100.0)       1  100.0 % (20.7 to 100.0)',
      '  held back by a wait, never blocked  unpaid            5         0      0.0 % (0.0 to 43.4)       0      0.0 % (0.0 to 43.4)',
      '  held back by a wait, never blocked  turned away       3         0      0.0 % (0.0 to 56.1)       0      0.0 % (0.0 to 56.1)',
      '  held back by a wait, never blocked  unknown           2         0      0.0 % (0.0 to 65.8)       0      0.0 % (0.0 to 65.8)',
      '  granted no requisite                paid              1         0      0.0 % (0.0 to 79.3)       0      0.0 % (0.0 to 79.3)',
      '  granted no requisite                unpaid            5         0      0.0 % (0.0 to 43.4)       0      0.0 % (0.0 to 43.4)',
      '  granted no requisite                turned away       3         3  100.0 % (43.9 to 100.0)       3  100.0 % (43.9 to 100.0)',
      '  granted no requisite                unknown           2         0      0.0 % (0.0 to 65.8)       0      0.0 % (0.0 to 65.8)',
      '',
    ]);
  });

  it('prints one JSON object with stable members on request', async () => {
    const { stdout } = await run('p2.v11', '--json', '--mode', 'closed-loop');
    const printed = JSON.parse(stdout);
    expect(Object.keys(printed)).to.deep.equal([
      'kind',
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
      'changedShare',
      'mix',
      'outcomes',
      'reversals',
      'stopped',
      'assumption',
      'unseen',
      'waits',
      'otherwise',
      'undecidable',
      'heldOut',
      'reproduced',
      'emptyLists',
      'notes',
      'tables',
    ]);
    expect([printed.mode, printed.against, printed.changed]).to.deep.equal(['closed-loop', null, 2]);
  });

  it('names the facts that the records lack, and the way on', async () => {
    const { code, stdout } = await run('p2.v13');
    expect(code).to.equal(0);
    expect(stdout).to.include(
      '13 decisions cannot be decided again: what was recorded lacks clientsOnFingerprint(2d). Use --mode closed-loop, which counts these facts again.\nThere is no decision to compare.\n',
    );
  });

  it('says what history does not know of shared lists', async () => {
    expect((await run('p2.v17')).stdout).to.include(
      '13 decisions cannot be decided again: what was recorded lacks listed(blocked-devices). Who was on a shared list then is known only where a rule asked; try the version as a shadow.\n',
    );
    expect((await run('p2.v17', '--mode', 'closed-loop')).stdout).to.include(
      'In a replay nobody is on the shared list "blocked-devices": the inputs do not tell who was.\n',
    );
  });

  it('says when a difference cannot show on recorded facts', async () => {
    const { stdout } = await run('p2.v14');
    expect(stdout).to.include(
      'The versions differ in ladder, which recorded facts cannot show; use --mode closed-loop.\n',
    );
  });

  it('claims nothing about another ladder in closed-loop, and says what would show its effect', async () => {
    const { stdout } = await run('p2.v14', '--mode', 'closed-loop');
    expect(stdout).to.include(
      'Replayed payers come back when they did, whatever wait they are told.\nNo headline: waits are of another length, and when payers would have come back nobody knows. Try it on some of the payers beside the others: rules rollout p2.v14 --canary 10; "rules experiment" then shows what both are worth.\n',
    );
    expect(stdout).to.not.match(/orders stopped|granted no requisite/);
  });

  it('says when the beginning of the journal is missing', async () => {
    const lines = readFileSync(place.path('j'), 'utf8').split('\n');
    writeFileSync(place.path('later'), lines.slice(3).join('\n'));
    const { stdout } = await place.scoring(
      ...['rules', 'backtest', 'p2.v10', '--mode', 'closed-loop', '--journal', place.path('later')],
    );
    expect(stdout).to.match(
      /\nReplayed with every recorded outcome, the recorded versions repeat \d+ of 11 recorded verdicts/,
    );
  });

  it('refuses to guess the base when the version that decided is gone', async () => {
    const text = readFileSync(place.path('j'), 'utf8');
    writeFileSync(place.path('old'), text.replaceAll('"ruleVersion":"p2.v10"', '"ruleVersion":"p2.v9"'));
    const { code, stderr } = await place.scoring(
      ...['rules', 'backtest', 'p2.v11', '--mode', 'closed-loop', '--journal', place.path('old')],
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
