import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { SIGNAL_SECRET } from '../../service/running-service.ts';

/** Expects that a text contains nothing of a device: neither what was sent nor the stored HMACs. */
export function expectHidden(
  text: string,
  device: { readonly fingerprint: string; readonly ip: string; readonly userAgent: string },
): void {
  for (const secret of Object.values(device)) expect(text).not.to.include(secret);
  for (const [kind, value] of [
    ['fingerprint', device.fingerprint],
    ['ip', device.ip],
  ]) {
    const hmac = createHmac('sha256', SIGNAL_SECRET).update(`${kind}\0${value}`).digest('base64url');
    expect(text).not.to.include(hmac.slice(0, 6));
  }
}
