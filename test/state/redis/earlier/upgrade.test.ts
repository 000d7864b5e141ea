import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { clientKey, platformName } from '../../../../src/client/client-key.ts';
import { type Decision, recordedDecision } from '../../../../src/decision/decision.ts';
import { Metrics } from '../../../../src/metrics/metrics.ts';
import { fixedRules } from '../../../../src/rollout/rule-source.ts';
import { type AnsweredVerdict, ScoringService } from '../../../../src/service.ts';
import type { JournalRecord, Store } from '../../../../src/state/store.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { type RedisServers, startCluster, startStandalone } from '../../../servers/redis.ts';
import { command } from '../../../servers/redis-command.ts';
import { currentRules } from '../../../service/current-rules.ts';
import { openPatiently } from '../../../stores/temporary-store.ts';

/** What the version before wrote of two clients, and what it told of them; captured from that version. */
interface WrittenBefore {
  readonly now: number;
  readonly commands: readonly (readonly string[])[];
  readonly answers: Readonly<Record<string, AnsweredVerdict>>;
  readonly decisions: readonly Decision[];
  readonly cursorAfterTwo: string;
  readonly entries: readonly JournalRecord[];
}

const written: WrittenBefore = JSON.parse(
  readFileSync(new URL('./written-before.json', import.meta.url), 'utf8'),
);
const rules = currentRules();
const platform = platformName('demo');
const payer = clientKey(platform, 'payer');

/** A node of this version: a service on a connection of its own. */
class Node {
  readonly store: Store;
  readonly service: ScoringService;
  nowMs = written.now;

  constructor(store: Store) {
    this.store = store;
    this.service = new ScoringService({
      store,
      ruleSource: fixedRules(rules),
      clock: () => this.nowMs,
      pseudonym: (kind, text) => `${kind}-${text}`.padEnd(22, '-').slice(0, 22),
      metrics: new Metrics(),
    });
  }

  verdict(clientIdKey: string, orderRef: string, idempotencyKey: string): Promise<AnsweredVerdict> {
    const body = { sellPointKey: 'shop-1', clientIdKey, method: 'card', amountRequested: '25.00', orderRef };
    return this.service.verdict(platform, body, { requestId: `request-${idempotencyKey}`, idempotencyKey });
  }

  pay(clientIdKey: string, orderRef: string) {
    const paid = { outcome: 'PAID', cause: null, occurredAt: null } as const;
    return this.service.outcome(platform, { clientIdKey, orderRef, ...paid });
  }
}

const KINDS = [
  { name: 'Redis', start: startStandalone },
  { name: 'Redis Cluster', start: startCluster },
] as const;

for (const { name, start } of KINDS) {
  describeWithServer('redis-server', `what the version before wrote to ${name}`, () => {
    let servers: RedisServers;
    const nodes: Node[] = [];
    const newNode = async () => {
      const node = new Node(await openPatiently(servers.url));
      nodes.push(node);
      return node;
    };
    beforeEach(async () => {
      await Promise.all(nodes.splice(0).map(({ store }) => store.close()));
      await everywhere(servers, ['FLUSHALL']);
      for (const args of written.commands) await everywhere(servers, withEnd(args));
    });
    before(async () => {
      servers = await start();
    });
    after(async () => {
      await Promise.all(nodes.map(({ store }) => store.close()));
      await servers?.stop();
    });

    // What is read is the same wherever the keys lie, and opening a cluster for each test takes long.
    if (name === 'Redis') {
      describe('is read, and answered as before', () => {
        itHolds(newNode, async () => {});
      });

      describe('is read and answered as before once it was moved', () => {
        itHolds(newNode, async (node) => {
          await node.store.move()?.run(() => {});
          expect(node.store.move()).to.equal(null);
        });
      });

      it('is mended while it is moved: a state that cannot be read moves as it is, and once', async () => {
        const state = written.commands.find(
          ([kind, key]) => kind === 'SET' && key?.startsWith('s:') === true,
        );
        const [, key = ''] = state ?? [];
        await everywhere(servers, ['SET', key, 'torn']);
        const node = await newNode();
        await node.store
          .move()
          ?.run(() => {
            throw new Error('broken off');
          })
          .catch(() => {});
        const place = { kind: 'client', name: key.slice('s:{A}'.length) } as const;
        const torn = await node.store.texts.read(place);
        expect(torn?.text).to.equal('torn');
        expect(await node.store.texts.replace(place, torn?.stamp ?? '', 'torn again')).to.equal(true);
        expect((await node.store.texts.read(place))?.text).to.equal('torn again');
        expect(await node.store.texts.replace(place, torn?.stamp ?? '', 'by somebody else')).to.equal(false);
      });

      describe('is read and answered as before while it is moved, client by client', () => {
        itHolds(newNode, async (node) => {
          const other = await newNode();
          // Broken off before any client was moved: who is asked for moves.
          await other.store
            .move()
            ?.run(() => {
              throw new Error('broken off');
            })
            .catch(() => {});
          expect(node.store.move()).not.to.equal(null);
        });
      });
    }

    it('is written further where nodes of the version before read it, until it is moved', async () => {
      const node = await newNode();
      await node.verdict('payer', 'order-3', 'key-5');
      await node.verdict('newcomer', 'order-3', 'key-6');
      const keys = await keysOf(servers);
      const strange = keys.filter(
        (key) => !/^(?:[sdloaw]:\{.\}|journal:\{.\}|[a-z]|\{documents\})/.test(key),
      );
      expect(strange).to.deep.equal([]);
      expect(keys.filter((key) => /\{..\}/.test(key) && !key.startsWith('{'))).to.deep.equal([]);
      const raw = String(await everywhere(servers, ['GET', `d:{S}${payer.hash}.4`]));
      expect(JSON.parse(raw)).to.deep.equal(await node.store.decision(`${payer.hash}.4`));
    });

    it('loses no step and doubles none when it is moved under verdicts of nodes that know it and that do not', async () => {
      const [one, two] = [await newNode(), await newNode()];
      const acknowledged: string[] = [];
      const ask = async (node: Node, clientIdKey: string, number: number) => {
        const { decisionId } = await node.verdict(clientIdKey, `order-${number}`, `${clientIdKey}-${number}`);
        acknowledged.push(decisionId);
      };
      const storm = async (node: Node, from: number) => {
        for (let number = from; number < from + 15; number++)
          await Promise.all(['payer', 'other', `new-${number % 5}`].map((who) => ask(node, who, number)));
      };
      await Promise.all([storm(one, 100), storm(two, 200), one.store.move()?.run(() => {})]);
      await storm(two, 300);
      expect(new Set(acknowledged).size).to.equal(acknowledged.length);
      for (const id of acknowledged) {
        const decision = await two.store.decision(id);
        expect(decision?.decisionId).to.equal(id);
        const found = await two.store.decisionsOfOrder(platform, decision?.orderRef ?? '');
        expect(found.map(({ decisionId }) => decisionId)).to.include(id);
      }
      expect((await two.store.load(payer)).state.seq).to.equal(3 + 45);
    });

    it('is shipped once through a move: a cursor of before goes on where it stood', async () => {
      const node = await newNode();
      await node.verdict('payer', 'order-3', 'key-5');
      await node.store.move()?.run(() => {});
      await node.verdict('payer', 'order-4', 'key-7');
      const { entries, gap } = await node.store.readJournal(written.cursorAfterTwo, 100);
      expect(gap).to.equal(null);
      expect(entries.slice(0, 4)).to.deep.equal(written.entries.slice(2).map(asRecorded));
      const later = entries
        .slice(4)
        .map((entry) => (entry.kind === 'verdict' ? entry.decision.orderRef : ''));
      expect(later).to.deep.equal(['order-3', 'order-4']);
    });

    for (const isMoved of [false, true]) {
      it(`is erased without a trace, ${isMoved ? 'moved' : 'where it was written'}`, async () => {
        const node = await newNode();
        if (isMoved) await node.store.move()?.run(() => {});
        await node.store.erase(payer);
        expect((await keysOf(servers)).filter((key) => key.includes(payer.hash))).to.deep.equal([]);
        const entries = (await node.store.readJournal(null, 100)).entries;
        expect(JSON.stringify(entries)).not.to.include('"payer"');
      });
    }

    it('is known to be moved by a node that starts afterwards, and leaves a mark for one of before', async () => {
      const node = await newNode();
      await node.store.move()?.run(() => {});
      expect((await newNode()).store.move()).to.equal(null);
      expect(await everywhere(servers, ['GET', `s:{S}${payer.hash}`])).to.equal('moved');
    });
  });
}

/** The capture does not tell when texts end, and a note that is moved without an end is over within a second. */
function withEnd(args: readonly string[]): readonly string[] {
  return args[0] === 'SET' ? [...args, 'PX', String(24 * 3_600_000)] : args;
}

/** An entry as this version tells it: ids of decisions have a time. */
function asRecorded(entry: JournalRecord): JournalRecord {
  return entry.kind === 'verdict' ? { ...entry, decision: recordedDecision(entry.decision) } : entry;
}

/** The promises to clients of the earlier version, after `prepare`. */
function itHolds(newNode: () => Promise<Node>, prepare: (node: Node) => Promise<void>): void {
  let node: Node;
  beforeEach(async () => {
    node = await newNode();
    await prepare(node);
  });

  it('repeats what was answered under an Idempotency-Key', async () => {
    const orders = { 'key-1': 'order-1', 'key-2': 'order-2', 'key-3': 'order-2' };
    for (const [key, order] of Object.entries(orders))
      expect(await node.verdict('payer', order, key)).to.deep.equal({
        ...written.answers[key],
        replayed: true,
      });
    expect((await node.store.load(payer)).state.seq).to.equal(3);
  });

  it('knows the outcome of an order, and that it was paid', async () => {
    expect(await node.pay('payer', 'order-1')).to.equal('unchanged');
    expect((await node.store.load(payer)).state.outcomes.paidCount).to.equal(1);
  });

  it('goes on counting: the next verdict is the fourth', async () => {
    const { decisionId } = await node.verdict('payer', 'order-2', 'key-9');
    expect(decisionId.startsWith(`${payer.hash}.4.`)).to.equal(true);
    const seqs = (await node.store.decisionsOfClient(payer, 10)).map(({ seq }) => seq);
    expect(seqs).to.deep.equal([4, 3, 2, 1]);
  });

  it('finds the decisions of an order, and of the whole platform', async () => {
    const recorded = written.decisions.map(recordedDecision);
    expect(await node.store.decisionsOfOrder(platform, 'order-2')).to.deep.equal(recorded);
    const { decisions } = await node.store.findDecisions(platform, {}, 10);
    expect(decisions).to.have.length(4);
  });

  it('tells the history of a client', async () => {
    const { entries, complete } = await node.store.historyOfClient(payer, 10);
    expect(entries.map(({ kind }) => kind)).to.deep.equal([
      'verdict',
      'outcome',
      'verdict',
      'verdict',
      'score',
    ]);
    expect(complete).to.equal(true);
  });
}

/** Sends a command to the server that takes it; of several answers the first. */
async function everywhere({ nodes }: RedisServers, args: readonly string[]): Promise<unknown> {
  const answers: unknown[] = [];
  for (const { port } of nodes) {
    try {
      answers.push(await command(port, args));
    } catch (error) {
      if (!(error instanceof Error && /^(MOVED|READONLY)/.test(error.message))) throw error;
    }
  }
  return answers[0];
}

async function keysOf({ nodes }: RedisServers): Promise<readonly string[]> {
  const keys = await Promise.all(nodes.map(({ port }) => command(port, ['KEYS', '*'])));
  return [...new Set(keys.flat().map(String))].filter((key) => !key.startsWith('probe'));
}
