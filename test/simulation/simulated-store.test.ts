import { describeStore } from '../state/store-conformance.ts';
import { SimulatedStore } from './simulated-store.ts';
import { StoredClients } from './stored-clients.ts';

describeStore('the simulated store', async () => {
  const clients = new StoredClients();
  return {
    store: new SimulatedStore(clients, clients, async (call) => call(), Date.now),
    spoil: async (client, text) => clients.spoil(client, text),
    dump: async () => clients.dump(),
    end: async () => {},
  };
});
