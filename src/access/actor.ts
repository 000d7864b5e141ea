import { hostname, userInfo } from 'node:os';
import type { AccessKey } from './access-keys.ts';

/** Who a change through the HTTP API is put down to: `key 3f9a0c51d2e7` or `key 3f9a0c51d2e7 of risk-team`. */
export function actorOfKey({ id, owner }: AccessKey): string {
  return owner === undefined ? `key ${id}` : `key ${id} of ${owner}`;
}

/** Who a change by a command is put down to: the user of the operating system, like `user ann on ops-1`. */
export function actorOfUser(): string {
  return `user ${userInfo().username} on ${hostname()}`;
}
