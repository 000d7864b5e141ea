import { expect } from 'chai';
import { Audit, type AuditEntry } from '../../src/access/audit.ts';
import type { PlatformName } from '../../src/client/client-key.ts';
import { newPlatform } from '../state/clients.ts';
import { describeOnStores } from '../stores/describe-on-stores.ts';

describeOnStores('the audit of a busy platform', (store) => {
  it('still tells who issued its keys and what other platforms changed', async () => {
    const audit = new Audit(store().auditLog, Date.now);
    const [busy, other] = [newPlatform(), newPlatform()];
    await audit.note(change('key issued', busy));
    await audit.note(change('override', other));
    for (let round = 0; round < 334; round += 1)
      await Promise.all(Array.from({ length: 30 }, () => audit.note(change('binding', busy))));
    const { entries } = await audit.read(null, 200_000);
    const actionsOf = (platform: PlatformName) =>
      entries.filter((entry) => entry.platform === platform).map(({ action }) => action);
    expect(actionsOf(other)).to.deep.equal(['override']);
    expect(actionsOf(busy))
      .to.have.length(1 + 10_000)
      .and.to.include('key issued');
  }).timeout(60_000);
});

function change(action: AuditEntry['action'], platform: PlatformName): Omit<AuditEntry, 'at'> {
  return { who: 'key 1', action, platform, subject: 'ann', before: null, after: {}, reason: null };
}
