import { expect } from 'chai';
import { playJuly, Workplace } from '../../../evidence/backtest/backtest-history.ts';

describe('rules report', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(playJuly);
  });
  after(() => place.end());

  it('prints the worth of each rule, with intervals, unknown outcomes and the span of time', async () => {
    const { code, stdout, stderr } = await place.scoring('rules', 'report', '--journal', place.path('j'));
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
      'decisive',
      'orders',
      'unpaidShare',
      'lift',
      'amount',
      'holdout',
      'net',
      'by',
    ]);
  });

  it('sorts each table by a column that it has, also in JSON, and refuses an unknown column', async () => {
    const run = (...args: readonly string[]) =>
      place.scoring('rules', 'report', '--journal', place.path('j'), '--sort', ...args);
    const text = await run('paid');
    const rules = text.stdout.split('\n').filter((line) => /^ {2}verdicts\.yaml .* EUR /.test(line));
    expect(rules[0]).to.match(/ verdicts.yaml +\S+ +EUR +10.50 +10.50 +10.50 /);
    const { tables } = JSON.parse((await run('Decisive', '--json')).stdout);
    const byRule = tables.find((table: { name: string }) => table.name === 'rules');
    const column = byRule.columns.findIndex((one: { name: string }) => one.name === 'decisive');
    const decisive: readonly (number | null)[] = byRule.rows.map(
      (row: readonly (number | null)[]) => row[column],
    );
    const known = decisive.filter((one) => one !== null);
    expect(decisive).to.deep.equal([
      ...known.toSorted((a, b) => b - a),
      ...decisive.filter((one) => one === null),
    ]);
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
