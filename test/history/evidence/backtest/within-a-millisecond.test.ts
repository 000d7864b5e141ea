import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { ScoringService } from '#checkout/scoring/scoring.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { DecisionLookup } from '#history/archive/read/decision-lookup.ts';
import { runBacktest } from '#history/evidence/backtest/backtest.ts';
import { type EvidencePlace, withEvidence } from '#history/evidence/source/evidence.ts';
import { rebuildState } from '#workbench/payers/rebuild.ts';
import { clientKey } from '../../../decision/payer/client-keys.ts';
import { currentRules } from '../../../service/current-rules.ts';
import { scoreBody, verdictBody } from '../../../service/request-bodies.ts';
import { scoringService } from '../../../service/scoring-service.ts';
import { newPlatform, T0 } from '../../../state/clients.ts';
import { endOfJournal, readAll } from '../../../state/read-journal.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { ArchivedStore } from '../../archive/archived-store.ts';
import { all, exportedJournal } from '../source/recorded-evidence.ts';

const ORDERS = ['order-1', 'order-2', 'order-3', 'order-4', 'order-5'] as const;

const anyInput = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('score') }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('verdict'), orderRef: fc.constantFrom(...ORDERS) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('outcome'),
      orderRef: fc.constantFrom(...ORDERS),
      outcome: fc.constantFrom('PAID', 'UNPAID'),
      // A report may be about the past, and leave the current outcome of its order as it was.
      agoMs: fc.constantFrom(null, 0, 1, 500),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('waitEnded') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('binding'), isBound: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('override'), group: fc.constantFrom('BLOCKED', null) }),
  },
);

/** Most events have the same millisecond as the one before, as on a busy service. */
const anyHappening = fc.record({ gapMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 31_000), input: anyInput });

type Happening = typeof anyHappening extends fc.Arbitrary<infer T> ? T : never;

/** The events of some payers, and after how many of them the journal is shipped. */
const anyHistory = fc.record({
  payers: fc.array(fc.array(anyHappening, { minLength: 3, maxLength: 30 }), { minLength: 4, maxLength: 8 }),
  shippedPayers: fc.nat({ max: 8 }),
});

describeOnStores('events within a millisecond', (store) => {
  let place: ArchivedStore;
  let nowMs = T0;
  before(async () => {
    place = await ArchivedStore.open(store());
  });
  after(() => place?.release());

  async function live(platform: PlatformName, clientIdKey: string, happenings: readonly Happening[]) {
    const service = scoringService(store(), () => nowMs);
    for (const { gapMs, input } of happenings) {
      nowMs += gapMs;
      await happen(service, platform, clientIdKey, input, nowMs);
    }
  }

  /** The backtest with the version that decided. */
  function again(from: EvidencePlace, platform: PlatformName) {
    const rules = currentRules();
    return withEvidence({ ...all(from), platform }, async (evidence) => {
      const { compared, reproduced } = await runBacktest(evidence, {
        tried: [{ rules, values: {} }],
        against: null,
        rulesOf: () => rules,
      });
      return { compared, reproduced };
    });
  }

  it('are replayed in order, from the journal and from the archive', async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory, async ({ payers, shippedPayers }) => {
        const platform = newPlatform();
        const start = await endOfJournal(store());
        for (const [number, happenings] of payers.entries()) {
          if (number === shippedPayers) await place.shipAll();
          await live(platform, `payer-${number}`, happenings);
        }
        const journal = await exportedJournal(store(), start);
        await place.shipAll();
        const verdicts = payers.flat().filter(({ input }) => input.kind === 'verdict').length;
        const each = { compared: verdicts, reproduced: verdicts };
        expect(await again(journal, platform)).to.deep.equal(each);
        const folder = place.archive.folder;
        expect(await again({ kind: 'archive', folder }, platform)).to.deep.equal(each);
      }),
      // Each ships and opens two archives; every run of the suite tries others.
      { numRuns: 3 },
    );
  });

  it('are in the history in order, however much of it was shipped, and rebuild the state', async () => {
    const lookup = new DecisionLookup(store(), place.reader());
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyHappening, { minLength: 3, maxLength: 30 }),
        fc.nat({ max: 30 }),
        async (happenings, shipped) => {
          const [platform, start] = [newPlatform(), await endOfJournal(store())];
          const client = clientKey(platform, randomUUID());
          await live(platform, client.clientIdKey, happenings.slice(0, shipped));
          // Shipped entries are removed, so that the history needs both.
          const kept = { journalEntries: 0, decisionsHotMs: 0 };
          const before = (await readAll(store(), start, 1000)).entries;
          await place.shipAll(place.shipper({ kept }));
          const end = await endOfJournal(store());
          await live(platform, client.clientIdKey, happenings.slice(shipped));
          const accepted = [...before, ...(await readAll(store(), end, 1000)).entries];
          const { entries } = await lookup.history(client, 100);
          expect(entries.map(({ place: _, ...entry }) => entry)).to.deep.equal(accepted.toReversed());
          expect(rebuildState(entries.toReversed())).to.deep.equal((await store().load(client)).state);
          await place.shipAll(place.shipper({ kept }));
          expect((await lookup.history(client, 100)).entries).to.deep.equal(entries);
        },
      ),
      { numRuns: 8 },
    );
  });
});

async function happen(
  service: ScoringService,
  platform: PlatformName,
  clientIdKey: string,
  input: Happening['input'],
  nowMs: number,
): Promise<void> {
  switch (input.kind) {
    case 'score': {
      const device = { fingerprint: `device of ${clientIdKey}`, userAgent: 'Mozilla/5.0 Firefox/128.0' };
      await service.score(platform, scoreBody({ clientIdKey, ...device }));
      return;
    }
    case 'verdict': {
      const { orderRef } = input;
      const body = verdictBody({ clientIdKey, orderRef });
      await service.verdict(platform, body, { requestId: 'request', idempotencyKey: null });
      return;
    }
    case 'outcome': {
      const { orderRef, outcome, agoMs } = input;
      const occurredAt = agoMs === null ? null : nowMs - agoMs;
      await service.outcome(platform, { clientIdKey, orderRef, outcome, cause: null, occurredAt });
      return;
    }
    case 'binding': {
      const binding = { requisiteRef: 'requisite-1', acceptorKeys: ['a'], method: null, expiresAt: null };
      await service.setBinding(platform, clientIdKey, input.isBound ? binding : null);
      return;
    }
    case 'override': {
      const { group } = input;
      const override = group === null ? null : { group, reason: 'chargebacks', by: 'Ada', expiresAt: null };
      await service.setOverride(platform, clientIdKey, override, 'key 1');
      return;
    }
    case 'waitEnded': {
      const wait = await service.imposedWait(platform, clientIdKey);
      const by = { id: randomUUID(), owner: null, text: 'key 1' };
      if (wait !== null) await service.endWait(wait, 'the payer called', by);
      return;
    }
    default:
      input satisfies never;
  }
}
