import { expect } from 'chai';
import type { BacktestReport } from '#history/evidence/backtest/backtest-report.ts';
import type { NotesAndTables } from '#history/evidence/presentation.ts';
import type { QuestionAnswer } from '#history/evidence/question.ts';
import { QUESTIONS } from '#history/evidence/questions.ts';
import type { WorthReport } from '#history/evidence/report/worth-report.ts';
import { readRuleFiles } from '#state/rule-folders/rule-folder.ts';
import type { EvidenceJobView } from '#workbench/platform/evidence/evidence.ts';
import { createPlatformDocument } from '#workbench/platform/platform-operations.ts';
import { type SeededConsole, startSeededConsole } from '../../../../scripts/screenshots/seeded-console.ts';
import { until } from '../../../servers/until.ts';
import { RULES_FOLDER } from '../../../service/current-rules.ts';
import { timeTold } from '../../../service/http-call.ts';
import { Tenant } from '../../../service/tenant.ts';
import { DescribedApi } from '../../openapi/described-api.ts';

const described = new DescribedApi(createPlatformDocument());
const RESULT = { $ref: '#/components/schemas/OpenedEvidence' };

describe('POST /v1/platform/evidence', () => {
  let seeded: SeededConsole;
  let shop: Tenant;
  before(async () => {
    seeded = await startSeededConsole();
    shop = new Tenant(seeded, seeded.key);
  });
  after(() => seeded?.stop());

  async function worked<Result>(asked: EvidenceJobView, who: Tenant = shop): Promise<Result> {
    let result: Result | null = null;
    await until('it is worked out', async () => {
      const path = `evidence/${asked.jobId}`;
      const { body } = await who.ask<{ job: EvidenceJobView; result: Result | null }>('GET', path);
      expect(body.job.trouble).to.equal(null);
      result = body.result;
      return result !== null;
    });
    return result ?? expect.fail('it has no result');
  }

  it('refuses with 429 what is more than may wait of a platform', async () => {
    const questions = Array.from({ length: 8 }, (_, n) => ({
      kind: 'report',
      version: 'p2.v10',
      from: 1_700_000_000_000 + n,
    }));
    const asked = await Promise.all(
      questions.map((body) => shop.ask<EvidenceJobView>('POST', 'evidence', body)),
    );
    const refused = asked.find(({ status }) => status !== 200);
    expect([refused?.status, refused?.headers.get('Retry-After')]).to.deep.equal([429, '10']);
    for (const { body } of asked) if ('jobId' in body) await shop.ask('DELETE', `evidence/${body.jobId}`);
  });

  it('works out the worth of each rule, keeps it under its address, and lists it', async () => {
    const asked = { kind: 'report', version: 'p2.v10', by: 'day' };
    const { status, body } = await shop.ask<EvidenceJobView>('POST', 'evidence', asked);
    expect([status, body.ruleSets[0]?.ruleVersion]).to.deep.equal([200, 'p2.v10']);
    expect(body).to.deep.include({ kind: 'report', options: { version: 'p2.v10', by: 'day' } });
    const report = await worked<WorthReport>(body);
    expect(report.decisions).to.be.above(300);
    expect(report.rules.find(({ name }) => name === 'attempt-unpaid')?.orders.paid).to.be.above(0);
    const again = await shop.ask<EvidenceJobView>('POST', 'evidence', asked);
    expect([again.body.jobId, again.body.state]).to.deep.equal([body.jobId, 'done']);
    const { body: list } = await shop.ask<{ jobs: EvidenceJobView[] }>('GET', 'evidence');
    expect(list.jobs.map(({ jobId }) => jobId)).to.include(body.jobId);
  });

  const questions = {
    report: { version: 'p2.v10', against: 'p2.v11', by: 'method' },
    backtest: {
      version: 'p2.v11',
      against: 'p2.v10',
      vary: ['groups.blocked-by-unpaid-chain.unpaidChain=3'],
    },
    drift: {},
    experiment: {},
  } as const;
  it('are all tried here', () => {
    expect(Object.keys(questions)).to.have.members(QUESTIONS.map(({ kind }) => kind));
  });
  for (const [kind, question] of Object.entries(questions))
    it(`sends the result of a ${kind} as the document describes it, with notes and tables`, async () => {
      const { body } = await shop.ask<EvidenceJobView>('POST', 'evidence', { kind, ...question });
      const result = await worked<QuestionAnswer>(body);
      expect(result.kind).to.equal(kind);
      const sent: unknown = JSON.parse(JSON.stringify({ job: body, result }, timeTold));
      expect(described.schemaComplaints(RESULT, sent)).to.deep.equal([]);
      expect(result.notes.join('\n')).to.match(/\d+ decisions, \d{4}-\d\d-\d\dT/);
      for (const { columns, rows } of result.tables)
        for (const row of rows) expect(row).to.have.length(columns.length);
      // A history so short has no trial.
      expect(result.tables.length > 0).to.equal(kind !== 'experiment');
    });

  it('uses what was known at a time in the past', async () => {
    const question = { version: 'p2.v10', asOf: '2020-01-01T00:00:00Z' };
    const { body } = await shop.ask<EvidenceJobView>('POST', 'evidence', { kind: 'report', ...question });
    expect(body.asOf).to.equal(Date.UTC(2020, 0));
    const { notes } = await worked<WorthReport & NotesAndTables>(body);
    expect(notes.slice(1)).to.deep.equal([
      'As known at 2020-01-01T00:00:00Z.',
      'There is no decision in this time span.',
    ]);
  });

  describe('of a draft that is kept', () => {
    const filesOf = (version: string, ...edits: readonly (readonly [string, string, string])[]) => {
      const files = Object.fromEntries(readRuleFiles(RULES_FOLDER, []) ?? []);
      for (const [path, from, to] of [['ruleset.yaml', 'p2.v10', version], ...edits]) {
        const text = files[path] ?? '';
        expect(text).to.contain(from);
        files[path] = text.replace(from, to);
      }
      return files;
    };

    const keep = async (version: string, files: Readonly<Record<string, string>>) => {
      const { status } = await shop.ask('PUT', `rules/drafts/${version}`, { from: 'p2.v10', files });
      expect(status).to.equal(200);
    };

    it('backtests it by its name, with other constants, too, and keeps only name and digest', async () => {
      await keep('p2.v20', filesOf('p2.v20', ['ladder.yaml', '[30s', '[45s']));
      const asked = { kind: 'backtest', version: 'p2.v20', against: 'p2.v10' };
      const vary = ['ladder.levels[0]=20s,60s'];
      const { status, body } = await shop.ask<EvidenceJobView>('POST', 'evidence', { ...asked, vary });
      expect([status, body.ruleSets[0]?.ruleVersion]).to.deep.equal([200, 'p2.v20']);
      const backtest = await worked<BacktestReport>(body);
      expect([backtest.version, backtest.against]).to.deep.equal(['p2.v20', 'p2.v10']);
      expect(backtest.compared).to.be.above(300);
      expect(backtest.candidates[0]?.waits.longer).to.be.above(0);
      const values = backtest.candidates.map((one) => one.values['ladder.levels[0]']);
      expect(values).to.deep.equal(['45s', '20s', '60s']);
      expect((await shop.ask('GET', 'rules/versions/p2.v20')).status).to.equal(404);
      expect(JSON.stringify((await shop.ask('GET', `evidence/${body.jobId}`)).body)).not.to.contain(
        'levels:',
      );
    });

    it('says what is wrong with it before working anything out', async () => {
      await keep('p2.v21', filesOf('p2.v21', ['verdicts.yaml', 'fact: attemptOpen', 'fact: atemptOpen']));
      const unsound = await shop.ask('POST', 'evidence', { kind: 'backtest', version: 'p2.v21' });
      expect([unsound.status, unsound.body.detail]).to.deep.equal([
        422,
        'p2.v21 is not tried, because it has problems:\nverdicts.yaml:43:19  unknown fact "atemptOpen"; did you mean "attemptOpen"?',
      ]);
    });
  });

  it('says what may be asked', async () => {
    const { body } = await shop.ask<{ questions: { kind: string }[] }>('GET', 'evidence');
    expect(body.questions.map(({ kind }) => kind)).to.deep.equal(QUESTIONS.map(({ kind }) => kind));
  });

  it("sees the key's own platform alone, and the installation's key all of them, until it forgets a job on request", async () => {
    const owner = new Tenant(seeded, seeded.operatorKey);
    const report = { kind: 'report', version: 'p2.v10' };
    const { body: asked } = await owner.ask<EvidenceJobView>('POST', 'evidence', report);
    const all = await worked<WorthReport>(asked, owner);
    expect(all.decisions).to.be.above(300);
    const { status, body } = await shop.ask('GET', `evidence/${asked.jobId}`);
    const gone = 'There is no such job; results are kept for seven days. Ask the question again.';
    expect([status, body.detail]).to.deep.equal([404, gone]);
    expect((await owner.ask('DELETE', `evidence/${asked.jobId}`)).status).to.equal(204);
    expect((await owner.ask('GET', `evidence/${asked.jobId}`)).status).to.equal(404);
  });

  it('refuses unknown and bad versions, and a time that ends before it begins', async () => {
    const backwards = { from: '1980-01-02T00:00:00Z', to: '1980-01-01T00:00:00Z' };
    const mend = 'p2.v12 has problems; correct them first. The page Rules of the console lists them.';
    for (const [question, status, detail] of [
      [{ kind: 'report', version: 'p2.v99' }, 404, 'There is no rule set p2.v99 on this node.'],
      [{ kind: 'backtest', version: 'p2.v12' }, 400, mend],
      [{ kind: 'report', version: 'p2.v10', ...backwards }, 400, '/to must be after from.'],
    ] as const) {
      const refused = await shop.ask('POST', 'evidence', question);
      expect([refused.status, refused.body.detail]).to.deep.equal([status, detail]);
    }
  });
});
