import { expect } from 'chai';
import { deriveNetworkKeys, parseAddress } from '#decision/addresses.ts';
import type { Decision } from '#decision/decision.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import {
  addShownDeviceToPacked,
  type ListedDevice,
  listRememberedDevices,
} from '#decision/payer/known-devices.ts';
import { createPlatformDeviceNameConverter, createPseudonymizer } from '#decision/pseudonym.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import { Audit } from '#workbench/access/audit.ts';
import { Proposals } from '#workbench/approvals/proposals.ts';
import { TEST_SALT } from '../../../decision/payer/client-keys.ts';
import { ArchivedStore } from '../../../history/archive/archived-store.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { SIGNAL_SECRET, serviceOfSuite, startService } from '../../../service/running-service.ts';
import type { Tenant } from '../../../service/tenant.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { scoring } from '../../commands/scoring.ts';

interface Exported {
  readonly platform: string;
  readonly clientIdKey: string;
  readonly state: {
    readonly seq: number;
    readonly hints: { readonly shown: readonly object[] };
    readonly knownDevices: { readonly fingerprints: readonly ListedDevice[] };
  } | null;
  readonly lists: readonly { readonly list: string; readonly value: string; readonly reason: string }[];
  readonly proposals: readonly { readonly subject: string }[];
  readonly audit: readonly { readonly action: string; readonly subject: string | null }[];
  readonly decisions: readonly Decision[];
  readonly history: readonly { readonly kind: string; readonly clientIdKey: string }[];
  readonly complete: boolean;
}

/** The members that hold a number of the size of a moment in milliseconds. */
function listMomentsLeft(value: unknown, path = ''): readonly string[] {
  if (typeof value === 'number') return value > Date.UTC(2000) ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => listMomentsLeft(one, `${path}.${name}`));
}

describeOnStores('the export of a client', (store) => {
  let archived: ArchivedStore;
  let reader: ArchiveReader;
  before(async () => {
    archived = await ArchivedStore.open(store());
    reader = archived.reader();
  });
  const { service, shop } = serviceOfSuite(() => ({ store: store(), archive: reader }));
  after(async () => {
    await archived?.release();
  });

  const exported = async (clientIdKey: string, of: Tenant = shop): Promise<Exported> => {
    const { status, body } = await of.ask<Exported>('GET', `client/export?clientIdKey=${clientIdKey}`);
    expect(status).to.equal(200);
    return body;
  };

  /** As by a key with approvals required. */
  async function proposeTrust(clientIdKey: string): Promise<void> {
    const { registers, auditLog, clientKeys } = store();
    const { now } = service.clock;
    const proposals = new Proposals(registers, new Audit(auditLog, now), clientKeys, now);
    const override = { group: 'TRUSTED', reason: 'knows us', expiresAt: null } as const;
    await proposals.add(
      toPlatformName('shop'),
      { what: 'override', clientIdKey, ...override },
      { subject: clientIdKey, basis: 'nothing', lines: [], versions: null },
      { text: 'key shop 1', owner: 'key shop 1' },
    );
  }

  /** Enough for several pages of the document, with every kind of entry. */
  async function live(clientIdKey: string, verdicts: number, from = 1): Promise<void> {
    await shop.score({ clientIdKey, fingerprint: 'device-of-ann', ip: '192.0.2.7' });
    const orders = Array.from({ length: verdicts }, (_, index) => `order-${from + index}`);
    await Promise.all(orders.map((orderRef) => shop.verdict({ clientIdKey, orderRef })));
    const reports = orders.map((orderRef) => ({ clientIdKey, orderRef, outcome: 'PAID' }));
    const lines = reports.map((report) => `${JSON.stringify(report)}\n`).join('');
    await shop.ask('POST', 'outcomes', lines, { 'Content-Type': 'application/x-ndjson' });
    await shop.bind(clientIdKey);
    await shop.override(clientIdKey, 'BLOCKED');
  }

  it('is one document of store and archive: nothing twice, nothing left out', async () => {
    await live('ann', 120);
    await archived.shipAll(archived.shipper({ kept: { journalEntries: 0, decisionsHotMs: 0 } }));
    await live('ann', 3, 121);
    await live('bob', 1);
    const document = await exported('ann');
    expect(document.decisions.map(({ seq }) => seq)).to.deep.equal(
      Array.from({ length: 123 }, (_, index) => 123 - index),
    );
    const kinds = Object.groupBy(document.history, ({ kind }) => kind);
    expect(Object.entries(kinds).map(([kind, entries = []]) => [kind, entries.length])).to.have.deep.members([
      ['outcome', 123],
      ['score', 2],
      ['binding', 2],
      ['override', 2],
    ]);
    expect(new Set(document.history.map(({ clientIdKey }) => clientIdKey))).to.deep.equal(new Set(['ann']));
    expect(document.state?.seq).to.equal(123);
    expect(document.complete).to.equal(true);
  });

  it('has the lists, the proposals, the pseudonyms of devices, and the audit including this reading', async () => {
    await shop.score({ clientIdKey: 'cleo', fingerprint: 'device-of-cleo' });
    await shop.ask('PUT', 'lists/fraud-ring', { kind: 'client' });
    await shop.ask('PUT', 'lists/fraud-ring/entries?value=cleo', { reason: 'seen with bob' });
    await shop.override('cleo', 'BLOCKED');
    await proposeTrust('cleo');
    const document = await exported('cleo');
    expect(document.lists.map(({ list, value, reason }) => [list, value, reason])).to.deep.equal([
      ['fraud-ring', 'cleo', 'seen with bob'],
    ]);
    expect(document.proposals.map(({ subject }) => subject)).to.deep.equal(['cleo']);
    expect(JSON.stringify(document.state?.hints.shown)).to.match(/"fingerprint"/);
    expect(JSON.stringify(document)).not.to.contain('device-of-cleo');
    expect(document.audit.map(({ action }) => action)).to.deep.equal([
      'list',
      'override',
      'proposal',
      'client read',
    ]);
  });

  it('writes out every moment of the state and of the audit', async () => {
    await shop.score({ clientIdKey: 'gus', fingerprint: 'device-of-gus', ip: '192.0.2.7' });
    await live('gus', 3);
    const url = `${shop.platformUrl}/v1/platform/client/export?clientIdKey=gus`;
    const answer = await fetch(url, { headers: { 'X-KA-Access-Key': shop.key } });
    const { state, audit }: Exported = JSON.parse(await answer.text());
    expect(listMomentsLeft({ state, audit })).to.deep.equal([]);
    expect(audit.map(({ action }) => action)).to.include.members(['binding', 'override']);
  });

  it('of an unknown client has only the note of this reading', async () => {
    const { at: _, audit, ...nothing } = { at: 0, ...(await exported('nobody')) };
    expect(audit.map(({ action }) => action)).to.deep.equal(['client read']);
    const empty = { state: null, lists: [], proposals: [], decisions: [], history: [], complete: true };
    expect(nothing).to.deep.equal({ platform: 'shop', clientIdKey: 'nobody', ...empty });
  });

  it('says that it is not complete when an entry of the audit about the client cannot be read', async () => {
    await shop.override('fay', 'BLOCKED');
    const { hash: clientHash } = store().clientKeys.of(toPlatformName('shop'), 'fay');
    await store().auditLog.append({ at: 0, entry: 'changed', payer: { clientHash, detail: {} } });
    const { audit, complete } = await exported('fay');
    expect(audit.map(({ action }) => action)).to.deep.equal(['override', 'client read']);
    expect(complete).to.equal(false);
  });

  it("has the platform's own names of a device, whole and shortened", async () => {
    const bank = await service.tenant('bank');
    const device = { clientIdKey: 'eve', fingerprint: 'device-of-eve', ip: '192.0.2.66' };
    const texts: string[] = [];
    for (const one of [shop, bank]) {
      await one.score(device);
      await one.verdict({ clientIdKey: 'eve', orderRef: 'of-eve' });
      texts.push(JSON.stringify(await exported('eve', one)));
    }
    const kept = [
      createPseudonymizer(SIGNAL_SECRET)('fingerprint', device.fingerprint),
      createPseudonymizer(SIGNAL_SECRET)('ip', device.ip),
      ...[parseAddress(device.ip)].flatMap((address) =>
        address === null ? [] : deriveNetworkKeys(address, createPseudonymizer(SIGNAL_SECRET)),
      ),
    ];
    const { nameOf } = createPlatformDeviceNameConverter(SIGNAL_SECRET);
    const [known] = (await exported('eve')).state?.knownDevices.fingerprints ?? [];
    const [ofFingerprint = ''] = kept;
    const begins =
      listRememberedDevices(addShownDeviceToPacked('', { id: ofFingerprint, formerId: null }, 0), 0)[0]?.id ??
      '';
    expect(known?.id).to.equal(nameOf(toPlatformName('shop'), begins));
    expect(known?.id).not.to.equal(begins);
    for (const pseudonym of kept) {
      for (const text of texts) expect(text).not.to.include(pseudonym.slice(0, 6));
      const own = [toPlatformName('shop'), toPlatformName('bank')].map((one) => nameOf(one, pseudonym));
      for (const [place, name] of own.entries()) expect(texts[place]).to.include(name);
    }
  });

  it('does not mix in a client of the same name at another platform', async () => {
    const bank = await service.tenant('bank');
    await bank.verdict({ clientIdKey: 'ann', orderRef: 'of-the-bank' });
    const { decisions, lists, proposals } = await exported('ann', bank);
    expect(decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['of-the-bank']);
    expect([...lists, ...proposals]).to.deep.equal([]);
  });
});

describe('clients export', () => {
  const dataDir = temporaryDirectory();
  before(async () => {
    const store = openSqliteStore(dataDir, { salt: TEST_SALT });
    const service = await startService({ store });
    const shop = await service.tenant();
    await shop.verdict({ clientIdKey: 'ann', orderRef: 'order-1' });
    await service.stop();
    await store.close();
  });

  const run = (...args: readonly string[]) => scoring(['clients', 'export', ...args], { DATA_DIR: dataDir });

  it('prints the same as one JSON object, and is noted as a reading by the user', async () => {
    const { exitCode, stdout } = await run('ann', '--platform', 'shop');
    expect(exitCode).to.equal(0);
    const document: Exported = JSON.parse(stdout);
    expect(document.decisions.map(({ orderRef }) => orderRef)).to.deep.equal(['order-1']);
    expect(document.audit.map(({ action, subject }) => [action, subject])).to.deep.equal([
      ['client read', 'ann'],
    ]);
    expect(document.complete).to.equal(true);
  });

  it('refuses an id that no client has', async () => {
    const { exitCode, stderr } = await run('', '--platform', 'shop');
    expect([exitCode, stderr]).to.deep.equal([
      2,
      'error: client must have 1 to 256 characters of well-formed Unicode.\n',
    ]);
  });
});
