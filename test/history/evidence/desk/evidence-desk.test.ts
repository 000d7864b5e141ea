import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { AccessKeys, INSTALLATION_PLATFORM } from '#checkout/access/access-keys.ts';
import { toKeyCaller } from '#checkout/access/caller.ts';
import { type PlatformName, toPlatformName } from '#decision/payer/client-key.ts';
import { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { reportRuleWorth } from '#history/evidence/report/report.ts';
import { presentWorthReport } from '#history/evidence/report/worth-report.ts';
import { withEvidence } from '#history/evidence/source/evidence.ts';
import { openSqliteStore } from '#state/sqlite/store.ts';
import type { Store } from '#state/store.ts';
import {
  ALL_WAITING_MAX,
  type EvidenceAsker,
  EvidenceDesk,
  EvidenceDeskBusy,
  PLATFORM_WAITING_MAX,
} from '#workbench/evidence/evidence-desk.ts';
import type { EvidenceJob, EvidenceTask } from '#workbench/evidence/evidence-task.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { until } from '../../../servers/until.ts';
import { KEY_LIFETIME_MS } from '../../../service/key-lifetime.ts';
import { describeOnStores } from '../../../stores/describe-on-stores.ts';
import { storeWith } from '../../../stores/store-with.ts';
import { History, Workplace } from '../backtest/backtest-history.ts';
import { liveBusyMonth } from '../report/busy-month.ts';
import { all, type RecordedEvidence, recordedEvidence } from '../source/recorded-evidence.ts';

const SHOP = toPlatformName('shop');

describe('the evidence desk', () => {
  let sources: RecordedEvidence;
  let place: Workplace;
  let archiveDir: string;
  before(async () => {
    place = new Workplace();
    sources = await recordedEvidence(liveBusyMonth);
    archiveDir = sources.archive.folder;
  });
  after(() => place.end());

  describeOnStores('with its jobs in the store', (store, on) => {
    let now = Date.UTC(2026, 0, 1);
    const issue = async (platform: PlatformName): Promise<EvidenceAsker> =>
      toKeyCaller(
        (await new AccessKeys(store().documents, () => now).issue(platform, ['rules'], KEY_LIFETIME_MS))
          .record,
      );
    let shop: EvidenceAsker;
    beforeEach(async () => {
      shop = await issue(SHOP);
    });
    const desks: EvidenceDesk[] = [];
    afterEach(() => Promise.all(desks.splice(0).map((desk) => desk.close())));
    const open = (of: Store = store(), folder = archiveDir) => {
      const onTrouble = (message: string) => expect.fail(message);
      const desk = new EvidenceDesk({
        past: new ArchiveReader(folder, of),
        rulesDir: place.rulesDir,
        signalSecret: 'a secret that holds nobody out here',
        store: of,
        clock: () => now++,
        onTrouble,
      });
      desks.push(desk);
      return desk;
    };
    const task = (from: number): EvidenceTask => ({
      kind: 'report',
      options: { version: 'p2.v10' },
      ruleSets: { 'p2.v10': place.rules('p2.v10').digest },
      platform: null,
      from,
      to: null,
      asOf: null,
    });
    const over = async (desk: EvidenceDesk, { platform, jobId }: EvidenceJob): Promise<EvidenceJob> => {
      for (;;) {
        const job = await desk.jobStore.findVisible(platform, jobId);
        if (job === null || job.endedAt !== null) return job ?? expect.fail('the job is gone');
        await sleep(50);
      }
    };

    const decisionsOf = async (desk: EvidenceDesk, job: EvidenceJob) => {
      const result = await desk.jobStore.findResult(job);
      return Number(result !== null && 'decisions' in result ? result.decisions : expect.fail('no report'));
    };
    const refusal = (asked: Promise<EvidenceJob>) => asked.catch((error: unknown) => error);

    it('works out a report in a process of its own, with the same result as the report itself', async () => {
      const desk = open();
      const asked = await desk.findOrAddJob(shop, task(0));
      expect(asked.state).to.equal('waiting');
      const done = await over(desk, asked);
      expect([done.state, done.trouble]).to.deep.equal(['done', null]);
      const expected = await withEvidence(all(sources.archive), (evidence) =>
        reportRuleWorth(evidence, { rules: place.rules('p2.v10'), by: null }),
      );
      expect(await desk.jobStore.findResult(asked)).to.deep.equal({
        ...expected,
        ...presentWorthReport(expected),
      });
      expect((await open().findOrAddJob(shop, task(0))).jobId).to.equal(asked.jobId);
      now += 600_000;
      expect((await desk.findOrAddJob(shop, task(0))).jobId).not.to.equal(asked.jobId);
    });

    it('works out what was decided before anything is shipped', async () => {
      const unshipped = openSqliteStore(temporaryDirectory());
      await new History(unshipped, place.rules('p2.v10')).verdict('ann', 'order');
      const { record } = await new AccessKeys(unshipped.documents, () => now).issue(
        SHOP,
        ['rules'],
        KEY_LIFETIME_MS,
      );
      const desk = open(unshipped, join(temporaryDirectory(), 'archive'));
      const asked = await over(desk, await desk.findOrAddJob(toKeyCaller(record), task(0)));
      expect(await decisionsOf(desk, asked)).to.equal(1);
      await desk.close();
      await unshipped.close();
    });

    it('works out anew what it worked out while its archive was away', async () => {
      const folder = join(temporaryDirectory(), 'archive');
      const desk = open(store(), folder);
      const asked = await over(desk, await desk.findOrAddJob(shop, task(1)));
      expect(await decisionsOf(desk, asked)).to.equal(0);
      expect((await desk.findOrAddJob(shop, task(1))).jobId).to.equal(asked.jobId);
      rmSync(folder, { recursive: true });
      symlinkSync(archiveDir, folder);
      const again = await over(desk, await desk.findOrAddJob(shop, task(1)));
      expect(await decisionsOf(desk, again)).to.be.above(0);
      expect((await desk.findOrAddJob(shop, task(1))).jobId).to.equal(again.jobId);
    });

    it('works nothing out from an archive of another store', async () => {
      const { registers } = store();
      const claimed = storeWith(store(), { registers: { ...registers, read: async () => 'another' } });
      const desk = open(claimed);
      expect(await refusal(desk.findOrAddJob(shop, task(2)))).to.have.property(
        'message',
        "ARCHIVE_DIR of this node is not the archive that the store's decisions are in; set it to that one, or if that archive is lost, run state forget-archive.",
      );
    });

    for (const [title, from, isWritten] of [
      [
        'keeps no result that was finished while another node stopped the job',
        500,
        (collection: string) => collection.startsWith('evidence-results'),
      ],
      [
        'does not finish a job that was stopped while it finished',
        499,
        (_collection: string, value: unknown) => JSON.stringify(value).includes('"state":"done"'),
      ],
    ] as const)
      it(title, async () => {
        const { documents } = store();
        const stopping: typeof documents = {
          ...documents,
          set: async (collection, name, value, ...rest) => {
            const job = isWritten(collection, value) ? await desk.jobStore.findVisible(SHOP, name) : null;
            if (job?.state === 'running') await open().stopOrDeleteJob(job);
            await documents.set(collection, name, value, ...rest);
          },
        };
        const desk = open(storeWith(store(), { documents: stopping }));
        const { jobId } = await desk.findOrAddJob(shop, task(from));
        const stateNow = async () => (await desk.jobStore.findVisible(SHOP, jobId))?.state;
        await until('it is cancelled', async () => (await stateNow()) === 'cancelled', 120_000);
        expect(await desk.jobStore.findResult({ platform: SHOP, jobId })).to.equal(null);
      });

    it('keeps 40 jobs of a platform, apart from those of others', async () => {
      const desk = open();
      const [before] = await desk.jobStore.list(SHOP);
      const old = before ?? expect.fail('no job');
      for (let place = 0; place < 45; place++) {
        now += 1000;
        await desk.jobStore.add({ ...old, jobId: `job-${place}`, askedAt: now });
      }
      const kept = await desk.jobStore.list(SHOP);
      expect([kept.length, kept[0]?.jobId, kept.at(-1)?.jobId]).to.deep.equal([40, 'job-44', 'job-5']);
      expect(await desk.jobStore.list(toPlatformName('another'))).to.deep.equal([]);
    });

    // The rest is decided above the store.
    if (on === 'Redis') return;

    /** A desk whose jobs wait for the test. */
    const stalled = () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const unshippedErasures: Store['unshippedErasures'] = async (...asked) => {
        await promise;
        return store().unshippedErasures(...asked);
      };
      return { desk: open(storeWith(store(), { unshippedErasures })), goOn: resolve };
    };
    const fill = async (desk: EvidenceDesk, asker: EvidenceAsker, from: number, count: number) => {
      const jobs = [];
      for (let place = 0; place < count; place++)
        jobs.push(await desk.findOrAddJob(asker, task(from + place)));
      return jobs;
    };

    it('lets some jobs of a platform wait for the running one, and each can be stopped from another node', async () => {
      const { desk, goOn } = stalled();
      const [first, ...waiting] = await fill(desk, shop, 100, 1 + PLATFORM_WAITING_MAX);
      expect(await refusal(desk.findOrAddJob(shop, task(99)))).to.be.instanceOf(EvidenceDeskBusy);
      const other = open();
      for (const job of waiting) await other.stopOrDeleteJob(job);
      const cancelled = await Promise.all(waiting.map((job) => over(desk, job)));
      expect(cancelled.map(({ state }) => state)).to.deep.equal(waiting.map(() => 'cancelled'));
      goOn();
      expect((await over(desk, first ?? expect.fail('no job'))).state).to.equal('done');
    });

    it('takes turns by platform, so that a busy one delays only itself', async () => {
      const { desk, goOn } = stalled();
      const [first, second] = await fill(desk, shop, 1000, 2);
      const [neighbours] = await fill(desk, await issue(toPlatformName('neighbour')), 1100, 1);
      goOn();
      const begun = [];
      for (const job of [first, neighbours, second])
        begun.push((await over(desk, job ?? expect.fail('no job'))).startedAt ?? 0);
      expect(begun).to.deep.equal(begun.toSorted());
    });

    it('always has a place for the owner of the installation, who comes next, and may see and stop running jobs', async () => {
      const { desk, goOn } = stalled();
      const owner = await issue(INSTALLATION_PLATFORM);
      const [held] = await fill(desk, shop, 2000, 1 + PLATFORM_WAITING_MAX);
      for (let place = 0; place < ALL_WAITING_MAX - PLATFORM_WAITING_MAX; place++)
        await desk.findOrAddJob(await issue(toPlatformName(`shop-${place}`)), task(2100 + place));
      const late = await issue(toPlatformName('late'));
      expect(await refusal(desk.findOrAddJob(late, task(2200)))).to.be.instanceOf(EvidenceDeskBusy);
      const own = await desk.findOrAddJob(owner, task(2300));
      const seen = await open().jobStore.listVisible(INSTALLATION_PLATFORM);
      expect(seen).to.have.length(2 + ALL_WAITING_MAX);
      const { jobId } = held ?? expect.fail('no job');
      expect(await open().jobStore.findVisible(late.platform, jobId)).to.equal(null);
      const found =
        (await open().jobStore.findVisible(INSTALLATION_PLATFORM, jobId)) ?? expect.fail('not found');
      expect([found.platform, found.askedBy, found.state]).to.deep.equal([SHOP, shop.actor.text, 'running']);
      await open().stopOrDeleteJob(found);
      goOn();
      expect((await over(desk, found)).state).to.equal('cancelled');
      const owned = await over(desk, own);
      expect(owned.state).to.equal('done');
      await desk.close();
      const others = (await desk.jobStore.list(SHOP)).filter(({ task: { from } }) => (from ?? 0) > 2000);
      const begunAt = owned.startedAt ?? 0;
      const before = others.filter(({ startedAt }) => startedAt !== null && startedAt < begunAt);
      expect([others.length, before]).to.deep.equal([3, []]);
      const left = (await desk.jobStore.listVisible(INSTALLATION_PLATFORM)).map(({ platform }) => platform);
      expect(left).to.deep.equal([INSTALLATION_PLATFORM]);
    });

    it('ends a job, waiting or running, when its key is revoked', async () => {
      const { desk, goOn } = stalled();
      const key = await issue(SHOP);
      const jobs = await fill(desk, key, 3000, 2);
      await new AccessKeys(store().documents, () => now).revoke(key.credential.id);
      const [first, second] = jobs.map((job) => over(desk, job));
      const trouble = 'the access key or session that asked has ended; ask the question again';
      expect(await second).to.include({ state: 'failed', trouble, startedAt: null });
      goOn();
      expect(await first).to.include({ state: 'failed', trouble });
    });

    it('frees the place of a job that the store did not accept', async () => {
      const desk = open();
      const add = desk.jobStore.add.bind(desk.jobStore);
      desk.jobStore.add = () => Promise.reject(new Error('NOREPLICAS'));
      for (let times = 0; times <= 1 + PLATFORM_WAITING_MAX; times++) {
        const failed = await desk.findOrAddJob(shop, task(400)).catch((error: unknown) => String(error));
        expect(failed).to.equal('Error: NOREPLICAS');
      }
      desk.jobStore.add = add;
      expect((await desk.findOrAddJob(shop, task(400))).state).to.equal('waiting');
    });

    it('says that a job must be asked for again when its node was stopped', async () => {
      const desk = open();
      const job = await desk.findOrAddJob(shop, task(200));
      await desk.close();
      const trouble = 'the node that worked on it was stopped; ask the question again';
      expect(await over(desk, job)).to.include({ state: 'failed', trouble });
      await desk.jobStore.put({ ...job, jobId: 'silent', state: 'running' });
      now += 30_001;
      expect((await desk.jobStore.findVisible(SHOP, 'silent'))?.state).to.equal('failed');
    });

    it('fails with an explanation when the rule set has changed', async () => {
      const desk = open();
      const other = { ...task(300), ruleSets: { 'p2.v10': 'ab'.repeat(32) } };
      const ended = await over(desk, await desk.findOrAddJob(shop, other));
      expect(ended.trouble).to.equal('the files of p2.v10 were changed meanwhile; ask again');
    });

    it('drops only results that may name orders of an erased client, of its platform and of the installation', async () => {
      const desk = open();
      const [known] = await desk.jobStore.list(SHOP);
      const job = known ?? expect.fail('no job');
      const other = toPlatformName('other-shop');
      for (const platform of [SHOP, INSTALLATION_PLATFORM, other])
        for (const kind of ['drift', 'report', 'backtest']) {
          const ended = { state: 'done', askedAt: now } as const;
          await desk.jobStore.add({ ...job, ...ended, platform, jobId: kind, task: { ...task(400), kind } });
        }
      await desk.deleteJobsNamingOrders(SHOP);
      const kept = async (platform: PlatformName) =>
        (await desk.jobStore.list(platform))
          .map(({ jobId }) => jobId)
          .filter((id) => /^(drift|report|backtest)$/.test(id));
      expect(await kept(SHOP)).to.deep.equal(['drift']);
      expect(await kept(INSTALLATION_PLATFORM)).to.deep.equal(['drift']);
      expect(await kept(other)).to.have.members(['drift', 'report', 'backtest']);
    });
  });
});
