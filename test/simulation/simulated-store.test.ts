import { describeClientStore } from '../state/store-conformance.ts';
import { simulatedStore } from './simulated-store.ts';
import { StoredClients } from './stored-clients.ts';

describeClientStore('the simulated store', async () => {
  const clients = new StoredClients();
  return {
    store: simulatedStore(clients, clients, async (call) => call(), Date.now),
    spoil: async (client, text) => clients.spoil(client, text),
    dump: async () => clients.dump(),
    end: async () => {},
  };
});
