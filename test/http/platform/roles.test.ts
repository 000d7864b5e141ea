import { expect } from 'chai';
import { AccessKeys, including, OPERATIONS } from '../../../src/access/access-keys.ts';
import { parseRoles, ROLES, type Role } from '../../../src/access/roles.ts';
import { Sessions } from '../../../src/access/sessions.ts';
import { PLATFORM_OPERATIONS } from '../../../src/http/platform/platform-operations.ts';
import type { Grant } from '../../../src/http/request/authenticate.ts';
import { grantLists } from '../../../src/http/request/authenticate.ts';
import { call, type Problem } from '../../service/http-call.ts';
import { type RunningService, startService } from '../../service/running-service.ts';

const NAMES = ['viewer', 'support', 'analyst', 'operator', 'admin'] as const satisfies readonly Role[];

const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;
const DECLARED = [...always, ...withRollout, ...withEvidence, ...withRuleFolders];

function mayAsk(role: Role, grant: Grant): boolean {
  const operations = including(ROLES[role]);
  return grantLists(grant).some((needed) => needed.every((one) => operations.includes(one)));
}

/** The roles that may use each operation, by the declarations. */
function table(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    DECLARED.flatMap(({ operationId, grant }) =>
      grant === null ? [] : [[operationId, NAMES.filter((role) => mayAsk(role, grant)).join(' ')]],
    ),
  );
}

const EVERYBODY = NAMES.join(' ');
const WITH_PAYERS = 'support operator admin';
const WITH_RULES = 'analyst operator admin';
const IN_CHARGE = 'operator admin';

describe('operations by role', () => {
  it('are those of this table, for every declared operation', () => {
    expect(table()).to.deep.equal({
      reportOutcomes: '',
      readEvents: '',
      readClient: WITH_PAYERS,
      readClientHistory: WITH_PAYERS,
      readClientLinks: WITH_PAYERS,
      exportClient: WITH_PAYERS,
      eraseClient: 'admin',
      bindClient: IN_CHARGE,
      unbindClient: IN_CHARGE,
      overrideClient: IN_CHARGE,
      liftOverride: IN_CHARGE,
      makeList: IN_CHARGE,
      listDecisions: WITH_PAYERS,
      readDecision: WITH_PAYERS,
      explainDecision: WITH_PAYERS,
      readLists: WITH_PAYERS,
      readListEntries: WITH_PAYERS,
      importListEntries: IN_CHARGE,
      putListEntry: IN_CHARGE,
      removeListEntry: IN_CHARGE,
      readSession: EVERYBODY,
      readExploration: EVERYBODY,
      readReporting: 'viewer support analyst operator admin',
      readRollout: EVERYBODY,
      rollOut: IN_CHARGE,
      rollBack: IN_CHARGE,
      askDecisionWhatIf: IN_CHARGE,
      askEvidence: WITH_RULES,
      readExperiment: WITH_RULES,
      listEvidence: WITH_RULES,
      readEvidence: WITH_RULES,
      removeEvidence: WITH_RULES,
      listRuleFolders: EVERYBODY,
      readRuleFolder: EVERYBODY,
      compareRuleFolders: WITH_RULES,
      listDrafts: WITH_RULES,
      readDraft: WITH_RULES,
      writeDraft: WITH_RULES,
      discardDraft: WITH_RULES,
      checkDraft: WITH_RULES,
      rewriteCases: WITH_RULES,
      compareDraft: WITH_RULES,
      saveDraft: IN_CHARGE,
      releaseVersion: IN_CHARGE,
      listProposals: EVERYBODY,
      approveProposal: IN_CHARGE,
      rejectProposal: IN_CHARGE,
      listKeys: 'admin',
      issueKey: 'admin',
      revokeKey: 'admin',
      listPeople: 'admin',
      signOutPerson: 'admin',
      readSettings: EVERYBODY,
      readAudit: 'admin',
      checkAudit: 'admin',
    });
  });

  it('give no role the operations of programs', () => {
    for (const role of NAMES)
      expect(ROLES[role], role).not.to.include.oneOf(['score', 'verdict', 'outcomes', 'events']);
    expect(OPERATIONS).to.include.members(['score', 'verdict', 'outcomes', 'events']);
  });

  describe('asked by people who are signed in', () => {
    let service: RunningService;
    const parsed = parseRoles(NAMES.map((role) => `groups:${role}=${role}@shop`).join());
    const roles = typeof parsed === 'string' ? [] : parsed;
    before(async () => {
      const provider = { issuer: new URL('https://login.example'), clientId: 'a', clientSecret: 'b', roles };
      service = await startService({ consoleUrl: new URL('http://127.0.0.1'), provider });
    });
    after(() => service?.stop());

    for (const role of NAMES)
      it(`are granted and refused to ${role} by the table`, async () => {
        const { documents } = service.store;
        const keys = new AccessKeys(documents, service.clock.now);
        const sessions = new Sessions(documents, keys, roles, service.clock.now);
        const items = [`groups:${role}=${role}@shop`];
        const secret = await sessions.start({ kind: 'person', sub: role, email: null, items });
        const headers = { Cookie: `session=${secret}`, 'Sec-Fetch-Site': 'same-origin' };
        for (const { operationId, method, path, grant } of always) {
          if (grant === null) continue;
          const url = service.application.platformUrl + path.replaceAll(/\{\w+\}/g, 'x');
          const { status, body } = await call<Problem>(method.toUpperCase(), url, headers);
          const isRefused = status === 403 && body.title === 'not provisioned';
          expect(isRefused, `${role} ${operationId} ${status}`).to.equal(!mayAsk(role, grant));
          expect(status, operationId).not.to.equal(401);
        }
      });
  });
});
