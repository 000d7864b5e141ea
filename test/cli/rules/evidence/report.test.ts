import { expect } from 'chai';
import { liveThroughJuly, Workplace } from '../../../evidence/backtest/backtest-history.ts';

describe('rules report', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(liveThroughJuly);
  });
  after(() => place.end());

  it('prints the worth of each rule, with intervals, unknown outcomes and the span of time', async () => {
    const { code, stdout, stderr } = await place.scoring('rules', 'report', '--journal', place.path('j'));
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(1, 33)).to.deep.equal([
      '13 decisions, 2026-07-01T00:00:00Z to 2026-07-06T05:07:23Z.',
      'Orders: 1 paid, 5 unpaid, 3 turned away, 2 unknown. Of those with an outcome 83.3 % (1.2 to 100.0) are unpaid.',
      'Turned away: 3 orders were asked for, never granted and not paid. What was reported of such orders proves nothing.',
      'No reversal was ever reported: whether payments last nobody knows, and none counts as mature.',
      'Matched nothing: trusted-by-decision, stable-history, has-paid, honeypot, crowded-ip, very-crowded-ip, relentless-requests, frequent-requests, ignores-waits, no-javascript, automated-user-agent, missing-user-agent, verdict-without-score, method-churn, amount-churn, device-churn.',
      'Money by rule: an order counts under every rule that it met, also where another decided, so rows overlap and do not add up to the total. Rules of groups and bot signals refuse nobody themselves; they are listed by the orders of the clients they matched.',
      'Intervals are of 95 %, by client. What would have become of orders that were blocked nobody knows; a rule with a holdout shows it.',
      'The price of a wait counts the 24 hours after it was told. Who asked before that stands again on the rung that it led to. No comparison: what they would have done without the wait nobody knows; an experiment with another ladder shows it.',
      'After a wait counts the next requisite of the same client within 24 hours, for this order or another, and its payment within these, each order once. No comparison: what these clients would have done without the wait nobody knows.',
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
      'Money by rule of a group or bot signal',
      '  FILE              RULE                     CURRENCY  ASKED  GRANTED   PAID  REVERSED  TURNED AWAY  UNPAID    UNKNOWN',
      '  groups.yaml       blocked-by-decision      EUR       10.50     0.00   0.00      0.00        10.50    0.00       0.00',
      '  groups.yaml       otherwise                EUR       35.50    25.00  10.50      0.00        10.50   14.50  0.0000001',
      '  bot-signals.yaml  shared-fingerprint       EUR       10.50     0.00   0.00      0.00        10.50    0.00       0.00',
      '  groups.yaml       blocked-by-unpaid-chain  EUR        1.00     0.00   0.00      0.00         1.00    0.00       0.00',
      '  groups.yaml       bound-to-requisite       EUR       10.50    10.50   0.00      0.00         0.00    0.00      10.50',
      '',
    ]);
  });

  it('prints one JSON object with stable members on request, of a version that is named', async () => {
    place.draft('p2.v11', { file: 'groups.yaml', from: 'value: 4 }', to: 'value: 2 }' });
    const { stdout } = await place.scoring(
      ...['rules', 'report', 'p2.v11', '--journal', place.path('j'), '--json', '--by', 'day'],
    );
    const { rules, ...rest } = JSON.parse(stdout);
    expect([rest.version, rest.decisions, rest.ownDecisions]).to.deep.equal(['p2.v11', 13, 0]);
    expect(Object.keys(rest)).to.include.members(['from', 'to', 'orders', 'gaps', 'notes']);
    expect(rest.tables.at(-1)).to.deep.include({ name: 'slices', title: 'By day' });
    expect(Object.keys(rules[0])).to.deep.equal([
      'file',
      'name',
      'matched',
      'decided',
      'sole',
      'orders',
      'unpaidShare',
      'lift',
      'amount',
      'afterWait',
      'holdout',
      'net',
      'by',
    ]);
  });

  it('sorts each table by a column that it has, also in JSON, and refuses an unknown column', async () => {
    const run = (...args: readonly string[]) =>
      place.scoring('rules', 'report', '--journal', place.path('j'), '--sort', ...args);
    const text = await run('paid');
    const rules = text.stdout
      .split('\n')
      .filter((line) => /^ {2}(groups|bot-signals)\.yaml .* EUR /.test(line));
    expect(rules[0]).to.match(/ groups.yaml +otherwise +EUR +35.50 +25.00 +10.50 /);
    const { tables } = JSON.parse((await run('Sole', '--json')).stdout);
    const byRule = tables.find((table: { name: string }) => table.name === 'rules');
    const column = byRule.columns.findIndex((one: { name: string }) => one.name === 'sole');
    const sole: readonly (number | null)[] = byRule.rows.map(
      (row: readonly (number | null)[]) => row[column],
    );
    const known = sole.filter((one) => one !== null);
    expect(sole).to.deep.equal([...known.toSorted((a, b) => b - a), ...sole.filter((one) => one === null)]);
    expect(new Set(known).size).to.be.above(1);
    const { code, stderr } = await run('price');
    expect(code).to.equal(2);
    expect(stderr).to.match(
      /^error: --sort is "price"; it must be one of .*currency, asked, granted, paid, .*lift/,
    );
  });

  it('has no order in the heading of a table, which may be sorted otherwise', async () => {
    const { stdout } = await place.scoring(
      ...['rules', 'report', '--journal', place.path('j'), '--json', '--sort', 'granted'],
    );
    const titles = JSON.parse(stdout).tables.map(({ title }: { title: string }) => title);
    expect(titles.filter((title: string) => title.endsWith(' first'))).to.deep.equal([]);
    expect(titles).to.include('Money by verdict rule');
  });

  it('names what is wrong: a missing file or archive, a bad time, a line that is no entry', async () => {
    const run = async (...args: readonly string[]) => {
      const { code, stderr } = await place.scoring('rules', 'report', ...args);
      return { code, stderr };
    };
    expect(await run('--journal', place.path('none'))).to.deep.equal({
      code: 2,
      stderr: `error: there is no file ${place.path('none')}; write one: journal export --output ${place.path('none')}\n`,
    });
    expect(await run('--journal', place.path('j'), '--from', 'yesterday')).to.deep.equal({
      code: 2,
      stderr:
        'error: --from is "yesterday"; it must be a time like 2026-11-01 (from midnight UTC), 2026-11-01T10:00:00Z or 2026-11-01T11:00:00+01:00\n',
    });
    expect(await run()).to.deep.equal({
      code: 2,
      stderr: `error: there is no archive at ${place.path('data', 'archive')} yet; a running service writes it, or name an export: --journal <file>\n`,
    });
  });
});
