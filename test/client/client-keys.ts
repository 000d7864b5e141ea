import { type ClientKey, ClientKeys, type PlatformName } from '../../src/client/client-key.ts';

/** Of the stores that tests open themselves, so that they know their payers before they ask the store. */
export const TEST_SALT = 'salt-of-the-test-suite';

export const TEST_KEYS = new ClientKeys(TEST_SALT);

export function clientKey(platform: PlatformName, clientIdKey: string): ClientKey {
  return TEST_KEYS.of(platform, clientIdKey);
}
