import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { backtest } from '../../../src/evidence/backtest/backtest.ts';
import {
  BACKTEST_MODES,
  type BacktestMode,
  type BacktestReport,
  type OrderEffects,
} from '../../../src/evidence/backtest/backtest-report.ts';
import type { OutcomeAssumption } from '../../../src/evidence/backtest/lives.ts';
import type { OrderCounts } from '../../../src/evidence/shown.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import { draftCandidates, liveThroughJuly, Workplace } from './backtest-history.ts';

function orders(paid: number, unpaid: number, turnedAway: number, unknown: number): OrderCounts {
  return { paid, unpaid, turnedAway, unknown };
}

describe('a backtest', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(liveThroughJuly);
    draftCandidates(place);
  });
  after(() => place.end());

  function run(
    version: string,
    mode: BacktestMode,
    against: string | null = null,
    path = place.path('j'),
    outcomes: OutcomeAssumption = 'all',
  ): Promise<BacktestReport> {
    const rules = place.rules('p2.v10');
    const base = against === null ? null : place.rules(against);
    const ask = { candidate: place.rules(version), against: base, mode, outcomes, rulesOf: () => rules };
    const journal = { kind: 'journal', path } as const;
    return withEvidence({ place: journal, from: null, to: null, platform: null, threads: 1 }, (evidence) =>
      backtest(evidence, ask),
    );
  }

  function fields({ compared, changed, changes }: BacktestReport) {
    return { compared, changed, changes };
  }

  for (const mode of ['recorded', 'closed-loop'] as const) {
    it(`finds no change when the version that decided decides again (${mode})`, async () => {
      const report = await run('p2.v10', mode);
      expect(fields(report)).to.deep.equal({ compared: 13, changed: 0, changes: [] });
      expect(report.bots).to.deep.equal({ base: 1, candidate: 1, gained: 0, lost: 0 });
      expect(report.groups).to.deep.equal([]);
      const { GET_NEW, GET_SAME_STICKY, WAIT, BLOCK } = report.transitions;
      expect(GET_NEW.GET_NEW).to.deep.equal({ decisions: 7, ...orders(1, 5, 0, 1) });
      expect(GET_SAME_STICKY.GET_SAME_STICKY.decisions).to.equal(1);
      expect(WAIT.WAIT).to.deep.equal({ decisions: 2, ...orders(2, 0, 0, 0) });
      expect(BLOCK.BLOCK).to.deep.equal({ decisions: 3, ...orders(0, 0, 3, 0) });
    });
  }

  it('repeats every recorded verdict when it replays the journal', async () => {
    expect((await run('p2.v10', 'closed-loop')).reproduced).to.equal(13);
  });

  it('says only in closed-loop which shared lists nobody was on', async () => {
    expect((await run('p2.v17', 'closed-loop')).emptyLists).to.deep.equal(['blocked-devices']);
    expect((await run('p2.v10', 'closed-loop', 'p2.v17')).emptyLists).to.deep.equal(['blocked-devices']);
    expect((await run('p2.v10', 'closed-loop')).emptyLists).to.deep.equal([]);
    const { emptyLists, undecidable } = await run('p2.v17', 'recorded');
    expect({ emptyLists, undecidable }).to.deep.equal({
      emptyLists: [],
      undecidable: { count: 13, facts: ['listed(blocked-devices)'] },
    });
  });

  it('shows a changed verdict by rule with its order', async () => {
    expect(fields(await run('p2.v11', 'recorded'))).to.deep.equal({
      compared: 13,
      changed: 1,
      changes: [
        {
          from: 'WAIT',
          to: 'GET_NEW',
          fromRule: 'asked-too-early',
          toRule: 'otherwise',
          count: 1,
          ...orders(1, 0, 0, 0),
          samples: ['ann-2'],
        },
      ],
    });
  });

  it('lets a changed verdict affect later ones only in closed-loop', async () => {
    const recorded = (await run('p2.v11', 'recorded')).changes.map(({ from, to }) => `${from} -> ${to}`);
    const closed = (await run('p2.v11', 'closed-loop')).changes.map(({ from, to }) => `${from} -> ${to}`);
    expect(recorded).to.deep.equal(['WAIT -> GET_NEW']);
    // Granted 2 s early, the attempt is open when Ann comes back: she has to wait then.
    expect(closed).to.have.members(['WAIT -> GET_NEW', 'GET_NEW -> WAIT']);
  });

  it('compares with another version on the same facts', async () => {
    const report = await run('p2.v11', 'recorded', 'p2.v11');
    expect({ ...fields(report), against: report.against }).to.deep.equal({
      compared: 13,
      changed: 0,
      changes: [],
      against: 'p2.v11',
    });
  });

  it('counts orders by result: blocked, held back, and without a requisite', async () => {
    const { outcomes } = await run('p2.v12', 'recorded');
    const ordersOf = (effects: OrderEffects) =>
      [effects.blocked, effects.heldBack, effects.stopped].map((one) => one.orders);
    expect(outcomes.all).to.deep.equal({
      orders: orders(1, 5, 3, 2),
      amount: { EUR: { ...orders(10.5, 14.5000004, 22.0000001, 10.5000001), reversed: 0 } },
    });
    expect(ordersOf(outcomes.base)).to.deep.equal([
      orders(0, 0, 3, 0),
      orders(1, 0, 0, 0),
      orders(0, 0, 3, 0),
    ]);
    // Bob's last order was turned away when it was recorded: no side stops an unpaid order there.
    expect(ordersOf(outcomes.candidate)).to.deep.equal([
      orders(0, 1, 3, 0),
      orders(1, 0, 0, 0),
      orders(0, 1, 3, 0),
    ]);
  });

  it('includes only outcomes of granted orders, unless all are asked for', async () => {
    // With a chain of three Bob is blocked at bob-4, so its outcome does not happen, and the chain does not grow.
    const granted = await run('p2.v12', 'closed-loop', null, place.path('j'), 'granted');
    const all = await run('p2.v12', 'closed-loop', null, place.path('j'), 'all');
    expect([granted.assumption, granted.otherwise?.assumption]).to.deep.equal(['granted', 'all']);
    expect(granted.otherwise?.outcomes).to.deep.equal(all.outcomes);
    expect(all.otherwise?.outcomes).to.deep.equal(granted.outcomes);
    expect([granted.reproduced, all.reproduced]).to.deep.equal([13, 13]);
  });

  it('ends early when it is cancelled', async () => {
    const evidence = {
      place: { kind: 'journal', path: place.path('j') },
      from: null,
      to: null,
      platform: null,
    } as const;
    const rules = place.rules('p2.v10');
    const ask = { candidate: rules, against: null, outcomes: 'granted', rulesOf: () => rules } as const;
    for (const mode of BACKTEST_MODES) {
      const signal = AbortSignal.abort(new Error('enough'));
      const failure = await withEvidence(evidence, (open) => backtest(open, { ...ask, mode, signal })).catch(
        String,
      );
      expect(failure).to.equal('Error: enough');
    }
  });

  it('shows changes of groups and bot flags', async () => {
    expect((await run('p2.v12', 'recorded')).groups).to.deep.equal([
      { from: 'NEW', to: 'BLOCKED', count: 1 },
    ]);
    expect((await run('p2.v15', 'recorded')).bots).to.deep.equal({
      base: 1,
      candidate: 0,
      gained: 0,
      lost: 1,
    });
  });

  it('counts decisions whose records lack a fact, and can decide them in closed-loop', async () => {
    const recorded = await run('p2.v13', 'recorded');
    expect({ undecidable: recorded.undecidable, compared: recorded.compared }).to.deep.equal({
      undecidable: { count: 13, facts: ['clientsOnFingerprint(2d)'] },
      compared: 0,
    });
    const closed = await run('p2.v13', 'closed-loop');
    expect({ undecidable: closed.undecidable, compared: closed.compared }).to.deep.equal({
      undecidable: { count: 0, facts: [] },
      compared: 13,
    });
  });

  it('applies a new ladder in closed-loop', async () => {
    const { waits, changed } = await run('p2.v14', 'closed-loop');
    // Ann waits 20 s, not 30: her second try is in time, and the attempt it opens makes her wait later.
    expect({ waits, changed }).to.deep.equal({
      waits: { longer: 0, shorter: 1, onAnotherLadder: 1 },
      changed: 2,
    });
  });

  it('gives a request without a currency that of the version, in closed-loop', async () => {
    for (const against of [null, 'p2.v10']) {
      const { transitions } = await run('p2.v16', 'closed-loop', against);
      // Nobody named a currency, so every request that is not blocked is one in USD and has to wait.
      expect([transitions.GET_NEW.GET_NEW.decisions, transitions.GET_NEW.WAIT.decisions]).to.deep.equal([
        0, 7,
      ]);
    }
  });

  it('gives the size and span of the journal, and who decided', async () => {
    const { journal } = await run('p2.v10', 'recorded');
    expect(journal).to.deep.equal({
      decisions: 13,
      from: Date.UTC(2026, 6, 1),
      to: Date.UTC(2026, 6, 6, 5, 7, 23, 1),
      gaps: [],
      silences: [],
      torn: false,
      ruleVersions: ['p2.v10'],
    });
  });

  it('reads lines whose members stand in another order', async () => {
    const lines = readFileSync(place.path('j'), 'utf8').trim().split('\n');
    const turned = lines.map((line) =>
      JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line)).toReversed())),
    );
    writeFileSync(place.path('turned'), `${turned.join('\n')}\n`);
    expect(await run('p2.v11', 'recorded', null, place.path('turned'))).to.deep.equal(
      await run('p2.v11', 'recorded'),
    );
  });

  it('leaves out an incomplete last line, and says so', async () => {
    writeFileSync(place.path('torn'), readFileSync(place.path('j')));
    appendFileSync(place.path('torn'), '{"kind":"verdict","at":17');
    const { journal } = await run('p2.v10', 'recorded', null, place.path('torn'));
    expect({ decisions: journal.decisions, torn: journal.torn }).to.deep.equal({ decisions: 13, torn: true });
  });
});
