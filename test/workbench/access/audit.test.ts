import { expect } from 'chai';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { Audit, type AuditEntry, TooManyAuditedChanges } from '#workbench/access/audit.ts';
import { checkAuditChain } from '#workbench/access/audit-check.ts';
import { AuditEndLogger } from '#workbench/access/audit-end-writer.ts';
import { clientKey } from '../../decision/payer/client-keys.ts';
import { newPlatform } from '../../state/clients.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const THREE_A_DAY = { ratePerSecond: 3 / 86_400, burst: 3, delayMsMax: 0 };

describeOnStores('the audit', (store) => {
  const entriesOf = async (audit: Audit, platform: PlatformName) =>
    (await audit.read(null, 10_000)).entries.filter((entry) => entry.platform === platform);

  it('notes the first actions of a busy key one by one, then their number, and loses no earlier entry', async () => {
    const audit = new Audit(store().auditLog, Date.now, THREE_A_DAY);
    const platform = newPlatform();
    await audit.note(change('key issued', platform));
    for (let round = 0; round < 50; round += 1) await audit.note(change('binding', platform));
    await audit.note({ ...change('binding', platform), who: 'key 2' });
    await audit.sumUp();
    const noted = (await entriesOf(audit, platform)).map(({ who, action, after }) => [who, action, after]);
    expect(noted).to.deep.equal([
      ['key 1', 'key issued', {}],
      ['key 1', 'binding', {}],
      ['key 1', 'binding', {}],
      ['key 1', 'binding', {}],
      ['key 2', 'binding', {}],
      ['key 1', 'binding', { more: 47 }],
    ]);
  });

  it('never sums up overrides and list changes, and admits no more of a key than it notes', async () => {
    const audit = new Audit(store().auditLog, Date.now, THREE_A_DAY);
    const platform = newPlatform();
    for (const action of ['override', 'list'] as const) {
      for (let round = 0; round < 3; round += 1) audit.admit('key 1', action);
      expect(() => audit.admit('key 1', action)).to.throw(
        TooManyAuditedChanges,
        'key 1 makes too many changes',
      );
      audit.admit('key 2', action);
      for (let round = 0; round < 5; round += 1) await audit.note(change(action, platform));
    }
    expect(await entriesOf(audit, platform)).to.have.length(10);
  });

  it('says who looked at which payer, once an hour', async () => {
    const audit = new Audit(store().auditLog, () => 7);
    const platform = newPlatform();
    const [ann, bob] = [clientKey(platform, 'ann'), clientKey(platform, 'bob')];
    for (const [who, client] of [
      ['key 1', ann],
      ['key 1', ann],
      ['key 1', bob],
      ['key 2', ann],
    ] as const)
      await audit.noteReading(who, client);
    const noted = (await entriesOf(audit, platform)).map(({ at, who, action, subject }) => [
      at,
      who,
      action,
      subject,
    ]);
    expect(noted).to.deep.equal([
      [7, 'key 1', 'client read', 'ann'],
      [7, 'key 1', 'client read', 'bob'],
      [7, 'key 2', 'client read', 'ann'],
    ]);
  });

  it('of an erased payer keeps who did what and when', async () => {
    const audit = new Audit(store().auditLog, Date.now, THREE_A_DAY);
    const platform = newPlatform();
    const ann = clientKey(platform, 'ann of the audit');
    await audit.note(
      { ...change('override', platform), subject: ann.clientIdKey, after: { by: 'ann' } },
      ann,
    );
    await audit.forget('key 2', ann);
    const noted = (await entriesOf(audit, platform)).map(({ who, action, subject, after }) => [
      who,
      action,
      subject,
      after,
    ]);
    expect(noted).to.deep.equal([
      ['key 1', 'override', null, null],
      ['key 2', 'client erased', null, null],
    ]);
    expect((await checkAuditChain(store().auditLog, Date.now())).faults).to.deep.equal([]);
  });
});

function change(action: AuditEntry['action'], platform: PlatformName): Omit<AuditEntry, 'at'> {
  return { who: 'key 1', action, platform, subject: 'a', before: null, after: {}, reason: null };
}

const HOUR_MS = 3_600_000;

describe('the newest entry of the audit', () => {
  it('is told by its number and hash once an hour and at a drain, and an hour without the store is named', async () => {
    let now = 0;
    let end: { number: number; hash: string } | null = null;
    const told: unknown[] = [];
    const auditEnd = new AuditEndLogger({
      auditLog: { end: async () => (now > 3 * HOUR_MS ? Promise.reject(new Error('it is away')) : end) },
      clock: () => now,
      onTold: (known) => told.push([now, known]),
      onTrouble: (error) => told.push([now, String(error)]),
    });
    const lookAt = async (at: number) => {
      now = at;
      await auditEnd.writeIfDue();
    };
    await lookAt(HOUR_MS);
    end = { number: 7, hash: 'a1' };
    for (const at of [HOUR_MS + 60_000, 2 * HOUR_MS - 1, 2 * HOUR_MS, 2 * HOUR_MS + 60_000]) await lookAt(at);
    // At a drain, whenever that is.
    await auditEnd.write();
    await lookAt(3 * HOUR_MS);
    await lookAt(3 * HOUR_MS + 60_000);
    expect(told).to.deep.equal([
      [2 * HOUR_MS, '7:a1'],
      [2 * HOUR_MS + 60_000, '7:a1'],
      [3 * HOUR_MS + 60_000, 'Error: it is away'],
    ]);
  });
});
