import { expect } from 'chai';
import { clientNumber } from '../../../src/client/client-key.ts';
import { timeText } from '../../../src/client/instant.ts';
import { presentReport } from '../../../src/evidence/report/rule-report.ts';
import { type EvidencePlace, withEvidence } from '../../../src/evidence/source/evidence.ts';
import { ArchivedStore } from '../../archive/archived-store.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { temporarySqlite } from '../../stores/temporary-store.ts';
import { draftCandidates, History, JULY, PLATFORM, Workplace } from '../backtest/backtest-history.ts';
import { all, exportedJournal } from './lived-evidence.ts';
import { type Figures, figuresOf, replayedFiguresOf } from './printed-figures.ts';

const DAY = 86_400_000;
const CHAPTERS = 3;
const STEPS = 40;

describe('figures of the past', () => {
  const opened = temporarySqlite();
  const { store } = opened;
  const random = new SeededRandom(25);
  const place = new Workplace();
  const recorded: { readonly at: number; readonly figures: readonly Figures[] }[] = [];
  let replayed: readonly Figures[] = [];
  let archived: ArchivedStore;
  let history: History;

  before(async () => {
    draftCandidates(place);
    archived = await ArchivedStore.open(store);
    history = new History(store);
    for (let chapter = 0; chapter < CHAPTERS; chapter++) {
      await liveOn(history, random, chapter);
      await lookBack(chapter);
      history.now += DAY;
    }
  });
  after(async () => {
    await archived.release();
    place.end();
    return opened.remove();
  });

  /** The first time is before anything was shipped, the second after, and the last covers the rest. */
  async function lookBack(chapter: number): Promise<void> {
    if (chapter === CHAPTERS - 1) return;
    if (chapter === 1) await shipOn(JULY);
    const looked = chapter === 1 ? archiveOf(archived) : await exportedJournal(store);
    recorded.push({ at: history.now, figures: await figuresOf(place, looked, null) });
    if (chapter === 1) replayed = await replayedFiguresOf(place, looked, null);
  }

  const shipOn = (now: number) => archived.shipAll(archived.shipper({ clock: () => now }));
  const expectRecorded = async (looked: EvidencePlace, moments = recorded) => {
    for (const { at, figures } of moments)
      expect(withoutMoment(await figuresOf(place, looked, at)), new Date(at).toISOString()).to.deep.equal(
        withoutMoment(figures),
      );
  };

  it('change with time', () => {
    const told = recorded.map(({ figures }) => JSON.stringify(figures));
    expect(new Set(told).size).to.equal(CHAPTERS - 1);
  });

  it('are as they were printed then, from an export of everything since', async () => {
    await expectRecorded(await exportedJournal(store));
  });

  it('are as they were printed then from the archive, once all is shipped', async () => {
    await shipOn(JULY);
    await expectRecorded(archiveOf(archived), recorded.slice(0, 1));
  });

  it('are as they were printed then from the archive, once its days are merged', async () => {
    await shipOn(JULY);
    const before = archived.archive.read().segments.size;
    await shipOn(JULY + 90 * DAY);
    expect(archived.archive.read().segments.size).to.be.below(before);
    await expectRecorded(archiveOf(archived));
  });

  it('are as they were printed then in replays with other rules', async () => {
    const at = recorded[1]?.at ?? expect.fail('there is no second moment');
    const again = await replayedFiguresOf(place, await exportedJournal(store), at);
    expect(withoutMoment(again)).to.deep.equal(withoutMoment(replayed));
  });

  it('say how many payers were erased since, with how many rows', async () => {
    const first = recorded[0] ?? expect.fail('there is no first moment');
    const { hash } = store.clientKeys.of(PLATFORM, 'client-1');
    const rows = await withEvidence(all(archiveOf(archived)), async ({ duck }) => {
      const [row = {}] = await duck.rows(
        `SELECT (SELECT count(*) FROM decisions WHERE client_hash = ${clientNumber(hash)})
           + (SELECT count(*) FROM outcomes WHERE client_hash = ${clientNumber(hash)}) AS n`,
      );
      return Number(row['n']);
    });
    await history.erase('client-1');
    await shipOn(JULY + 90 * DAY);
    const [told] = await figuresOf(place, archiveOf(archived), first.at);
    if (told?.kind !== 'report') throw new Error('a report comes first');
    expect(told.asOf).to.deep.include({ at: first.at, erasedPayers: 1 });
    expect(told.asOf?.erasedRows).to.be.at.least(rows);
    expect(presentReport(told).notes.slice(1, 3)).to.deep.equal([
      `As known at ${timeText(first.at)}.`,
      `Payers who were erased since: 1. They were counted then and are no more, with ${told.asOf?.erasedRows} rows of all times.`,
    ]);
  });
});

/** Some weeks of thirty payers; outcomes are often reported later, with earlier times. */
async function liveOn(history: History, random: SeededRandom, chapter: number): Promise<void> {
  const open: (readonly [client: string, order: string])[] = [];
  for (let step = 0; step < STEPS; step++) {
    history.now += random.whole(1, 6 * 3_600_000);
    const client = `client-${random.whole(0, 29)}`;
    const order = `order-${chapter}-${step}`;
    await history.score(client, random.chance(0.2) ? 'shared' : client);
    await history.verdict(client, order, `${random.whole(1, 90)}.50`);
    open.push([client, order]);
    const [payer, asked] = random.pick([open[0] ?? [client, order], ...open]);
    const occurredAt = history.now - random.whole(0, DAY);
    if (random.chance(0.7)) await history.outcome(payer, asked, 'PAID', null, occurredAt);
    if (random.chance(0.4))
      await history.outcome(payer, asked, 'UNPAID', random.chance(0.5) ? 'REVERSED' : 'DECLINED');
  }
}

function archiveOf({ archive: { folder } }: ArchivedStore): EvidencePlace {
  return { kind: 'archive', folder };
}

/** Without the words about the requested time. */
function withoutMoment(figures: readonly Figures[]): unknown {
  return JSON.parse(JSON.stringify(figures), (name, value) => (name === 'asOf' ? undefined : value));
}
