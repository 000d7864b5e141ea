import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import { Metrics } from '../../src/metrics/metrics.ts';
import { fixedRules } from '../../src/rollout/loaded-rules.ts';
import { Records } from '../../src/service/records.ts';
import { ScoringService } from '../../src/service/scoring.ts';
import { clientKey } from '../client/client-keys.ts';
import type { ToldOrder } from '../client/told-orders.ts';
import { entriesAbout } from '../state/read-journal.ts';
import { describeOnStores } from '../stores/describe-on-stores.ts';
import { currentRules } from './current-rules.ts';
import { START_MS } from './movable-clock.ts';

const PLATFORM = platformName('shop');
const metrics = new Metrics();

describeOnStores('outcomes on the service', (store) => {
  let service: ScoringService;
  let records: Records;
  let nowMs = START_MS;
  before(() => {
    const ruleSource = fixedRules(currentRules());
    const clock = () => nowMs;
    const pseudonym = (_kind: string, text: string) => text;
    service = new ScoringService({ store: store(), ruleSource, clock, pseudonym, metrics });
    records = new Records({ store: store(), ruleSource, clock });
  });

  async function tell(clientIdKey: string, told: readonly ToldOrder[]): Promise<readonly string[]> {
    const effects: string[] = [];
    for (const { order: orderRef, report } of told) {
      effects.push(await service.outcome(PLATFORM, { clientIdKey, orderRef, ...report }));
    }
    return effects;
  }

  /** A client who asked twice, and so has to wait. */
  async function waiting(): Promise<string> {
    const clientIdKey = randomUUID();
    await ask(clientIdKey);
    await ask(clientIdKey);
    return clientIdKey;
  }

  async function ask(clientIdKey: string): Promise<void> {
    const body = { sellPointKey: 's', clientIdKey, method: 'card', amountRequested: '1', orderRef: 'asked' };
    await service.verdict(PLATFORM, body, { requestId: 'r', idempotencyKey: null });
  }

  /** A report with an earlier time. */
  function dated(told: readonly ToldOrder[]): readonly ToldOrder[] {
    return told.map(({ order, report }) => ({
      order,
      report: { ...report, occurredAt: START_MS - 1000 + report.occurredAt },
    }));
  }

  it('say what each report did, and keep in the journal a report that does not hold', async () => {
    const clientIdKey = randomUUID();
    const report = (outcome: 'PAID' | 'UNPAID', cause: 'REVERSED' | null, occurredAt: number): ToldOrder => ({
      order: 'order-1',
      report: { outcome, cause, occurredAt },
    });
    const reversed = report('UNPAID', 'REVERSED', 3);
    const told = [
      reversed,
      report('PAID', null, 1),
      reversed,
      report('UNPAID', 'REVERSED', 4),
      report('PAID', null, 5),
    ];
    expect(await tell(clientIdKey, dated(told))).to.deep.equal([
      'recorded',
      'stale',
      'unchanged',
      'unchanged',
      'superseded',
    ]);
    const entries = await entriesAbout(store(), clientKey(PLATFORM, clientIdKey));
    const journaled = entries.map((entry) =>
      entry.kind === 'outcome' ? [entry.order, entry.report] : entry.kind,
    );
    const [first, stale, , repeat, last] = dated(told).map((one) => one.report);
    expect(journaled).to.deep.equal([
      [first, undefined],
      [first, stale],
      [first, repeat],
      [last, undefined],
    ]);
  });

  it('leave nothing behind when a missing binding or override is lifted', async () => {
    const clientIdKey = randomUUID();
    await service.setBinding(PLATFORM, clientIdKey, null);
    expect(await service.setOverride(PLATFORM, clientIdKey, null, 'key 1')).to.deep.equal({
      before: null,
      after: null,
    });
    expect(await records.client(PLATFORM, clientIdKey)).to.equal(null);
    expect(await entriesAbout(store(), clientKey(PLATFORM, clientIdKey))).to.deep.equal([]);
  });

  it('never let score or view use a time before the last record', async () => {
    const clientIdKey = await waiting();
    const binding = { requisiteRef: 'r', acceptorKeys: ['a'], method: null, expiresAt: nowMs - 1 };
    await service.setBinding(PLATFORM, clientIdKey, binding);
    nowMs -= 3_600_000;
    const view = await records.client(PLATFORM, clientIdKey);
    nowMs += 3_600_000;
    expect(view?.now).to.equal(nowMs);
  });
});
