import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { INSTALLATION } from '../../../src/access/access-keys.ts';
import { type PlatformName, platformName } from '../../../src/client/client-key.ts';
import {
  EvidenceDesk,
  EvidenceDeskBusy,
  PLATFORM_JOBS_MAX,
  WAITING_MAX,
} from '../../../src/evidence/desk/evidence-desk.ts';
import type { EvidenceJob } from '../../../src/evidence/desk/evidence-job.ts';
import type { ReportTask } from '../../../src/evidence/desk/evidence-task.ts';
import { report } from '../../../src/evidence/report/report.ts';
import { withEvidence } from '../../../src/evidence/source/evidence.ts';
import type { Store } from '../../../src/state/store.ts';
import { until } from '../../servers/until.ts';
import { describeOnStores } from '../../stores/describe-on-stores.ts';
import { storeWith } from '../../stores/store-with.ts';
import { Workplace } from '../backtest/backtest-history.ts';
import { liveBusyMonth } from '../report/busy-month.ts';
import { all, type LivedEvidence, livedEvidence } from '../source/lived-evidence.ts';

const SHOP = { id: 'key-1', platform: platformName('shop') };

describe('the evidence desk', () => {
  let lived: LivedEvidence;
  let place: Workplace;
  let archiveDir: string;
  before(async () => {
    place = new Workplace();
    lived = await livedEvidence(liveBusyMonth);
    archiveDir = lived.archive.kind === 'archive' ? lived.archive.folder : '';
  });
  after(() => place.end());

  describeOnStores('with its jobs in the store', (store) => {
    let now = Date.UTC(2026, 0, 1);
    const open = (of: Store = store()) => {
      const onTrouble = (message: string) => expect.fail(message);
      return new EvidenceDesk({
        archiveDir,
        rulesDir: place.rulesDir,
        signalSecret: 'a secret that holds nobody out here',
        store: of,
        clock: () => now,
        onTrouble,
      });
    };
    const task = (from: number): ReportTask => {
      const { version, digest } = place.rules('p2.v10');
      const rules = { ruleVersion: version, digest };
      return { kind: 'report', rules, by: null, platform: null, from, to: null };
    };
    const over = async (desk: EvidenceDesk, { jobId }: EvidenceJob): Promise<EvidenceJob> => {
      for (;;) {
        const job = await desk.shelf.get(SHOP.platform, jobId);
        if (job === null || job.endedAt !== null) return job ?? expect.fail('the job is gone');
        await sleep(50);
      }
    };

    it('works a report out in a process of its own, and gives what the report itself gives', async () => {
      const desk = open();
      const asked = await desk.ask(SHOP, task(0));
      expect(asked.state).to.equal('waiting');
      const done = await over(desk, asked);
      expect([done.state, done.trouble]).to.deep.equal(['done', null]);
      const expected = await withEvidence(all(lived.archive), (evidence) =>
        report(evidence, { rules: place.rules('p2.v10'), by: null }),
      );
      expect(await desk.shelf.result(SHOP.platform, asked.jobId)).to.deep.equal(expected);
      expect((await open().ask(SHOP, task(0))).jobId).to.equal(asked.jobId);
      now += 600_000;
      expect((await desk.ask(SHOP, task(0))).jobId).not.to.equal(asked.jobId);
      await desk.close();
    });

    it('lets some of a platform wait for the one under way, and each can be stopped from another node', async () => {
      const desk = open();
      const jobs = [];
      for (let place = 0; place < PLATFORM_JOBS_MAX; place++)
        jobs.push(await desk.ask(SHOP, task(100 + place)));
      const refused = await desk.ask(SHOP, task(99)).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(EvidenceDeskBusy);
      const other = open();
      for (const job of jobs.slice(1)) await other.remove(SHOP, job);
      const ends = await Promise.all(jobs.map((job) => over(desk, job)));
      const cancelled = Array(PLATFORM_JOBS_MAX - 1).fill('cancelled');
      expect(ends.map(({ state }) => state)).to.deep.equal(['done', ...cancelled]);
      await desk.close();
    });

    it('keeps places for the other platforms, as long as there are any', async () => {
      const desk = open();
      for (let place = 0; place < PLATFORM_JOBS_MAX; place++) await desk.ask(SHOP, task(300 + place));
      for (let place = PLATFORM_JOBS_MAX; place <= WAITING_MAX; place++)
        await desk.ask({ id: 'key-2', platform: platformName('other') }, task(300 + place));
      const third = { id: 'key-3', platform: platformName('third') };
      const refused = await desk.ask(third, task(399)).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(EvidenceDeskBusy);
      await desk.close();
    });

    it('gives the place back of a job that the store did not take', async () => {
      const desk = open();
      const add = desk.shelf.add.bind(desk.shelf);
      desk.shelf.add = () => Promise.reject(new Error('NOREPLICAS'));
      for (let times = 0; times <= WAITING_MAX; times++) {
        const failed = await desk.ask(SHOP, task(400)).catch((error: unknown) => String(error));
        expect(failed).to.equal('Error: NOREPLICAS');
      }
      desk.shelf.add = add;
      expect((await desk.ask(SHOP, task(400))).state).to.equal('waiting');
      await desk.close();
    });

    it('says of work whose node was stopped that it must be asked for again', async () => {
      const desk = open();
      const job = await desk.ask(SHOP, task(200));
      await desk.close();
      const ended = await over(desk, job);
      expect([ended.state, ended.trouble]).to.deep.equal([
        'failed',
        'the node that worked on it was stopped; ask again',
      ]);
      await desk.shelf.put(SHOP.platform, { ...job, jobId: 'silent', state: 'running' });
      now += 30_001;
      expect((await desk.shelf.get(SHOP.platform, 'silent'))?.state).to.equal('failed');
    });

    it('fails with words when the rule set is not the one that was asked about', async () => {
      const desk = open();
      const other = { ...task(300), rules: { ...task(300).rules, digest: 'ab'.repeat(32) } };
      const ended = await over(desk, await desk.ask(SHOP, other));
      expect(ended.trouble).to.equal('the files of p2.v10 were changed meanwhile; ask again');
      await desk.close();
    });

    it('drops what may name orders of an erased client, its own and that of the installation, and nothing else', async () => {
      const desk = open();
      const [known] = await desk.shelf.list(SHOP.platform);
      const report = known ?? expect.fail('no job');
      const { kind: _report, by: _by, ...asked } = task(400);
      const backtest = {
        ...asked,
        kind: 'backtest',
        against: null,
        mode: 'recorded',
        outcomes: 'granted',
      } as const;
      const other = platformName('other-shop');
      for (const platform of [SHOP.platform, INSTALLATION, other]) {
        await desk.shelf.add(platform, { ...report, jobId: 'report', state: 'done', askedAt: now });
        await desk.shelf.add(platform, {
          ...report,
          task: backtest,
          jobId: 'backtest',
          state: 'done',
          askedAt: now,
        });
      }
      await desk.forgetOrders(SHOP.platform);
      const kept = async (platform: PlatformName) =>
        (await desk.shelf.list(platform))
          .map(({ jobId }) => jobId)
          .filter((id) => /^(report|backtest)$/.test(id));
      expect(await kept(SHOP.platform)).to.deep.equal(['report']);
      expect(await kept(INSTALLATION)).to.deep.equal(['report']);
      expect(await kept(other)).to.have.members(['report', 'backtest']);
    });

    it('keeps no result that was finished while another node stopped the job', async () => {
      const { documents } = store();
      const stopping: typeof documents = {
        ...documents,
        set: async (collection, name, ...rest) => {
          if (collection.startsWith('evidence-results')) {
            const job = await desk.shelf.get(SHOP.platform, name);
            await open().remove(SHOP, job ?? expect.fail('the job is gone'));
          }
          await documents.set(collection, name, ...rest);
        },
      };
      const desk = open(storeWith(store(), { documents: stopping }));
      const ended = await over(desk, await desk.ask(SHOP, task(500)));
      expect(ended.state).to.equal('cancelled');
      expect(await desk.shelf.result(SHOP.platform, ended.jobId)).to.equal(null);
      await desk.close();
    });

    it('is done with nothing that was stopped while it was told to be done', async () => {
      const { documents } = store();
      const stopping: typeof documents = {
        ...documents,
        set: async (collection, name, value, ...rest) => {
          const running = await desk.shelf.get(SHOP.platform, name);
          const isDone = JSON.stringify(value).includes('"state":"done"');
          if (running?.state === 'running' && isDone) await open().remove(SHOP, running);
          await documents.set(collection, name, value, ...rest);
        },
      };
      const desk = open(storeWith(store(), { documents: stopping }));
      const { jobId } = await desk.ask(SHOP, task(499));
      const stateNow = async () => (await desk.shelf.get(SHOP.platform, jobId))?.state;
      await until('it is cancelled', async () => (await stateNow()) === 'cancelled', 120_000);
      expect(await desk.shelf.result(SHOP.platform, jobId)).to.equal(null);
      await desk.close();
    });

    it('keeps 40 jobs of a platform, and none of them for another', async () => {
      const desk = open();
      const [before] = await desk.shelf.list(SHOP.platform);
      const old = before ?? expect.fail('no job');
      for (let place = 0; place < 45; place++) {
        now += 1000;
        await desk.shelf.add(SHOP.platform, { ...old, jobId: `job-${place}`, askedAt: now });
      }
      const kept = await desk.shelf.list(SHOP.platform);
      expect([kept.length, kept[0]?.jobId, kept.at(-1)?.jobId]).to.deep.equal([40, 'job-44', 'job-5']);
      expect(await desk.shelf.list(platformName('another'))).to.deep.equal([]);
    });
  });
});
