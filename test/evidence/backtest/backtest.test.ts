import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { Aftermath } from '../../../src/evidence/backtest/aftermath.ts';
import { type BacktestMode, type BacktestReport, backtest } from '../../../src/evidence/backtest/backtest.ts';
import type { RuleSet } from '../../../src/rules/rule-set.ts';
import { liveThroughJuly, Workplace } from './backtest-history.ts';

describe('a backtest', () => {
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
    place.draft('p2.v12', {
      file: 'groups.yaml',
      from: 'unpaidChain, operator: greaterThanInclusive, value: 4',
      to: 'unpaidChain, operator: greaterThanInclusive, value: 3',
    });
    place.draft('p2.v13', {
      file: 'bot-signals.yaml',
      from: 'clientsOnFingerprint, params: { window: 24h }',
      to: 'clientsOnFingerprint, params: { window: 48h }',
    });
    place.draft('p2.v14', { file: 'ladder.yaml', from: '[30s, 5m, 30m]', to: '[20s, 5m, 30m]' });
    place.draft(
      'p2.v16',
      { file: 'ruleset.yaml', from: 'currency: EUR', to: 'currency: USD' },
      {
        file: 'verdicts.yaml',
        from: '{ fact: attemptOpen, operator: equal, value: true }',
        to: '{ fact: currency, operator: equal, value: USD }',
      },
    );
    place.draft('p2.v15', { file: 'bot-signals.yaml', from: 'threshold: 4', to: 'threshold: 5' });
  });
  after(() => place.end());

  function run(version: string, mode: BacktestMode, against: string | null = null, path = place.path('j')) {
    const rulesOf = (): RuleSet => place.rules('p2.v10');
    const base = against === null ? null : place.rules(against);
    return backtest({ path, candidate: place.rules(version), against: base, mode, rulesOf });
  }

  function fields({ compared, changed, changes }: BacktestReport) {
    return { compared, changed, changes };
  }

  for (const mode of ['recorded', 'closed-loop'] as const) {
    it(`finds no change when the version that decided decides again (${mode})`, () => {
      const report = run('p2.v10', mode);
      expect(fields(report)).to.deep.equal({ compared: 13, changed: 0, changes: [] });
      expect(report.bots).to.deep.equal({ base: 1, candidate: 1, gained: 0, lost: 0 });
      expect(report.groups).to.deep.equal([]);
      expect(report.ladder.candidate).to.deep.equal(report.ladder.base);
      expect(report.transitions.GET_NEW.GET_NEW).to.equal(7);
      expect(report.transitions.GET_SAME_STICKY.GET_SAME_STICKY).to.equal(1);
      expect(report.transitions.WAIT.WAIT).to.equal(2);
      expect(report.transitions.BLOCK.BLOCK).to.equal(3);
    });
  }

  it('repeats every recorded verdict when it lives through the journal', () => {
    expect(run('p2.v10', 'closed-loop').reproduced).to.equal(13);
  });

  it('tells a changed verdict by rule with the order it happened to', () => {
    expect(fields(run('p2.v11', 'recorded'))).to.deep.equal({
      compared: 13,
      changed: 1,
      changes: [
        {
          from: 'WAIT',
          to: 'GET_NEW',
          fromRule: 'asked-too-early',
          toRule: 'otherwise',
          count: 1,
          samples: ['ann-2'],
        },
      ],
    });
  });

  it('lets a changed verdict change what follows only in closed-loop', () => {
    const recorded = run('p2.v11', 'recorded').changes.map(({ from, to }) => `${from} -> ${to}`);
    const closed = run('p2.v11', 'closed-loop').changes.map(({ from, to }) => `${from} -> ${to}`);
    expect(recorded).to.deep.equal(['WAIT -> GET_NEW']);
    // Granted 2 s early, the attempt is open when Ann comes back: she has to wait then.
    expect(closed).to.have.members(['WAIT -> GET_NEW', 'GET_NEW -> WAIT']);
  });

  it('compares with what another version gives on the same facts', () => {
    const report = run('p2.v11', 'recorded', 'p2.v11');
    expect({ ...fields(report), against: report.against }).to.deep.equal({
      compared: 13,
      changed: 0,
      changes: [],
      against: 'p2.v11',
    });
  });

  it('counts paid orders that wait and unpaid ones that get no requisite', () => {
    const { outcomes } = run('p2.v12', 'recorded');
    expect(outcomes).to.deep.equal({
      paidOrders: 1,
      unpaidOrders: 6,
      base: { paidHeldBack: 1, paidBlocked: 0, unpaidStopped: 1 },
      candidate: { paidHeldBack: 1, paidBlocked: 0, unpaidStopped: 2 },
    });
  });

  it('tells by level who waited, came back and paid', () => {
    expect(run('p2.v10', 'recorded').ladder.base).to.deep.equal([
      { level: 1, waits: 1, clients: 1, cameBack: 1, paid: 1 },
      { level: 2, waits: 1, clients: 1, cameBack: 1, paid: 1 },
    ]);
  });

  it('tells group changes and bot flags', () => {
    expect(run('p2.v12', 'recorded').groups).to.deep.equal([{ from: 'NEW', to: 'BLOCKED', count: 1 }]);
    expect(run('p2.v15', 'recorded').bots).to.deep.equal({ base: 1, candidate: 0, gained: 0, lost: 1 });
  });

  it('counts decisions whose records lack a fact, and can decide them in closed-loop', () => {
    const recorded = run('p2.v13', 'recorded');
    expect({ undecidable: recorded.undecidable, compared: recorded.compared }).to.deep.equal({
      undecidable: { count: 13, facts: ['clientsOnFingerprint(2d)'] },
      compared: 0,
    });
    const closed = run('p2.v13', 'closed-loop');
    expect({ undecidable: closed.undecidable, compared: closed.compared }).to.deep.equal({
      undecidable: { count: 0, facts: [] },
      compared: 13,
    });
  });

  it('sees a new ladder in closed-loop', () => {
    const { waits, changed } = run('p2.v14', 'closed-loop');
    // Ann waits 20 s, not 30: her second try is in time, and the attempt it opens makes her wait later.
    expect({ waits, changed }).to.deep.equal({ waits: { longer: 0, shorter: 1 }, changed: 2 });
  });

  it('gives a request that named no currency that of the version it asks, in closed-loop', () => {
    for (const against of [null, 'p2.v10']) {
      const { transitions } = run('p2.v16', 'closed-loop', against);
      // Nobody named a currency, so every request that is not blocked is one in USD and has to wait.
      expect(transitions.GET_NEW).to.deep.include({ GET_NEW: 0, WAIT: 7 });
    }
  });

  it('reads the journal as it is kept: its size, its span and who decided', () => {
    const { journal } = run('p2.v10', 'recorded');
    expect(journal).to.deep.equal({
      records: 30,
      decisions: 13,
      from: Date.UTC(2026, 6, 1),
      to: Date.UTC(2026, 6, 6, 5, 7, 23),
      ruleVersions: ['p2.v10'],
      torn: false,
    });
  });

  it('reads lines whose members stand in another order', () => {
    const lines = readFileSync(place.path('j'), 'utf8').trim().split('\n');
    const turned = lines.map((line) =>
      JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line)).toReversed())),
    );
    writeFileSync(place.path('turned'), `${turned.join('\n')}\n`);
    expect(run('p2.v11', 'recorded', null, place.path('turned'))).to.deep.equal(run('p2.v11', 'recorded'));
  });

  it('leaves out a last line that has no end, and says so', () => {
    writeFileSync(place.path('torn'), readFileSync(place.path('j')));
    appendFileSync(place.path('torn'), '{"kind":"verdict","at":17');
    const { journal } = run('p2.v10', 'recorded', null, place.path('torn'));
    expect({ records: journal.records, torn: journal.torn }).to.deep.equal({ records: 30, torn: true });
  });
});

describe('what came after decisions', () => {
  it('is the same when it does not fit into memory', () => {
    const aftermath = new Aftermath();
    const wait = { verdict: 'WAIT', level: 1 } as const;
    const grant = { verdict: 'GET_NEW', level: 0 } as const;
    const paid = { outcome: 'PAID', cause: null, occurredAt: 0 } as const;
    // One client's events fill many blocks of its partition.
    for (let number = 0; number < 5000; number++) {
      aftermath.decision('demo', 'ann', `order-${number}`, wait, grant);
      aftermath.outcome('demo', 'ann', `order-${number}`, paid);
    }
    expect(aftermath.report()).to.deep.equal({
      outcomes: {
        paidOrders: 5000,
        unpaidOrders: 0,
        base: { paidHeldBack: 5000, paidBlocked: 0, unpaidStopped: 0 },
        candidate: { paidHeldBack: 0, paidBlocked: 0, unpaidStopped: 0 },
      },
      ladder: { base: [{ level: 1, waits: 5000, clients: 1, cameBack: 1, paid: 1 }], candidate: [] },
    });
    aftermath.close();
  });

  it('goes by the last outcome of an order and passes over technical failures', () => {
    const aftermath = new Aftermath();
    const block = { verdict: 'BLOCK', level: 0 } as const;
    for (const order of ['refunded', 'late', 'broken'])
      aftermath.decision('demo', 'ann', order, block, block);
    const outcome = (order: string, outcome: 'PAID' | 'UNPAID', cause: 'TECHNICAL' | null = null) =>
      aftermath.outcome('demo', 'ann', order, { outcome, cause, occurredAt: 0 });
    outcome('refunded', 'PAID');
    outcome('refunded', 'UNPAID');
    outcome('late', 'UNPAID');
    outcome('late', 'PAID');
    outcome('broken', 'UNPAID');
    outcome('broken', 'UNPAID', 'TECHNICAL');
    outcome('never-asked-for', 'PAID');
    const effects = { paidHeldBack: 0, paidBlocked: 1, unpaidStopped: 1 };
    expect(aftermath.report().outcomes).to.deep.equal({
      paidOrders: 1,
      unpaidOrders: 1,
      base: effects,
      candidate: effects,
    });
  });
});
