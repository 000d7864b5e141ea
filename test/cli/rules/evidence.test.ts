import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { draftCandidates, playJuly, Workplace } from '../../evidence/backtest/backtest-history.ts';

describe('evidence by command', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(playJuly);
    draftCandidates(place);
    place.draft('p2.v18', { file: 'groups.yaml', from: 'value: 4 }', to: 'value: 2 }' });
  });
  after(() => place.end());

  const rules = (...args: readonly string[]) => place.scoring('rules', ...args);
  const onJournal = (command: string, ...more: readonly string[]) =>
    rules(command, '--journal', place.path('j'), ...more);
  const withText = (text: string) => {
    writeFileSync(place.path('other'), text);
    return place.path('other');
  };
  const july = () => readFileSync(place.path('j'), 'utf8');

  it('rules backtest prints what it opens and closes, and what changes, in aligned tables', async () => {
    const { code, stdout, stderr } = await onJournal('backtest', 'p2.v12');
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

  it('rules backtest tries other values of a constant', async () => {
    const vary = (text: string) => onJournal('backtest', 'p2.v10', '--vary', text);
    const { stdout } = await vary('groups.blocked-by-unpaid-chain.unpaidChain=2..3');
    expect(stdout).to.match(/\n {2}2 +\d+ .*\n {2}3 +\d+ .*\n {2}4 \(now\) +\d+ /);
    const { code, stderr } = await vary('unpaidChain');
    expect(code).to.equal(2);
    expect(stderr).to.match(/^error: --vary is PATH=VALUES, like .*, unlike "unpaidChain"\n$/);
  });

  it('rules backtest prints one JSON object with stable members on request', async () => {
    const { stdout } = await onJournal('backtest', 'p2.v11', '--json');
    const span = 'kind version digest against from to decisions gaps silences torn versions';
    const replayed =
      'compared reproduced splitAt parts reversals emptyLists heldOut candidates transitions changes';
    expect(Object.keys(JSON.parse(stdout)).join(' ')).to.equal(`${span} ${replayed} notes tables`);
  });

  it('rules backtest says when the beginning of the journal is missing', async () => {
    const later = withText(july().split('\n').slice(3).join('\n'));
    const { stdout } = await rules('backtest', 'p2.v10', '--journal', later);
    expect(stdout).to.match(/\nReplayed, the recorded versions repeat \d+ of 11 recorded verdicts/);
  });

  it('rules backtest refuses to guess the base when the version that decided is gone', async () => {
    const old = withText(july().replaceAll('"ruleVersion":"p2.v10"', '"ruleVersion":"p2.v9"'));
    const { code, stderr } = await rules('backtest', 'p2.v11', '--journal', old);
    expect([code, stderr]).to.deep.equal([
      2,
      'error: p2.v9 with digest 154de0e41169 decided, and this rule set is neither in RULES_DIR nor in the archive; name the base yourself: --against <version>\n',
    ]);
  });

  const about = '"at":1,"platform":"demo","clientIdKey":"ann"';
  for (const [title, line, message] of [
    ['is not JSON', 'Dear Ann,', 'the line is not JSON'],
    ['is no object', '[]', 'the line is no journal entry: it must be an object'],
    [
      'is an unknown kind of entry',
      `{"kind":"letter",${about}}`,
      'the line is no journal entry: "kind" must be one of score, verdict, outcome, binding, override, waitEnded, erasure',
    ],
    [
      'is a verdict without its facts',
      `{"kind":"verdict",${about},"decision":{}}`,
      'the line is no journal entry: "decision" must be a decision with its facts',
    ],
  ] as const)
    it(`is refused from a line that ${title}, which is named`, async () => {
      const bad = withText(july());
      appendFileSync(bad, `${line}\n`);
      const { code, stderr } = await rules('backtest', 'p2.v11', '--journal', bad);
      expect([code, stderr]).to.deep.equal([2, `error: ${bad}:31  ${message}\n`]);
    });

  it('is refused from no journal, a bad time and an unknown version, with what to do', async () => {
    const [none, short] = [place.path('none'), withText('Dear Ann')];
    const folder = place.path('data', 'archive');
    for (const [journal, message] of [
      [['--journal', none], `there is no file ${none}; write one: journal export --output ${none}`],
      [['--journal', place.folder], `${place.folder} is a folder; --journal wants a file`],
      [['--journal', short], `${short}:1  the file has no complete line; this is not a journal`],
      [
        ['--journal', place.path('j'), '--from', 'yesterday'],
        '--from is "yesterday"; it must be a time like 2026-11-01 (from midnight UTC), 2026-11-01T10:00:00Z or 2026-11-01T11:00:00+01:00',
      ],
      [
        [],
        `there is no archive at ${folder} yet; a running service writes it, or name an export: --journal <file>`,
      ],
    ] as const)
      expect(await rules('report', ...journal)).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `error: ${message}\n`,
      });
    expect((await onJournal('backtest', 'p2.v99')).code).to.equal(2);
    const { code, stderr } = await onJournal('experiment', 'newest');
    expect(code).to.equal(2);
    expect(stderr).to.include('newest');
  });

  it('rules report prints the worth of each rule, with intervals, unknown outcomes and the span of time', async () => {
    const { code, stdout, stderr } = await onJournal('report');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(1, 24)).to.deep.equal([
      '13 decisions, 2026-07-01T00:00:00Z to 2026-07-06T05:07:23Z.',
      'Orders: 1 paid, 5 unpaid, 3 turned away, 2 unknown. Of those with an outcome 83.3 % (1.2 to 100.0) are unpaid.',
      'Turned away: 3 orders were asked for, never granted and not paid. What was reported of such orders proves nothing.',
      'No reversal was ever reported: whether payments last nobody knows, and none counts as mature.',
      'Matched nothing: trusted-by-decision, stable-history, has-paid, honeypot, crowded-ip, very-crowded-ip, relentless-requests, frequent-requests, ignores-waits, no-javascript, automated-user-agent, missing-user-agent, verdict-without-score, method-churn, amount-churn, device-churn.',
      'Money by rule: an order counts under every rule that it met, also where another decided, so rows overlap and do not add up to the total. Turned away is what was asked, mostly again and again by the same payers, and no cost; what a rule costs its holdout shows, and without one it is not known: give it a holdout.',
      'Intervals are of 95 %, by client, or by device where a rule is about shared ones. What would have become of orders that were blocked nobody knows; a rule with a holdout shows it.',
      'The price of a wait counts the 24 hours after it was told. Who asked before that stands again on the level that it led to. No comparison: what they would have done without the wait nobody knows; an experiment with another ladder shows it.',
      '',
      'Money',
      '  CURRENCY  ASKED  GRANTED   PAID  REVERSED  TURNED AWAY  UNPAID  UNKNOWN',
      '  EUR       57.50    35.50  10.50      0.00        22.00   14.50    10.50',
      '',
      'Money by verdict rule',
      '  FILE           RULE                  CURRENCY  ASKED  GRANTED   PAID  REVERSED  TURNED AWAY  UNPAID    UNKNOWN',
      '  verdicts.yaml  client-blocked        EUR       11.50     0.00   0.00      0.00        11.50    0.00       0.00',
      '  verdicts.yaml  bot-blocked           EUR       10.50     0.00   0.00      0.00        10.50    0.00       0.00',
      '  verdicts.yaml  asked-too-early       EUR       10.50    10.50  10.50      0.00         0.00    0.00       0.00',
      '  verdicts.yaml  attempt-unpaid        EUR       10.50    10.50  10.50      0.00         0.00    0.00       0.00',
      '  verdicts.yaml  show-bound-requisite  EUR       10.50    10.50   0.00      0.00         0.00    0.00      10.50',
      '  verdicts.yaml  wait-served           EUR       10.50    10.50  10.50      0.00         0.00    0.00       0.00',
      '  verdicts.yaml  otherwise             EUR       14.50    14.50   0.00      0.00         0.00   14.50  0.0000001',
      '',
    ]);
  });

  it('rules report prints one JSON object with stable members on request, of a version that is named', async () => {
    const { stdout } = await onJournal('report', 'p2.v18', '--json', '--by', 'day');
    const { rules: all, ...rest } = JSON.parse(stdout);
    expect([rest.version, rest.decisions, rest.ownDecisions]).to.deep.equal(['p2.v18', 13, 0]);
    expect(Object.keys(rest)).to.include.members(['from', 'to', 'orders', 'gaps', 'notes']);
    expect(rest.tables.at(-1)).to.deep.include({ name: 'slices', title: 'By day' });
    expect(Object.keys(all[0]).join(' ')).to.equal(
      'file name matched decided decisive orders amount unpaidShare lift holdout net by',
    );
  });

  it('rules report sorts each table by a column that it has, also in JSON, and refuses an unknown column', async () => {
    const run = (...args: readonly string[]) => onJournal('report', 'p2.v10', '--sort', ...args);
    const text = await run('paid');
    const verdicts = text.stdout.split('\n').filter((line) => /^ {2}verdicts\.yaml .* EUR /.test(line));
    expect(verdicts[0]).to.match(/ verdicts.yaml +\S+ +EUR +10.50 +10.50 +10.50 /);
    const { tables } = JSON.parse((await run('Decisive', '--json')).stdout);
    // The table may be sorted otherwise, so its heading names no order.
    const titles = tables.map(({ title }: { title: string }) => title);
    expect(titles.filter((title: string) => title.endsWith(' first'))).to.deep.equal([]);
    expect(titles).to.include('Money by verdict rule');
    const byRule = tables.find((table: { name: string }) => table.name === 'rules');
    const column = byRule.columns.findIndex((one: { name: string }) => one.name === 'decisive');
    const decisive: readonly (number | null)[] = byRule.rows.map(
      (row: readonly (number | null)[]) => row[column],
    );
    const known = decisive.filter((one) => one !== null);
    const unknown = decisive.filter((one) => one === null);
    expect(decisive).to.deep.equal([...known.toSorted((a, b) => b - a), ...unknown]);
    expect(new Set(known).size).to.be.above(1);
    const { code, stderr } = await run('price');
    expect(code).to.equal(2);
    expect(stderr).to.match(
      /^error: --sort is "price"; it must be one of .*currency, asked, granted, paid, .*lift/,
    );
  });

  it('rules drift prints both parts of the time, each share and figure with its interval', async () => {
    const { code, stdout } = await onJournal('drift', '--split', '2026-07-03');
    expect(code).to.equal(0);
    expect(stdout).to.include('The later part begins at 2026-07-03T00:00:00Z.');
    expect(stdout).to.match(/BLOCK +\d+\.\d % \(\d+\.\d to \d+\.\d\) +\d+\.\d % \(\d+\.\d to \d+\.\d\)\n/);
    expect(stdout).to.match(/orders with an unknown outcome +\d+ +\d+\n/);
    expect(stdout).to.include('Payments of the later part may still be reported: until then');
    expect(stdout).to.match(/Brier score +0\.\d{4} \(0\.\d{4} to 0\.\d{4}\)/);
  });

  it('rules drift says of a time without decisions that there are none', async () => {
    const { code, stdout } = await onJournal('drift', '--from', '2030-01-01');
    expect(code).to.equal(0);
    expect(stdout).to.include('\nThere is no decision within this time.\n');
    expect(stdout).not.to.include('1970');
  });

  it('rules experiment says how to begin a trial where there was none, as text and as JSON', async () => {
    const { code, stdout } = await onJournal('experiment', 'p2.v11', '--as-of', '2026-08-01T00:00:00Z');
    expect(code).to.equal(0);
    expect(stdout).to.include('No version was on trial within this time. Begin with: rules rollout p2.v11');
    const { arms, differences, recommendation } = JSON.parse(
      (await onJournal('experiment', '--json')).stdout,
    );
    expect({ arms, differences, recommendation }).to.deep.equal({
      arms: [],
      differences: [],
      recommendation: { version: null, takeBack: [], errorBound: 0.01 },
    });
  });
});
