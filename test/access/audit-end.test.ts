import { expect } from 'chai';
import { AuditEnd } from '../../src/access/audit-end.ts';

const HOUR_MS = 3_600_000;

describe('the newest entry of the audit', () => {
  it('is told by its number and hash once an hour and at a drain, and an hour without the store is named', async () => {
    let now = 0;
    let end: { number: number; hash: string } | null = null;
    const told: unknown[] = [];
    const auditEnd = new AuditEnd({
      auditLog: { end: async () => (now > 3 * HOUR_MS ? Promise.reject(new Error('it is away')) : end) },
      clock: () => now,
      onTold: (known) => told.push([now, known]),
      onTrouble: (error) => told.push([now, String(error)]),
    });
    const lookAt = async (at: number) => {
      now = at;
      await auditEnd.look();
    };
    await lookAt(HOUR_MS);
    end = { number: 7, hash: 'a1' };
    for (const at of [HOUR_MS + 60_000, 2 * HOUR_MS - 1, 2 * HOUR_MS, 2 * HOUR_MS + 60_000]) await lookAt(at);
    // At a drain, whenever that is.
    await auditEnd.tell();
    await lookAt(3 * HOUR_MS);
    await lookAt(3 * HOUR_MS + 60_000);
    expect(told).to.deep.equal([
      [2 * HOUR_MS, '7:a1'],
      [2 * HOUR_MS + 60_000, '7:a1'],
      [3 * HOUR_MS + 60_000, 'Error: it is away'],
    ]);
  });
});
