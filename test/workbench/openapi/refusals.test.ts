import { expect } from 'chai';
import { StoreUnavailable } from '#state/store-errors.ts';
import type { Problem } from '../../service/http-call.ts';
import { describedOperations } from './described-request.ts';
import { Live } from './live-api.ts';
import {
  goodRequest,
  needsKey,
  type Refused,
  refusalsAt,
  refusalsOf,
  refusedAfterKey,
  refusedMethods,
  sufficientGrants,
} from './refusals.ts';

const OPERATIONS = describedOperations();

/** Pages and documents are no operations. */
const FILES = [
  ['the console', '/'],
  ['a file of the console', '/console/any/app.js'],
  ['the page of the documents', '/docs'],
  ['a document', '/openapi.json'],
] as const;

/** These ask the store about more than the access key. */
const STORING = new Set(
  `score verdict reportOutcomes bindClient endWait overrideClient readClient readClientHistory readClientLinks
  exportClient makeList putListEntry removeListEntry liftOverride unbindClient eraseClient listDecisions find readDecision
  explainDecision askDecisionWhatIf readRollout rollOut rollBack listProposals approveProposal rejectProposal
  saveDraft`.split(/\s+/),
);

/**
 * Expects a fault among those that a problem lists, and the first of them in words. Where the document tells no words,
 * the fault may also be of what the member lies in.
 */
function expectFault(problem: Problem, { pointer, detail }: NonNullable<Refused['fault']>): void {
  const [first, ...others] = problem.errors ?? [];
  const more = others.length === 0 ? '' : ` There are ${others.length + 1} faults; see errors.`;
  const { errors = [] } = problem;
  expect(problem.detail).to.equal(`${first?.pointer} ${first?.detail}.${more}`);
  if (detail === null)
    expect(
      errors.some((one) => pointer.startsWith(one.pointer)),
      pointer,
    ).to.equal(true);
  else expect(errors).to.deep.include({ pointer, detail });
}

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
  const expectRefusal = async ({ status, code, detail, fault, allow, ask }: Refused) => {
    const request = await ask(live);
    const recorded = await live.recorded();
    const answer = await live.ask(request);
    expect(await live.recorded(), 'what the store has recorded').to.equal(recorded);
    expect(answer.status, answer.text).to.equal(status);
    const allowed = answer.headers.get('Allow')?.split(', ') ?? [];
    if (allow !== undefined) expect(allowed.toSorted()).to.deep.equal(allow);
    if (status === 401)
      expect(answer.headers.get('WWW-Authenticate')).to.equal('ApiKey header="X-KA-Access-Key"');
    // Without a body.
    if (request.method === 'HEAD') return answer;
    const problem = JSON.parse(answer.text);
    expect(problem).to.deep.include({ status, ...(code === undefined ? {} : { code }) });
    if (allow !== undefined) expect(problem.detail).to.equal(`Use ${allowed.join(' or ')}.`);
    expect(problem.requestId).to.equal(answer.headers.get('X-Request-Id'));
    if (detail !== undefined) expect(problem.detail).to.equal(detail);
    if (fault !== undefined) expectFault(problem, fault);
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

  for (const described of OPERATIONS)
    describe(`${described.operation.operationId} does not refuse`, () => {
      for (const operations of sufficientGrants(described))
        it(`a key of ${operations.join(' and ')} alone`, async () => {
          const { ask, status } = refusedAfterKey(described);
          const answer = await live.ask({ ...ask, key: await live.keyOf(described.path, operations) });
          expect(answer.status, answer.text).to.equal(status);
        });
    });

  for (const path of new Set(OPERATIONS.map((one) => one.path)))
    describe(path, () => {
      for (const refused of refusalsAt(path, OPERATIONS))
        it(`refuses ${refused.title}`, async () => {
          await expectRefusal(refused);
        });
    });

  for (const [name, path] of FILES)
    describe(name, () => {
      for (const refused of refusedMethods(path, ['GET']))
        it(`refuses ${refused.title}`, async () => {
          await expectRefusal(refused);
        });
    });
});
