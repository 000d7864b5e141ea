import { type ClientKey, ClientKeys, type PlatformName } from '#decision/payer/client-key.ts';

/** For the stores that tests open themselves, whose salt is known beforehand. */
export const TEST_SALT = 'salt-of-the-test-suite';

export const TEST_KEYS = new ClientKeys(TEST_SALT);

export function clientKey(platform: PlatformName, clientIdKey: string): ClientKey {
  return TEST_KEYS.of(platform, clientIdKey);
}
