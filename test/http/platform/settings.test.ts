import { expect } from 'chai';
import type { SettingsSchema } from '../../../src/http/platform/settings.ts';
import type { Shape } from '../../../src/shapes.ts';
import { startService } from '../../service/running-service.ts';
import { temporarySqlite } from '../../stores/temporary-store.ts';
import { startFourEyes } from './approvals/four-eyes.ts';

type Settings = Shape<typeof SettingsSchema>;

const DAY_MS = 24 * 3_600_000;

describe('the settings over HTTP', () => {
  it('are those that this node was started with', async () => {
    const rateLimit = { ratePerSecond: 7, burst: 9, trustedProxies: 0 };
    const service = await startService({ basePath: '/scoring', rateLimit });
    const shop = await service.tenant('shop', ['figures']);
    const { status, body } = await shop.ask<Settings>('GET', 'settings');
    await service.stop();
    expect(status).to.equal(200);
    expect(body).to.deep.equal({
      platform: 'shop',
      approvals: 'off',
      limits: { perSecond: 7, burst: 9, atOnce: 128 },
      keptMs: { clients: 400 * DAY_MS, decisions: 90 * DAY_MS, archive: null, audit: 400 * DAY_MS },
      repeatsErasures: false,
      callers: { port: 0, tls: false, basePath: '/scoring' },
    });
  });

  it('say whether somebody else has to approve', async () => {
    const { store, remove } = temporarySqlite();
    const eyes = await startFourEyes(store);
    const { body } = await (await eyes.person('ann', 'shop')).ask<Settings>('GET', 'settings');
    await eyes.stop();
    await remove();
    expect(body.approvals).to.equal('required');
  });
});
