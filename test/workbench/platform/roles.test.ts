import { expect } from 'chai';
import { AccessKeys, addIncludedOperations, GRANTABLE_OPERATIONS } from '#checkout/access/access-keys.ts';
import {
  ANY_CONSOLE_OPERATION,
  listGrantAlternatives,
  type RequiredGrant,
} from '#checkout/http/request/authenticate.ts';
import { parseRoleMappings, ROLES, type Role } from '#workbench/access/roles.ts';
import { Sessions } from '#workbench/access/sessions.ts';
import { PLATFORM_OPERATIONS } from '#workbench/platform/platform-operations.ts';
import { call, type Problem } from '../../service/http-call.ts';
import { serviceOfSuite } from '../../service/running-service.ts';

const NAMES = ['viewer', 'support', 'analyst', 'operator', 'admin'] as const satisfies readonly Role[];

const { always, withRollout, withEvidence, withRuleFolders } = PLATFORM_OPERATIONS;
const DECLARED = [...always, ...withRollout, ...withEvidence, ...withRuleFolders];

function mayAsk(role: Role, grant: RequiredGrant): boolean {
  const operations = addIncludedOperations(ROLES[role]);
  return listGrantAlternatives(grant).some((needed) => needed.every((one) => operations.includes(one)));
}

/** What a key must have for each operation, who has it by a role, and which operations these are, by the declarations. */
function table(): Readonly<Record<string, readonly string[]>> {
  const rows = new Map<string, string[]>();
  for (const { operationId, grant } of DECLARED) {
    if (grant === null) continue;
    const needed =
      grant === ANY_CONSOLE_OPERATION
        ? 'any of the platform'
        : listGrantAlternatives(grant)
            .map((all) => all.join(' and '))
            .join(' or ');
    const row = `${needed}: ${NAMES.filter((role) => mayAsk(role, grant)).join(' ')}`;
    rows.set(row, [...(rows.get(row) ?? []), operationId].sort());
  }
  return Object.fromEntries(rows);
}

const EVERYBODY = NAMES.join(' ');
const WITH_PAYERS = 'support operator admin';
const IN_CHARGE = 'operator admin';

describe('operations by role', () => {
  it('are those of this table, for every declared operation', () => {
    expect(table()).to.deep.equal({
      'outcomes: ': ['reportOutcomes'],
      'events: ': ['readEvents'],
      [`any of the platform: ${EVERYBODY}`]: ['listProposals', 'readSession', 'readSettings'],
      [`figures: ${EVERYBODY}`]: ['readReporting'],
      [`figures or rules: ${EVERYBODY}`]: ['readExploration'],
      [`rules:read: ${EVERYBODY}`]: ['listRuleFolders', 'readRollout', 'readRuleFolder'],
      [`clients:read: ${WITH_PAYERS}`]: [
        'exportClient',
        'readClient',
        'readClientHistory',
        'readClientLinks',
      ],
      [`clients:read or decisions or lists:read: ${WITH_PAYERS}`]: ['find'],
      [`decisions: ${WITH_PAYERS}`]: ['explainDecision', 'listDecisions', 'readDecision'],
      [`lists:read: ${WITH_PAYERS}`]: ['readListEntries', 'readLists'],
      'rules: analyst operator admin': [
        'askEvidence',
        'checkDraft',
        'compareDraft',
        'compareRuleFolders',
        'discardDraft',
        'listDrafts',
        'listEvidence',
        'proposeDraft',
        'readDraft',
        'readEvidence',
        'removeEvidence',
        'rewriteCases',
        'writeDraft',
      ],
      [`decisions and rules: ${IN_CHARGE}`]: ['askDecisionWhatIf'],
      'waits: support operator admin': ['endWait'],
      [`clients: ${IN_CHARGE}`]: ['bindClient', 'liftOverride', 'overrideClient', 'unbindClient'],
      [`lists: ${IN_CHARGE}`]: ['importListEntries', 'makeList', 'putListEntry', 'removeListEntry'],
      [`approve: ${IN_CHARGE}`]: ['approveProposal', 'rejectProposal'],
      [`operate: ${IN_CHARGE}`]: ['releaseVersion', 'rollBack', 'rollOut', 'saveDraft'],
      'erase: admin': ['eraseClient'],
      'audit: admin': ['checkAudit', 'readAudit'],
      'keys: admin': ['issueKey', 'listKeys', 'listPeople', 'revokeKey', 'signOutPerson'],
    });
  });

  it('give no role the operations of programs', () => {
    for (const role of NAMES)
      expect(ROLES[role], role).not.to.include.oneOf(['score', 'verdict', 'outcomes', 'events']);
    expect(GRANTABLE_OPERATIONS).to.include.members(['score', 'verdict', 'outcomes', 'events']);
  });

  describe('asked by people who are signed in', () => {
    const parsed = parseRoleMappings(NAMES.map((role) => `groups:${role}=${role}@shop`).join());
    const roles = typeof parsed === 'string' ? [] : parsed;
    const { service } = serviceOfSuite(() => ({
      consoleUrl: new URL('http://127.0.0.1'),
      provider: { issuer: new URL('https://login.example'), clientId: 'a', clientSecret: 'b', roles },
    }));

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
