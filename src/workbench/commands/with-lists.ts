import { exactSystemClock } from '#base/clock.ts';
import { ListNode } from '#checkout/lists/list-node.ts';
import { readConfig, signalSecretOf } from '#config.ts';
import type { Pseudonymize } from '#decision/addresses.ts';
import type { PlatformName } from '#decision/payer/client-key.ts';
import { createDeviceNames, createPseudonymizer } from '#decision/pseudonym.ts';
import type { DeviceNames } from '#decision/shared-lists.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import type { Store } from '#state/store.ts';
import { formatUserActor } from '#workbench/access/actors.ts';
import { Audit } from '#workbench/access/audit.ts';
import { type EditedList, ListEditor, ListRefusal, UnknownList } from '#workbench/lists/list-editor.ts';
import { agreeOnSecret, SECRET_REGISTER } from '#workbench/upkeep/signal-secret.ts';
import { FindingsError } from './exit.ts';
import { withOpenStore } from './open-store.ts';

interface OpenLists {
  readonly node: ListNode;
  readonly editor: ListEditor;
  readonly store: Store;
  readonly pseudonym: Pseudonymize;
  readonly names: DeviceNames;
  /** Epoch ms. */
  readonly clock: () => number;
}

/** Runs a command on the shared lists of the store that the environment names. */
export function withLists<T>(run: (lists: OpenLists) => Promise<T>): Promise<T> {
  const config = readConfig();
  return withOpenStore(async (store) => {
    const clock = createStoreClock(exactSystemClock, store);
    // Under another secret than the service's no fingerprint and no address would be recognised.
    const isNoted = (await store.registers.read(SECRET_REGISTER)) !== null;
    const signalSecret = signalSecretOf(config);
    if (isNoted) await agreeOnSecret(store.registers, { ...config, signalSecret }, clock());
    const { listLog, clientKeys } = store;
    const pseudonym = createPseudonymizer(signalSecret);
    const node = new ListNode({ listLog, pseudonym, clock });
    const names = createDeviceNames(signalSecret);
    const audit = new Audit(store.auditLog, clock);
    await node.sync();
    return run({
      node,
      store,
      pseudonym,
      names,
      clock,
      editor: new ListEditor({ listLog, node, pseudonym, names, audit, clientKeys, clock }),
    });
  }).catch((error: unknown) => {
    throw error instanceof ListRefusal || error instanceof UnknownList
      ? new FindingsError(error.message)
      : error;
  });
}

export function editedByUser(owner: PlatformName, list: string): EditedList {
  return { owner, list, who: formatUserActor() };
}
