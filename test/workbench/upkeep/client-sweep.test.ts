import { expect } from 'chai';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { type ClientState, UNKNOWN_CLIENT_STATE } from '#decision/payer/client-state.ts';
import { ClientCompactor } from '#workbench/upkeep/client-compactor.ts';
import { changeTo, newClient } from '../../state/clients.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';

const HOUR_MS = 3600_000;
const DAY_MS = 24 * HOUR_MS;
const T0 = Date.UTC(2026, 0, 1);

/** A payer known by a score alone. */
function scoredAt(at: number): ClientState {
  const hints = {
    scoredAt: at,
    shown: [{ hint: { kind: 'ip', id: 'hmac' }, lastAt: at }],
    asked: [],
  } as const;
  return { ...UNKNOWN_CLIENT_STATE, firstSeenAt: at, lastAt: at, hints };
}

describeOnStores('the sweep over the states of payers', (store) => {
  const sweep = (now: number) =>
    new ClientCompactor({
      store: store(),
      clock: () => now,
      onTrouble: (error) => {
        throw error;
      },
    }).run();
  const keep = async (state: ClientState): Promise<ClientKey> => {
    const client = newClient();
    await store().commit(changeTo(client, await store().load(client), state));
    return client;
  };
  const hintsOf = async (client: ClientKey) => (await store().load(client)).state.hints;

  it('removes only what can change no answer of payers who stay away', async () => {
    const now = T0 + 2 * DAY_MS;
    const away: ClientKey[] = [];
    for (let payer = 0; payer < 20; payer++) away.push(await keep(scoredAt(T0)));
    const present = await keep(scoredAt(now - HOUR_MS));
    expect(await sweep(now)).to.equal(20);
    for (const client of away)
      expect((await store().load(client)).state).to.deep.equal({ ...scoredAt(T0), hints: null });
    expect(await hintsOf(present)).to.deep.equal(scoredAt(now - HOUR_MS).hints);
  });

  it('begins once a day, whichever node checks', async () => {
    const client = await keep(scoredAt(T0));
    expect(await sweep(T0 + 3 * DAY_MS - 1)).to.equal(0);
    expect(await hintsOf(client)).not.to.equal(null);
    expect(await sweep(T0 + 3 * DAY_MS)).to.be.at.least(1);
    expect(await hintsOf(client)).to.equal(null);
  });

  it('continues the pass of a node that has died', async () => {
    const client = await keep(scoredAt(T0));
    const movedAt = T0 + 3 * DAY_MS + HOUR_MS;
    const { registers } = store();
    const others = JSON.stringify({ beganAt: T0 + 3 * DAY_MS, movedAt, cursor: '' });
    await registers.compareAndSet('client-sweep', await registers.read('client-sweep'), others);
    expect(await sweep(movedAt + 59_999)).to.equal(0);
    expect(await sweep(movedAt + 60_000)).to.equal(1);
    expect(await hintsOf(client)).to.equal(null);
  });

  it('never overwrites a newer state, nor brings back one that is gone', async () => {
    const client = await keep(scoredAt(T0));
    expect(await store().texts.replaceState(client.hash, 'another text', '[]')).to.equal(false);
    const text = (await store().load(client)).stamp.raw ?? '';
    await store().erase(client);
    expect(await store().texts.replaceState(client.hash, text, '[]')).to.equal(false);
    expect((await store().load(client)).state).to.deep.equal(UNKNOWN_CLIENT_STATE);
  });
});
