import { hash } from 'node:crypto';
import { expect } from 'chai';
import { INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { encodeEntry, hashEntryId } from '#checkout/lists/list-entry.ts';
import { ListNode } from '#checkout/lists/list-node.ts';
import { NO_DECLARED_ATTRIBUTES } from '#decision/payer/attributes.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { createPlatformDeviceNameConverter, createPseudonymizer } from '#decision/pseudonym.ts';
import type { RequestLookupParts } from '#decision/shared-lists.ts';
import type { ListLog, Store } from '#state/store.ts';
import { StoreUnavailable } from '#state/store-errors.ts';
import { Audit, TooManyAuditedChanges } from '#workbench/access/audit.ts';
import { ListEditor, ListRefusal, type NewListEntry, UnknownList } from '#workbench/lists/list-editor.ts';
import { TEST_KEYS } from '../../decision/payer/client-keys.ts';
import { until } from '../../servers/until.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const NOW = Date.UTC(2026, 10, 21);
const SECRET = 'a secret of this test that is long enough';
const pseudonym = createPseudonymizer(SECRET);
const names = createPlatformDeviceNameConverter(SECRET);

let platforms = 0;

/** Two nodes that share a store, the first with somebody who changes lists. */
function fleet(store: Store, clock = () => NOW) {
  const { listLog } = store;
  const platform = toPlatformName(`shop-${++platforms}`);
  const node = new ListNode({ listLog, pseudonym, clock });
  const other = new ListNode({ listLog, pseudonym, clock });
  const audit = new Audit(store.auditLog, clock);
  const editor = new ListEditor({ listLog, node, pseudonym, names, audit, clientKeys: TEST_KEYS, clock });
  const desk = { owner: platform, list: 'watched', who: 'key 1' };
  const put = async (value: string, more: Partial<NewListEntry> = {}) => {
    await editor.createList(desk, 'client');
    return editor.put(desk, { value, reason: 'chargebacks', expiresAt: null, ...more });
  };
  return { platform, node, other, audit, editor, desk, put };
}

function isListed(node: ListNode, platform: PlatformName, clientIdKey: string, now = NOW): boolean {
  const subject: RequestLookupParts = {
    platform,
    clientIdKey,
    method: 'card',
    sellPointKey: 'shop-1',
    fingerprints: [pseudonym('fingerprint', `device of ${clientIdKey}`)],
    ips: [],
    networks: [],
    attributes: {},
    declaredAttributes: NO_DECLARED_ATTRIBUTES,
  };
  return node.find('watched', subject, now) !== null;
}

async function refusalOf(change: Promise<unknown>): Promise<string> {
  const error = await change.catch((reason: unknown) => reason);
  if (error instanceof ListRefusal) return error.message;
  throw error;
}

describeOnStores('shared lists', (store) => {
  it('hold what is put on them, on every node that has synced since', async () => {
    const { node, other, platform, put } = fleet(store());
    const kept = await put('ann', { expiresAt: NOW + 1000 });
    expect(kept).to.deep.include({ value: 'ann', reason: 'chargebacks', who: 'key 1', addedAt: NOW });
    expect(isListed(node, platform, 'ann')).to.equal(true);
    expect(isListed(other, platform, 'ann')).to.equal(false);
    await other.sync();
    expect(isListed(other, platform, 'ann')).to.equal(true);
    expect(isListed(other, platform, 'bob')).to.equal(false);
    expect(isListed(other, platform, 'ann', NOW + 1000)).to.equal(false);
    expect(isListed(other, toPlatformName('elsewhere'), 'ann')).to.equal(false);
  });

  it('lose what is removed, and removing it again changes nothing', async () => {
    const { node, other, platform, put, editor, desk } = fleet(store());
    await put('ann');
    await other.sync();
    expect(await editor.remove(desk, 'ann', 'a mistake')).to.equal(true);
    expect(await editor.remove(desk, 'ann', 'a mistake')).to.equal(false);
    await other.sync();
    expect([node, other].map((one) => isListed(one, platform, 'ann'))).to.deep.equal([false, false]);
  });

  it('are changed by the platforms in turns, however many changes one of them has', async () => {
    const { editor, desk } = fleet(store());
    const { desk: othersDesk } = fleet(store());
    const ended: string[] = [];
    const change = async (name: string, { owner }: typeof desk) => {
      const ask = { value: name, reason: 'chargebacks', expiresAt: null } as const;
      await editor.changeMany({ ...desk, owner }, [{ kind: 'put', ask }]);
      ended.push(name);
    };
    await editor.createList(desk, 'client');
    await editor.createList(othersDesk, 'client');
    const much = ['first', 'second', 'third', 'fourth'].map((name) => change(name, desk));
    await Promise.all([...much, change('the other', othersDesk)]);
    expect(ended).to.deep.equal(['first', 'the other', 'second', 'third', 'fourth']);
  });

  it('are followed in the background, by nodes that start later, too', async () => {
    const { other, platform, put } = fleet(store());
    await put('ann');
    await other.start();
    try {
      expect(isListed(other, platform, 'ann')).to.equal(true);
      await put('bob');
      await until('the other node has heard of it', async () => isListed(other, platform, 'bob'), 2000);
    } finally {
      other.stop();
    }
  });

  it('stay as they are on a node while its store is away, which catches up afterwards', async () => {
    const { platform, put, editor, desk } = fleet(store());
    let isAway = false;
    const cut: ListLog = {
      ...store().listLog,
      read: (after, limit) =>
        isAway ? Promise.reject(new StoreUnavailable('cut off')) : store().listLog.read(after, limit),
    };
    const troubles: string[] = [];
    const onTrouble = (message: string) => troubles.push(message);
    const node = new ListNode({ listLog: cut, pseudonym, clock: () => NOW, onTrouble });
    await put('ann');
    await node.start();
    try {
      isAway = true;
      await put('bob');
      await editor.remove(desk, 'ann', null);
      await until('the node tells', async () => troubles.length > 0);
      expect([isListed(node, platform, 'ann'), isListed(node, platform, 'bob')]).to.deep.equal([true, false]);
      isAway = false;
      await until('the node has caught up', async () => isListed(node, platform, 'bob'));
      expect(isListed(node, platform, 'ann')).to.equal(false);
      expect(troubles).to.deep.equal(['the shared lists could not be updated from the store']);
    } finally {
      node.stop();
    }
  });

  it('are read anew by a node whose store was emptied, or that missed forgotten changes', async () => {
    const { platform, put, node } = fleet(store());
    await put('ann');
    const page = { records: [], latest: 3, horizon: 0, epoch: 'another' };
    for (const changed of [
      page,
      { ...page, latest: 1e9, horizon: 1e9, epoch: (await store().listLog.read(0, 1)).epoch },
    ]) {
      const read: ListLog['read'] = async () => changed;
      let isChanged = false;
      const behind = new ListNode({
        listLog: {
          ...store().listLog,
          read: (after, limit) => (isChanged ? read(after, limit) : store().listLog.read(after, limit)),
        },
        pseudonym,
        clock: () => NOW,
      });
      await behind.sync();
      expect(isListed(behind, platform, 'ann')).to.equal(true);
      isChanged = true;
      await behind.sync();
      expect(behind.copy.size).to.equal(0);
      isChanged = false;
      await behind.sync();
      expect(behind.copy.size).to.equal(node.copy.size);
    }
  });

  it('keep fingerprints by their HMAC alone', async () => {
    const { editor, desk, platform, node } = fleet(store());
    const ask = { reason: 'shared by a ring', expiresAt: null } as const;
    await editor.createList(desk, 'fingerprint');
    const entry = await editor.put(desk, { ...ask, value: 'device of ann' });
    const { value } = editor.toOwnerView(entry);
    expect(entry.value).to.equal(`hmac:${pseudonym('fingerprint', 'device of ann')}`);
    expect(value).to.equal(`hmac:${names.nameOf(platform, pseudonym('fingerprint', 'device of ann'))}`);
    expect(isListed(node, platform, 'ann')).to.equal(true);
    const page = await store().listLog.read(0, 10_000);
    expect(JSON.stringify(page)).not.to.include('device of ann');
    expect(await editor.remove(desk, value, null)).to.equal(true);
  });

  it('take the name of a device from the platform that knows it by that name, and from no other', async () => {
    const ask = { reason: 'leaked', expiresAt: null } as const;
    const [own, other] = [fleet(store()), fleet(store())];
    for (const { editor, desk } of [own, other]) await editor.createList(desk, 'fingerprint');
    const shown = own.editor.toOwnerView(await own.editor.put(own.desk, { ...ask, value: 'device of ann' }));
    for (const leaked of [shown.value, `hmac:${pseudonym('fingerprint', 'device of ann')}`]) {
      await other.editor.put(other.desk, { ...ask, value: leaked });
      expect(isListed(other.node, other.platform, 'ann')).to.equal(false);
    }
    await own.editor.remove(own.desk, 'device of ann', null);
    await own.editor.put(own.desk, { ...ask, value: shown.value });
    expect(isListed(own.node, own.platform, 'ann')).to.equal(true);
  });

  it('keep values of attributes by their HMAC alone, and name the attribute', async () => {
    const { editor, desk, audit, platform } = fleet(store());
    const made = await editor.createList(desk, 'attribute', 'wallet');
    expect(made).to.deep.include({ kind: 'attribute', attribute: 'wallet' });
    const ask = { value: 'wallet-1', reason: 'a ring', expiresAt: null } as const;
    const entry = await editor.put(desk, ask);
    expect(editor.toOwnerView(entry).value).to.equal(`hmac:${pseudonym('attribute', 'wallet-1')}`);
    const noted = (await audit.read(null, 10_000)).entries.filter((one) => one.platform === platform);
    expect(noted[0]?.after).to.deep.equal({ kind: 'attribute', attribute: 'wallet' });
    expect(JSON.stringify([noted, await store().listLog.read(0, 10_000)])).not.to.include('wallet-1');
    expect(await editor.createList(desk, 'attribute', 'wallet')).to.deep.equal(made);
    expect(await refusalOf(editor.createList(desk, 'attribute', 'phone'))).to.equal(
      'The list watched holds entries of kind attribute wallet; make a list with another name.',
    );
    expect(await editor.remove(desk, 'wallet-1', null)).to.equal(true);
  });

  it('of kind attribute name one, and those of no other kind do', async () => {
    const { editor, desk } = fleet(store());
    expect(await refusalOf(editor.createList(desk, 'attribute'))).to.equal(
      '"attribute" is required with kind attribute: the name under which callers send it.',
    );
    expect(await refusalOf(editor.createList(desk, 'ip', 'wallet'))).to.equal(
      '"attribute" goes only with kind attribute.',
    );
    expect(await refusalOf(editor.createList(desk, 'attribute', 'my wallet'))).to.equal(
      '"attribute" has letters, digits and "_", starts with a letter, at most 64 characters, like cardCountry, unlike "my wallet".',
    );
  });

  it('hold one attribute, also when two nodes make them at once', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { node, other, audit, desk, editor } = fleet(store());
      const { listLog } = store();
      const parts = {
        names,
        listLog,
        node: other,
        pseudonym,
        audit,
        clientKeys: TEST_KEYS,
        clock: () => NOW,
      };
      const made = [
        editor.createList(desk, 'attribute', 'wallet'),
        new ListEditor(parts).createList(desk, 'attribute', 'phone'),
      ];
      const ends = await Promise.all(made.map((one) => one.catch((error: unknown) => error)));
      expect(ends.filter((end) => end instanceof ListRefusal)).to.have.length(1);
      await Promise.all([node.sync(), other.sync()]);
      const attributes = [node, other].map(
        ({ copy }) => copy.findListRecord(desk.owner, desk.list)?.attribute,
      );
      expect(new Set(attributes).size).to.equal(1);
    }
  });

  it('note in the audit who changed what, before and after, and why', async () => {
    const { audit, put, editor, desk, platform } = fleet(store());
    await put('ann');
    await put('ann', { reason: 'more chargebacks' });
    await editor.remove(desk, 'ann', 'paid back');
    const entries = (await audit.read(null, 10_000)).entries.filter((entry) => entry.platform === platform);
    const told = entries.map(({ number: _number, hash: _hash, ...entry }) => entry);
    const kept = { kind: 'client', value: 'ann', expiresAt: null };
    const first = { ...kept, reason: 'chargebacks' };
    const second = { ...kept, reason: 'more chargebacks' };
    const common = { at: NOW, who: 'key 1', action: 'list', platform, subject: 'watched' };
    expect(told).to.deep.equal([
      { ...common, before: null, after: { kind: 'client' }, reason: null },
      { ...common, before: null, after: first, reason: 'chargebacks' },
      { ...common, before: first, after: second, reason: 'more chargebacks' },
      { ...common, before: second, after: null, reason: 'paid back' },
    ]);
  });

  it('take many changes at once, and refuse each bad line by itself', async () => {
    const { audit, editor, desk, platform, node } = fleet(store());
    const put = (value: string, more: Partial<NewListEntry> = {}) =>
      ({ kind: 'put', ask: { value, reason: 'import', expiresAt: null, ...more } }) as const;
    await editor.createList(desk, 'client');
    const effects = await editor.changeMany(desk, [
      put('ann'),
      put('ann'),
      put('bob', { expiresAt: NOW }),
      put(''),
      { kind: 'remove', value: 'carl' },
    ]);
    expect(effects.map((effect) => (effect instanceof ListRefusal ? effect.message : effect))).to.deep.equal([
      'added',
      'unchanged',
      'expiresAt is in the past; leave it out for an entry without an end.',
      'A value has 1 to 256 characters of well-formed Unicode.',
      'absent',
    ]);
    expect(isListed(node, platform, 'ann')).to.equal(true);
    expect(await editor.changeMany(desk, [put('ann'), put('ann', { reason: 'other' })])).to.deep.equal([
      'unchanged',
      'changed',
    ]);
    const entries = (await audit.read(null, 10_000)).entries.filter((entry) => entry.platform === platform);
    const digestOf = (reason: string) => {
      const asked = {
        list: 'watched',
        kind: 'client',
        attribute: null,
        value: 'ann',
        keys: ['ann'],
      } as const;
      const common = { owner: platform, ...asked };
      const entry = { ...common, reason, who: 'key 1', addedAt: NOW, expiresAt: null };
      return hash('sha256', JSON.stringify([{ id: hashEntryId(entry), text: encodeEntry(entry) }]));
    };
    expect(entries.map(({ after }) => after)).to.deep.equal([
      { kind: 'client' },
      { added: 1, changed: 0, removed: 0, lines: 5, sha256: digestOf('import') },
      { added: 0, changed: 1, removed: 0, lines: 2, sha256: digestOf('other') },
    ]);
  });

  it('stay as they are when a key makes more changes than the audit notes', async () => {
    const { audit, editor, desk, node, platform, put } = fleet(store());
    await put('ann');
    for (let made = 2; made < 2_000; made += 1) audit.admit(desk.who, 'list');
    for (const change of [
      () => editor.createList({ ...desk, list: 'other' }, 'ip'),
      () => put('bob'),
      () => editor.remove(desk, 'ann', null),
    ]) {
      expect(await change().catch((error: unknown) => error)).to.be.instanceOf(TooManyAuditedChanges);
    }
    expect(['ann', 'bob'].map((client) => isListed(node, platform, client))).to.deep.equal([true, false]);
  });

  it('apply the lines of one request in order, so that the last one about a value counts', async () => {
    const { editor, desk, platform, node, put: putOne } = fleet(store());
    const put = (value: string) =>
      ({ kind: 'put', ask: { value, reason: 'import', expiresAt: null } }) as const;
    const remove = (value: string) => ({ kind: 'remove', value }) as const;
    await putOne('bob', { reason: 'import' });
    const edits = [
      put('ann'),
      remove('ann'),
      remove('bob'),
      put('bob'),
      put('carl'),
      remove('carl'),
      put('carl'),
    ];
    expect(await editor.changeMany(desk, edits)).to.deep.equal([
      'added',
      'removed',
      'removed',
      'added',
      'added',
      'removed',
      'added',
    ]);
    const listed = ['ann', 'bob', 'carl'].map((name) => isListed(node, platform, name));
    expect(listed).to.deep.equal([false, true, true]);
  });

  it('hold one kind, also when two nodes make them at once', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { node, other, audit, desk, editor } = fleet(store());
      const { listLog } = store();
      const clock = () => NOW;
      const parts = { names, listLog, node: other, pseudonym, audit, clientKeys: TEST_KEYS, clock };
      const made = [editor.createList(desk, 'client'), new ListEditor(parts).createList(desk, 'method')];
      const ends = await Promise.all(made.map((one) => one.catch((error: unknown) => error)));
      expect(ends.filter((end) => end instanceof ListRefusal)).to.have.length(1);
      await Promise.all([node.sync(), other.sync()]);
      const kinds = [node, other].map(({ copy }) => copy.findListRecord(desk.owner, desk.list)?.kind);
      expect(new Set(kinds).size).to.equal(1);
    }
  });

  it('are made once with one kind, and take nothing before', async () => {
    const { editor, desk, put } = fleet(store());
    const ask = { value: 'ann', reason: 'x', expiresAt: null };
    const edits = [{ kind: 'put', ask }] as const;
    await put('ann');
    const misspelt = { ...desk, list: 'wached' };
    for (const change of [
      () => editor.put(misspelt, ask),
      () => editor.changeMany(misspelt, edits),
      () => editor.remove(misspelt, 'ann', null),
    ]) {
      const error = await change().catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(UnknownList);
      expect(String(error)).to.include('There is no list "wached"; did you mean "watched"?');
    }
    const first = await editor.createList(desk, 'client');
    expect(await editor.createList(desk, 'client')).to.deep.equal(first);
    expect(await refusalOf(editor.createList(desk, 'ip'))).to.equal(
      'The list watched holds entries of kind client; make a list with another name.',
    );
  });

  it('lose an erased client, and the audit log what was noted about it', async () => {
    const { node, other, platform, put, editor, desk } = fleet(store());
    await put('ann');
    await put('bob');
    await other.sync();
    await editor.removeClient(platform, 'ann');
    await other.sync();
    expect([node, other].map((one) => isListed(one, platform, 'ann'))).to.deep.equal([false, false]);
    expect(isListed(other, platform, 'bob')).to.equal(true);
    expect(editor.find(desk.owner, desk.list, 'ann')).to.equal(null);
    const mine = (await store().listLog.read(0, 10_000)).records.filter(({ id }) =>
      id.startsWith(`${platform}/`),
    );
    expect(mine.map(({ text }) => text === null)).to.have.members([true, false, false]);
    expect(JSON.stringify(mine)).not.to.include('"ann"');
  });

  it('of the whole installation hold no clients, and hold for every platform', async () => {
    const { editor, desk, platform, node } = fleet(store());
    const all = { ...desk, owner: INSTALLATION_PLATFORM };
    const ask = { value: 'card', reason: 'an outage', expiresAt: null } as const;
    expect(await refusalOf(editor.createList(all, 'client'))).to.equal(
      'A client belongs to one platform, so a list of the whole installation holds none.',
    );
    await editor.createList(all, 'method');
    await editor.put(all, ask);
    expect(isListed(node, platform, 'anybody')).to.equal(true);
    await editor.remove(all, 'card', null);
    expect(isListed(node, platform, 'anybody')).to.equal(false);
  });

  it('refuse a name that no rule could write', async () => {
    const { editor, desk } = fleet(store());
    expect(await refusalOf(editor.createList({ ...desk, list: 'Watched' }, 'client'))).to.equal(
      'The name of a list has lower-case words joined by "-", starting with a letter, at most 64 characters, like fast-methods.',
    );
  });
});
