import { expect } from 'chai';
import { erasedClients } from '../../../src/archive/archive.ts';
import { whileHere } from '../../../src/archive/frozen-archive.ts';
import type { ArchiveReader } from '../../../src/archive/read/archive-reader.ts';
import { DecisionLookup } from '../../../src/archive/read/decision-lookup.ts';
import { queryArchive } from '../../../src/archive/read/query.ts';
import { type ClientKey, clientNumber } from '../../../src/client/client-key.ts';
import type { Decision } from '../../../src/decision/decision.ts';
import { type Evidence, withEvidence } from '../../../src/evidence/source/evidence.ts';
import { makeInputView } from '../../../src/evidence/source/shared-devices.ts';
import { all } from '../../evidence/source/lived-evidence.ts';
import { newClient, newPlatform, paymentOf, T0, verdict } from '../../state/clients.ts';
import type { ArchivedStore } from '../archived-store.ts';
import { describeOnArchives } from '../describe-on-archives.ts';

describeOnArchives('an erased client before the archive is rewritten', (store, open) => {
  const platform = newPlatform();
  const [erased, other] = [newClient(platform, 'ann'), newClient(platform, 'bob')];
  let place: ArchivedStore;
  let reader: ArchiveReader;
  let lookup: DecisionLookup;
  let decision: Decision;

  before(async () => {
    place = await open();
    decision = await live(erased, 'order-1');
    await live(other, 'order-2');
    await place.shipAll();
    reader = place.reader(place.node());
    lookup = new DecisionLookup(store(), reader);
    await store().erase(erased);
  });
  after(() => place?.release());

  async function live(client: ClientKey, orderRef: string): Promise<Decision> {
    const made = await verdict(store(), client, orderRef, T0);
    await store().commit(paymentOf(client, await store().load(client), orderRef, T0 + 1));
    return made;
  }

  it('is still in its files', async () => {
    expect(await answer(CLIENTS, place, [])).to.deep.equal(['ann', 'bob']);
  });

  it('is not found by its decision, its order or its name', async () => {
    expect(await lookup.decision(decision.decisionId, null)).to.deep.equal({ decision: null, unread: [] });
    expect(await lookup.ofOrder(platform, 'order-1')).to.deep.equal({ decisions: [], unread: [] });
    expect(await lookup.ofClient(erased, 10)).to.deep.equal({ decisions: [], unread: [] });
    expect(await lookup.history(erased, 10)).to.deep.equal({ entries: [], complete: true, next: null });
  });

  it('is not among the decisions of its platform, however they are searched', async () => {
    const found = await lookup.find(platform, {}, 10);
    const paid = await lookup.find(platform, {}, 10, 'PAID');
    for (const decisions of [found.decisions, paid.decisions])
      expect(decisions.map(({ clientIdKey }) => clientIdKey)).to.deep.equal(['bob']);
  });

  it('is not in evidence', async () => {
    const erasedNow = await erasedClients(store());
    const look = async (evidence: Evidence) => {
      await makeInputView(evidence, []);
      const clientsIn = async (view: string) =>
        (await evidence.duck.rows(`SELECT DISTINCT client_hash AS number FROM ${view}`)).map(({ number }) =>
          String(number),
        );
      return Promise.all(['decisions', 'outcomes', 'orders', 'inputs'].map(clientsIn));
    };
    const seen = await whileHere(place.node(), EVERYTHING, (folder) =>
      withEvidence(all({ kind: 'archive', folder, erased: erasedNow }), look),
    );
    const bob = [clientNumber(other.hash)];
    expect(seen).to.deep.equal([bob, bob, bob, bob]);
  });

  it('is not in answers to SQL', async () => {
    const ask = (sql: string) => erasedClients(store()).then((clients) => answer(sql, place, clients));
    expect(await ask(CLIENTS)).to.deep.equal(['bob']);
    expect(await ask('SELECT client_id_key FROM outcomes')).to.deep.equal(['bob']);
  });

  it('is a client like any other when it comes back, before and after', async () => {
    const returned = await verdict(store(), erased, 'order-3', T0 + 10);
    expect((await lookup.ofClient(erased, 10)).decisions).to.deep.equal([returned]);
    await place.shipAll();
    expect(await erasedClients(store())).to.deep.equal([]);
    const found = await reader.decisionsOfClient(erased, 10, Number.MAX_SAFE_INTEGER);
    expect(found.decisions).to.deep.equal([returned]);
  });
});

const CLIENTS = 'SELECT client_id_key FROM decisions ORDER BY client_id_key';
const LIMITS = { rowsMax: 100, timeoutMs: 30_000, memoryMiB: 256 };

const EVERYTHING = () => true;

function answer(sql: string, { node }: ArchivedStore, clients: readonly string[]) {
  return whileHere(node(), EVERYTHING, async (folder) => {
    const { answer: told } = await queryArchive(folder, sql, LIMITS, clients);
    return told.rows.flat();
  });
}
