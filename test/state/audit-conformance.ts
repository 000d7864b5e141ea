import { expect } from 'chai';
import { RETENTION } from '#state/retention.ts';
import type { Store } from '#state/store.ts';
import { newClient, T0 } from './clients.ts';

/** What every adapter does with the entries of the audit. */
export function describeAuditLog(store: () => Store, dump: () => Promise<string>): void {
  it('are dropped by age and leave nothing behind but the number that was given last', async () => {
    const { auditLog } = store();
    const before = await auditLog.newest();
    const client = newClient();
    const payer = { clientHash: client.hash, detail: { subject: 'a payer' } };
    for (const entry of ['first of the old', 'second of the old', 'last of the old'])
      await auditLog.append({ at: T0, entry, payer });
    expect(await dump()).to.include(client.hash);
    await auditLog.append({ at: T0 + RETENTION.auditMs + 1, entry: 'a new one', payer: null });
    const { links } = await auditLog.read(null, 100);
    expect(links.map(({ number, body }) => [number, JSON.parse(body).entry])).to.deep.equal([
      [before + 3, 'last of the old'],
      [before + 4, 'a new one'],
    ]);
    expect(await auditLog.newest()).to.equal(before + 4);
    const left = await dump();
    for (const gone of [client.hash, 'a payer', 'first of the old', 'second of the old'])
      expect(left).not.to.include(gone);
  });

  it('take each number once, whoever writes', async () => {
    const { auditLog } = store();
    const before = await auditLog.newest();
    const notes = Array.from({ length: 20 }, (_, entry) => ({ at: Date.now(), entry, payer: null }));
    await Promise.all(notes.map((note) => auditLog.append(note)));
    const { links } = await auditLog.read(String(before), 100);
    expect(links.map(({ number }) => number)).to.deep.equal(notes.map((_, index) => before + 1 + index));
  });
}
