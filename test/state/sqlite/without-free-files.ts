import { openSync } from 'node:fs';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { TEST_SALT } from '../../decision/payer/client-keys.ts';
import { newClient, verdict } from '../clients.ts';

/** Run with few files: opens a store, then every file that it may, and gives two verdicts. */
const [, , directory = ''] = process.argv;
const store = openSqliteStore(directory, { salt: TEST_SALT });
const client = newClient();
let refused = '';
while (refused === '') {
  try {
    openSync('/dev/null', 'r');
  } catch (error) {
    refused = String(error instanceof Error && 'code' in error ? error.code : error);
  }
}
await Promise.all([verdict(store, client, 'order-1'), verdict(store, newClient(), 'order-1')]);
await verdict(store, client, 'order-2');
const { state } = await store.load(client);
process.stdout.write(`${refused}, then ${state.seq} verdicts`);
