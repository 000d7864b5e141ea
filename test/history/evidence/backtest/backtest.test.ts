import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import { type BacktestReport, presentBacktest } from '#history/evidence/backtest/backtest-report.ts';
import { type ReplayInput, readInputsByClient } from '#history/evidence/backtest/input.ts';
import { computeParetoFrontMembership } from '#history/evidence/backtest/order-outcomes.ts';
import { createVariedRuleSets } from '#history/evidence/backtest/variations.ts';
import type { OrderCounts } from '#history/evidence/presentation.ts';
import { BadQuestion } from '#history/evidence/question.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { type Evidence, withEvidence } from '#history/evidence/source/evidence.ts';
import { createInputView } from '#history/evidence/source/shared-devices.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import { currentRules, RULES_FOLDER } from '../../../service/current-rules.ts';
import { SIGNAL_SECRET } from '../../../service/running-service.ts';
import { all, type RecordedEvidence, servedEvidence } from '../source/recorded-evidence.ts';
import { draftCandidates, JULY, playJuly, Workplace } from './backtest-history.ts';

const CHAIN = 'groups.blocked-by-unpaid-chain.unpaidChain';

function orders(paid: number, unpaid: number, turnedAway: number, unknown: number): OrderCounts {
  return { paid, unpaid, turnedAway, unknown };
}

describe('a backtest', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(playJuly);
    draftCandidates(place);
  });
  after(() => place.end());

  function onJournal<T>(work: (evidence: Evidence) => Promise<T>, path = place.path('j')): Promise<T> {
    return withEvidence(all({ kind: 'journal', path }), work);
  }

  function run(
    version: string,
    { against = null, vary = [], path }: { against?: string | null; vary?: string[]; path?: string } = {},
  ): Promise<BacktestReport> {
    const rules = place.rules(version);
    const files = readRuleFiles(`${place.rulesDir}/${version}`, []) ?? new Map();
    const ask = {
      tried:
        vary.length === 0 ? ([{ rules, values: {} }] as const) : createVariedRuleSets(rules, files, vary),
      against: against === null ? null : place.rules(against),
      rulesOf: () => place.rules('p2.v10'),
    };
    return onJournal((evidence) => runBacktest(evidence, ask), path);
  }

  const recorded = async (version: string, against: string) => {
    const [rules, base] = [place.rules(version), place.rules(against)];
    const found = await onJournal((evidence) =>
      reportRuleWorth(evidence, { rules, against: base, by: null }),
    );
    return found.against ?? expect.fail('nothing was compared');
  };
  const moves = ({ changes }: Pick<BacktestReport, 'changes'>) =>
    changes.map(({ from, to }) => `${from} -> ${to}`);
  const firstOf = ({ candidates: [first] }: BacktestReport) => first ?? expect.fail('no candidate');

  it('finds no change when the version that decided decides again, replayed or on recorded facts', async () => {
    const replayed = await run('p2.v10');
    for (const { compared, changes, transitions } of [replayed, await recorded('p2.v10', 'p2.v10')]) {
      expect([compared, changes]).to.deep.equal([13, []]);
      const { GET_NEW, GET_SAME_STICKY, WAIT, BLOCK } = transitions;
      expect(GET_NEW.GET_NEW).to.deep.equal({ decisions: 7, ...orders(1, 5, 0, 1) });
      expect(GET_SAME_STICKY.GET_SAME_STICKY.decisions).to.equal(1);
      expect(WAIT.WAIT).to.deep.equal({ decisions: 2, ...orders(2, 0, 0, 0) });
      expect(BLOCK.BLOCK).to.deep.equal({ decisions: 3, ...orders(0, 0, 3, 0) });
    }
    expect(replayed.reproduced).to.equal(13);
  });

  it('shows a changed verdict by rule with its order, as a report on recorded facts does', async () => {
    expect((await recorded('p2.v11', 'p2.v10')).changes).to.deep.equal([
      {
        from: 'WAIT',
        to: 'GET_NEW',
        fromRule: 'asked-too-early',
        toRule: 'otherwise',
        count: 1,
        ...orders(1, 0, 0, 0),
        samples: ['ann-2'],
      },
    ]);
  });

  it('lets a changed verdict affect later ones, which recorded facts do not show', async () => {
    expect(moves(await recorded('p2.v11', 'p2.v10'))).to.deep.equal(['WAIT -> GET_NEW']);
    // Granted 2 s early, the attempt is open when Ann comes back: she has to wait then.
    expect(moves(await run('p2.v11'))).to.have.members(['WAIT -> GET_NEW', 'GET_NEW -> WAIT']);
    expect((await run('p2.v11', { against: 'p2.v11' })).changes).to.deep.equal([]);
  });

  it('opens and closes orders, of which only those happen that it grants', async () => {
    // With a chain of three Bob is blocked at bob-4, so its outcome does not happen, and the chain does not grow.
    const { opened, closed } = firstOf(await run('p2.v12'));
    expect(opened.orders).to.deep.equal(orders(0, 0, 0, 0));
    expect(closed.orders).to.deep.equal(orders(0, 1, 0, 0));
    const turned = firstOf(await run('p2.v10', { against: 'p2.v12' }));
    expect(turned.opened.orders).to.deep.equal(orders(0, 1, 0, 0));
  });

  it('says of a mild version what it opens, and not that it is harmless', async () => {
    const found = await run('p2.v10', { vary: [`${CHAIN}=5`] });
    const { notes } = presentBacktest(found);
    expect(notes).to.include(
      `${CHAIN}=5 opens 1 order and closes 0. What the opened ones would have come to nobody knows; a holdout of the rule shows it.`,
    );
  });

  it('gives for each choice its effect on the orders of the earlier and of the later part, sorted by value', async () => {
    const found = await run('p2.v10', { vary: [`${CHAIN}=2,3`] });
    const figures = found.candidates.map(({ values, present, earlier, later }) => [
      ...[values[CHAIN], present, earlier.unpaidClosed.orders + later.unpaidClosed.orders],
      ...[earlier.paidHeldBack.orders, later.paidClosed.orders],
    ]);
    // Bob has five orders. The last one was turned away when it was recorded: nobody closes it once more.
    expect(figures).to.deep.equal([
      ['4', true, 0, 0, 0],
      ['2', false, 2, 0, 0],
      ['3', false, 1, 0, 0],
    ]);
    const { earlier, later } = found.parts;
    expect([earlier.orders, later.orders]).to.deep.equal([orders(1, 4, 0, 0), orders(0, 1, 3, 2)]);
    expect(found.candidates.map(({ onFront }) => onFront.later)).to.deep.equal([false, true, true]);
    expect(found.candidates[1]?.later.unpaidClosed.amount).to.have.keys('EUR');
    for (const { rows } of presentBacktest(found).tables)
      expect(rows.map(([value]) => value)).to.deep.equal(['2', '3', '4 (now)']);
  });

  it('gives no figures of another ladder, and says what would show its effect', async () => {
    const found = await run('p2.v14');
    // Ann waits 20 s, not 30: her second try is in time, and the attempt it opens makes her wait later.
    expect(firstOf(found).waits).to.deep.equal({ longer: 0, shorter: 1, onAnotherLadder: 1 });
    const { notes, tables } = presentBacktest(found);
    expect(notes.at(-1)).to.equal(
      'No headline for p2.v14: its waits have another length, and it is not known when payers would have come back. Try it on a share of the payers: rules rollout p2.v14 --canary 10; "rules experiment" then compares the two.',
    );
    expect(notes.join()).not.to.include('closes');
    expect(tables.map(({ name }) => name)).to.deep.equal(['verdicts', 'changes']);
  });

  it('counts facts again that records lack, and says which shared lists nobody was on', async () => {
    expect((await recorded('p2.v13', 'p2.v10')).undecidable).to.equal(13);
    expect((await run('p2.v13')).compared).to.equal(13);
    for (const [version, against, lists] of [
      ['p2.v17', null, ['blocked-devices']],
      ['p2.v10', 'p2.v17', ['blocked-devices']],
      ['p2.v10', null, []],
    ] as const)
      expect((await run(version, { against })).emptyLists).to.deep.equal(lists);
  });

  it('says which settings recorded facts cannot show', async () => {
    expect((await recorded('p2.v14', 'p2.v10')).unseen).to.deep.equal(['ladder']);
  });

  it('gives a request without a currency that of the version', async () => {
    for (const against of [null, 'p2.v10']) {
      const { transitions } = await run('p2.v16', { against });
      // Nobody named a currency, so every request that is not blocked is one in USD and has to wait.
      const { GET_NEW } = transitions;
      expect([GET_NEW.GET_NEW.decisions, GET_NEW.WAIT.decisions]).to.deep.equal([0, 7]);
    }
  });

  it('has shares by client', async () => {
    const { changed, changedShare } = firstOf(await run('p2.v16'));
    expect(changedShare?.value).to.be.closeTo(changed / 13, 1e-9);
    expect(changedShare?.low).to.be.below(0.3);
  });

  it('gives the span of the journal and who decided, and leaves out an incomplete last line', async () => {
    const span = (found: BacktestReport) => {
      const { decisions, from, to, gaps, torn, versions } = found;
      return [decisions, from, to, gaps, torn, versions];
    };
    const all = [13, Date.UTC(2026, 6, 1), Date.UTC(2026, 6, 6, 5, 7, 23, 1), []];
    expect(span(await run('p2.v10'))).to.deep.equal([...all, false, ['p2.v10']]);
    writeFileSync(place.path('torn'), readFileSync(place.path('j')));
    appendFileSync(place.path('torn'), '{"kind":"verdict","at":17');
    expect(span(await run('p2.v10', { path: place.path('torn') }))).to.deep.equal([...all, true, ['p2.v10']]);
  });

  it('reads lines whose members stand in another order', async () => {
    const lines = readFileSync(place.path('j'), 'utf8').trim().split('\n');
    const turnedLine = (line: object) => Object.fromEntries(Object.entries(line).toReversed());
    const turned = lines.map((line) => JSON.stringify(turnedLine(JSON.parse(line))));
    writeFileSync(place.path('turned'), `${turned.join('\n')}\n`);
    expect(await run('p2.v11', { path: place.path('turned') })).to.deep.equal(await run('p2.v11'));
  });
});

describe('the inputs of a history', () => {
  let place: Workplace;
  before(async () => {
    place = await Workplace.after(playJuly);
  });
  after(() => place.end());

  function read<T>(work: (evidence: Evidence) => Promise<T>): Promise<T> {
    const journal = { kind: 'journal', path: place.path('j') } as const;
    return withEvidence(all(journal), async (evidence) => {
      await createInputView(evidence, []);
      return work(evidence);
    });
  }

  async function inputs(
    { duck }: Evidence,
    where: string,
    orderedAtOnceMax: number,
  ): Promise<readonly ReplayInput[]> {
    return (await Array.fromAsync(readInputsByClient(duck, where, orderedAtOnceMax))).flat();
  }

  for (const where of ['true', `"at" > ${JULY + 38_000}`]) {
    it(`come in the same order however few are ordered at once${where === 'true' ? '' : ', also when some are asked for'}`, () =>
      read(async (evidence) => {
        const expected = await inputs(evidence, where, 1_000_000);
        expect(expected.length).to.be.above(10);
        for (const most of [1, 2, 3, 7, expected.length - 1])
          expect(await inputs(evidence, where, most), `${most} at once`).to.deep.equal(expected);
      }));
  }
});

const PAYERS = 12;
const RULE = 'groups/blocked-by-unpaid-chain';

describe('a replay under rules with holdouts', () => {
  let place: Workplace;
  let sources: RecordedEvidence;
  /** Payers with four unpaid orders who were not blocked because they were held out. */
  let heldOut = 0;

  before(async () => {
    place = new Workplace();
    place.draft('p2.v20', {
      file: 'groups.yaml',
      from: '    priority: 80\n',
      to: '    priority: 80\n    holdout: 50%\n',
    });
    sources = await servedEvidence(place.rules('p2.v20'), async (shop, { clock }) => {
      for (let n = 0; n < PAYERS; n++) {
        const clientIdKey = `payer-${n}`;
        for (const order of ['a', 'b', 'c', 'd']) await shop.outcome(clientIdKey, `${order}-${n}`, 'UNPAID');
        clock.moveSeconds(1);
        const { body } = await shop.verdict({ clientIdKey, orderRef: `e-${n}`, amountRequested: '10.00' });
        if (body['verdict'] === 'GET_NEW') heldOut++;
        clock.moveSeconds(1);
        await shop.outcome(clientIdKey, `e-${n}`, 'UNPAID');
      }
    });
    expect(heldOut).to.be.within(1, PAYERS - 1);
  });
  after(() => place.end());

  it('holds out the clients of live traffic, in every variation, and says how many', async () => {
    const files = readRuleFiles(place.path('rules', 'p2.v20'), []) ?? new Map();
    const rules = place.rules('p2.v20');
    const tried = createVariedRuleSets(rules, files, ['groups.blocked-by-unpaid-chain.unpaidChain=3,6']);
    for (const where of [sources.archive, sources.journal]) {
      const ask = { ...all(where), holdoutSecret: SIGNAL_SECRET };
      const found = await withEvidence(ask, (evidence) =>
        runBacktest(evidence, { tried, against: null, rulesOf: () => rules }),
      );
      const skipped = { rule: RULE, share: 0.5, decisions: heldOut, clients: heldOut };
      expect(found.heldOut).to.deep.equal([skipped]);
      expect(found.candidates.map((one) => one.heldOut)).to.deep.equal([
        [skipped],
        [skipped],
        [{ ...skipped, decisions: 0, clients: 0 }],
      ]);
      expect([found.candidates[0]?.changed, found.reproduced]).to.deep.equal([0, PAYERS]);
    }
  });

  it('holds nobody out without the secret of the draw', async () => {
    const rules = place.rules('p2.v20');
    const { reproduced } = await withEvidence(all(sources.archive), (evidence) =>
      runBacktest(evidence, { tried: [{ rules, values: {} }], against: null, rulesOf: () => rules }),
    );
    expect(reproduced).to.equal(PAYERS - heldOut);
  });
});

describe('the variation of a version', () => {
  const files = readRuleFiles(RULES_FOLDER, []) ?? new Map();
  const chain = 'groups.blocked-by-unpaid-chain.unpaidChain';
  const varied = (...vary: readonly string[]) =>
    createVariedRuleSets(currentRules(), files, vary).map(({ values }) => Object.values(values).join(' '));

  it('is a range, a range with steps, or a list; the version as it is comes first', () => {
    expect(varied(`${chain}=2..5`)).to.deep.equal(['4', '2', '3', '5']);
    expect(varied(`${chain}=2..8:3`)).to.deep.equal(['4', '2', '5', '8']);
    expect(varied('ladder.levels[0]=15s, 30s,60s')).to.deep.equal(['30s', '15s', '60s']);
    expect(varied(`${chain}=3,4`, 'ladder.levels[0]=15s,30s')).to.deep.equal([
      '4 30s',
      '3 15s',
      '3 30s',
      '4 15s',
    ]);
  });

  const refused: readonly (readonly [string, string])[] = [
    [
      chain,
      `--vary is PATH=VALUES, like groups.blocked-by-unpaid-chain.unpaidChain=2..8 or ladder.levels[0]=15s,30s,60s, unlike "${chain}"`,
    ],
    [
      `${chain}=8..2`,
      `"8..2" in "${chain}=8..2" is not a range; the smaller number comes first, like 2..8 or 2..8:2`,
    ],
    [`${chain}=1..9999`, `"1..9999" in "${chain}=1..9999" has 9999 values; at most 200 are tried`],
    ['groups.nothing.unpaidChain=3', 'groups.nothing'],
    ['ladder.levels[0]=10m', 'ladder.levels[0]=10m gives a rule set with problems: ladder.yaml:'],
    [`${chain}=3,{ }`, `"{ }" in "${chain}=3,{ }" is not a number, duration or word;`],
  ];
  for (const [text, message] of refused)
    it(`refuses ${text}`, () => {
      expect(() => varied(text)).to.throw(BadQuestion, message);
    });

  it('is refused when one constant is varied twice', () => {
    expect(() => varied(`${chain}=3`, `${chain}=5`)).to.throw(
      `${chain} is varied twice; give all its values in one --vary`,
    );
  });
});

describe('the front of trade-offs', () => {
  const effect = (orders: number) => ({ orders, share: null, amount: {} });
  const tradeOff = ([unpaid = 0, paid = 0, heldBack = 0]: readonly number[]) => ({
    unpaidClosed: effect(unpaid),
    paidClosed: effect(paid),
    paidHeldBack: effect(heldBack),
  });

  it('has exactly those that no other one beats', () => {
    const figures = fc.array(fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(figures, (all) => {
        const front = computeParetoFrontMembership(all.map(tradeOff));
        for (const [place, [stopped, refused, heldBack]] of all.entries()) {
          const betters = all.some(
            ([s, r, h]) =>
              s >= stopped && r <= refused && h <= heldBack && (s > stopped || r < refused || h < heldBack),
          );
          expect(front[place]).to.equal(!betters);
        }
      }),
    );
  });
});
