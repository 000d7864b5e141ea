import { expect } from 'chai';
import { StoreUnavailable } from '#state/store-errors.ts';
import { describedOperations } from './described-request.ts';
import { Live } from './live-api.ts';
import { goodRequest, needsKey, type Refused, refusalsAt, refusalsOf } from './refusals.ts';

const OPERATIONS = describedOperations();

/** These ask the store about more than the access key. */
const STORING = new Set(
  `score verdict reportOutcomes bindClient endWait overrideClient readClient readClientHistory readClientLinks
  exportClient makeList putListEntry removeListEntry liftOverride unbindClient eraseClient listDecisions find readDecision
  explainDecision askDecisionWhatIf readRollout rollOut rollBack listProposals approveProposal rejectProposal
  saveDraft`.split(/\s+/),
);

describe('what operations refuse', () => {
  let live: Live;
  before(async () => {
    live = await Live.start();
  });
  after(() => live?.stop());
  afterEach(() => {
    Live.trouble = null;
    Live.keysTrouble = null;
  });

  /** Asks, and expects that nothing is recorded of it. */
  const expectRefusal = async ({ status, code, detail, allow, ask }: Refused) => {
    const request = await ask(live);
    const recorded = await live.recorded();
    const answer = await live.ask(request);
    expect(await live.recorded(), 'what the store has recorded').to.equal(recorded);
    expect(answer.status, answer.text).to.equal(status);
    const allowed = answer.headers.get('Allow')?.split(', ') ?? [];
    if (allow !== undefined) expect(allowed.toSorted()).to.deep.equal(allow);
    // Without a body.
    if (request.method === 'HEAD') return answer;
    const problem = JSON.parse(answer.text);
    expect(problem).to.deep.include({ status, code });
    if (allow !== undefined) expect(problem.detail).to.equal(`Use ${allowed.join(' or ')}.`);
    if (detail !== undefined)
      expect(problem.detail.replace(/ There are \d+ faults; see errors\.$/, '')).to.equal(detail);
    return answer;
  };

  for (const described of OPERATIONS) {
    const {
      api,
      operation: { operationId },
    } = described;
    describe(operationId, () => {
      for (const refused of refusalsOf(described)) {
        it(`refuses ${refused.title}`, async () => {
          const answer = await expectRefusal(refused);
          expect(api.complaints(operationId, answer)).to.deep.equal([]);
        });
      }

      if (!needsKey(described)) return;
      for (const [status, error] of [
        [503, new StoreUnavailable('away')],
        [500, new Error('a bug')],
      ] as const)
        it(`answers ${status} where the store ${status === 503 ? 'is away' : 'fails in another way'}`, async () => {
          const good = goodRequest(described);
          const key = STORING.has(operationId) ? {} : { key: await live.newKey(good.path) };
          if (STORING.has(operationId)) Live.trouble = error;
          else Live.keysTrouble = error;
          const answer = await live.ask({ ...good, ...key });
          expect(answer.status, answer.text).to.equal(status);
          expect(api.complaints(operationId, answer)).to.deep.equal([]);
        });
    });
  }

  for (const path of new Set(OPERATIONS.map((one) => one.path)))
    describe(path, () => {
      for (const refused of refusalsAt(path, OPERATIONS))
        it(`refuses ${refused.title}`, async () => {
          await expectRefusal(refused);
        });
    });
});
