import { expect } from 'chai';
import type { Commit } from '#state/store.ts';
import { violations } from './invariants.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { StoreServer } from './simulated-store.ts';
import type { StoredClients } from './stored-clients.ts';
import { type Sabotage, type Storm, storm } from './storm.ts';

/** How many seeds are run, or only one, to repeat a failing seed. */
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 500);
const ONLY = process.env['SIMULATION_SEED'];

const FILE = 'test/simulation/commit-protocol.test.ts';

/** A planted bug must show within this many seeds. */
const SEEDS_FOR_A_BUG = 300;

/** What is wrong after one seed, with the command to repeat it. */
async function complaints(seed: number, sabotage?: Sabotage): Promise<readonly string[]> {
  const found = await storm(seed, sabotage).then(violations, (error) => [String(error)]);
  if (found.length === 0) return [];
  return [`seed ${seed}: SIMULATION_SEED=${seed} npx mocha --no-config ${FILE}`, ...found];
}

/** The first seed that shows a planted bug. */
async function firstComplaint(sabotage: Sabotage): Promise<readonly string[]> {
  for (let seed = 1; seed <= SEEDS_FOR_A_BUG; seed++) {
    const found = await complaints(seed, sabotage);
    if (found.length > 0) return found;
  }
  return [];
}

/** The statuses and answers that callers met. */
function whatHappened({ history }: Storm): readonly string[] {
  const verdicts = history.verdicts.flatMap(({ status }) => {
    if (status.kind !== 'answered') return [status.kind];
    return [status.kind, status.answer.answer.verdict, ...(status.answer.replayed ? ['replayed'] : [])];
  });
  const outcomes = history.outcomes.map(({ status }) =>
    status.kind === 'answered' ? status.answer : status.kind,
  );
  return [...verdicts, ...outcomes];
}

/** A server with one call done wrongly. */
function serverWith(clients: StoredClients, commit: StoreServer['commit']): StoreServer {
  return {
    load: (client, also, nowMs) => clients.load(client, also, nowMs),
    sightings: (ask) => clients.sightings(ask),
    notePayment: (payment) => clients.notePayment(payment),
    claim: (platform, key, requestHash) => clients.claim(platform, key, requestHash),
    commit,
  };
}

function withoutAnswer({ idempotencyKey: _forgotten, ...rest }: Commit): Commit {
  return rest;
}

function withoutDecision({ decision: _forgotten, ...rest }: Commit): Commit {
  return rest;
}

/** Bugs that a store could have, and what the first seed must report that shows them. */
const BUGS: readonly { readonly name: string; readonly sabotage: Sabotage; readonly says: RegExp }[] = [
  {
    name: 'a commit that does not compare',
    says: /took 2 steps|is not recorded|starts at|journal tells|answered otherwise/,
    sabotage: (clients) =>
      serverWith(clients, (change) => {
        clients.write(change);
        return 'committed';
      }),
  },
  {
    name: 'a commit that acknowledges what it did not write',
    says: /is not recorded|answered otherwise than recorded|got the answer of/,
    sabotage: (clients, random: SeededRandom) =>
      serverWith(clients, (change) => (random.chance(0.05) ? 'committed' : clients.commit(change))),
  },
  {
    name: 'a commit that forgets the answer of an Idempotency-Key',
    says: /operation-\d+ took \d steps/,
    sabotage: (clients) => serverWith(clients, (change) => clients.commit(withoutAnswer(change))),
  },
  {
    name: 'a commit that writes the state without the decision',
    says: /is not recorded/,
    sabotage: (clients, random: SeededRandom) =>
      serverWith(clients, (change) => clients.commit(random.chance(0.05) ? withoutDecision(change) : change)),
  },
  {
    name: 'a conflict that was written all the same',
    says: /took 2 steps|journal tells|starts at/,
    sabotage: (clients) =>
      serverWith(clients, (change) => {
        const status = clients.commit(change);
        if (status === 'conflict') clients.write(change);
        return status;
      }),
  },
];

describe('the commit protocol, simulated', () => {
  if (ONLY !== undefined) {
    it(`holds in seed ${ONLY}`, async () => {
      expect(await complaints(Number(ONLY))).to.deep.equal([]);
    });
    return;
  }

  it(`loses and doubles nothing in ${SEEDS} seeds of lost messages, races, crashes and skewed clocks`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) expect(await complaints(seed)).to.deep.equal([]);
  });

  it('runs the same way for the same seed', async () => {
    const [first, again, other] = [await storm(7), await storm(7), await storm(8)];
    expect(first.history).to.deep.equal(again.history);
    expect(first.clients.dump()).to.equal(again.clients.dump());
    expect(first.clients.dump()).to.not.equal(other.clients.dump());
  });

  it('includes races, lost answers, refusals, replays and waits', async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 200; seed++) {
      for (const what of whatHappened(await storm(seed))) seen.add(what);
    }
    expect([...seen]).to.include.members([
      'answered',
      'unknown',
      'replayed',
      'GET_NEW',
      'WAIT',
      'GET_SAME_STICKY',
    ]);
    expect([...seen]).to.include.members(['recorded', 'superseded', 'unchanged']);
  });

  for (const { name, sabotage, says } of BUGS) {
    it(`would find ${name}`, async () => {
      const found = await firstComplaint(sabotage);
      expect(found[0]).to.match(/^seed \d+: SIMULATION_SEED=\d+ npx mocha --no-config \S+$/);
      expect(found.slice(1).join('\n')).to.match(says);
    });
  }
});
