import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { type Application, startApplication } from '#application.ts';
import {
  GRANTABLE_OPERATIONS,
  type GrantableOperation,
  INSTALLATION_PLATFORM,
} from '#checkout/access/access-keys.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import type { RolloutNode } from '#checkout/rollout/rollout-node.ts';
import { toPlatformName } from '#decision/payer/client-key.ts';
import type { Store } from '#state/store.ts';
import { parseRoleMappings } from '#workbench/access/roles.ts';
import { Sessions } from '#workbench/access/sessions.ts';
import type { DeskTimeLimit } from '#workbench/authoring/desk/rule-desk.ts';
import { EvidenceDesk } from '#workbench/evidence/evidence-desk.ts';
import {
  addVersion,
  LONGER_FIRST_WAIT,
  rulesDirectory,
  startQuietNode,
} from '../../../checkout/rollout/rule-folders.ts';
import { RULES_FOLDER } from '../../../service/current-rules.ts';
import { call } from '../../../service/http-call.ts';
import { KEY_LIFETIME_MS } from '../../../service/key-lifetime.ts';
import { MovableClock } from '../../../service/movable-clock.ts';
import { PLAIN_PARTS, SIGNAL_SECRET } from '../../../service/running-service.ts';
import { Tenant } from '../../../service/tenant.ts';

/** Whoever asks the platform's API: by a key, or as somebody who signed in. */
export type Asker = Pick<Tenant, 'ask'>;

const PARSED = parseRoleMappings('sub:mallory=admin@shop,sub:mallory=operator@shop');
const ROLES = typeof PARSED === 'string' ? [] : PARSED;

/** A service with rule sets to roll out, where somebody else approves unless it says otherwise. */
export interface FourEyes {
  readonly application: Application;
  readonly store: Store;
  readonly node: RolloutNode;
  readonly clock: MovableClock;
  readonly rulesDir: string;
  /** Somebody's key, for all operations of the platform when none are named. */
  person(
    owner: string | undefined,
    platform: string,
    operations?: readonly GrantableOperation[],
  ): Promise<Tenant>;
  /** Mallory, who signed in and has every role at shop that OIDC_ROLES can give. */
  signedIn(platform: string): Promise<Asker>;
  stop(): Promise<void>;
}

/** p2.v10 decides; p2.v11 and p2.v12 are released, and the draft p2.v13 could be. */
export async function startFourEyes(
  store: Store,
  requiresApproval = true,
  deskLimits: DeskTimeLimit = {},
): Promise<FourEyes> {
  const clock = new MovableClock();
  const rulesDir = rulesDirectory();
  addVersion(rulesDir, 'p2.v11', [LONGER_FIRST_WAIT]);
  addVersion(rulesDir, 'p2.v12', []);
  addVersion(rulesDir, 'p2.v13', [], { draft: true });
  cpSync(join(RULES_FOLDER, 'cases'), join(rulesDir, 'p2.v13', 'cases'), { recursive: true });
  const fleet = new Fleet(store);
  const node = await startQuietNode(store, rulesDir, clock.now);
  const application = await startApplication({
    ...PLAIN_PARTS,
    store,
    requiresApproval,
    // Never visited: sessions here begin after the provider's check.
    provider: { issuer: new URL('https://id.example'), clientId: 'it', clientSecret: 'it', roles: ROLES },
    archive: null,
    clock: clock.now,
    ruleSource: node,
    rollout: { fleet, loadedRules: node.rules, report: () => node.report() },
    rulesDir,
    deskLimits,
    evidence: new EvidenceDesk({
      past: null,
      rulesDir,
      signalSecret: SIGNAL_SECRET,
      store,
      clock: clock.now,
      onTrouble: () => {},
    }),
  });
  return {
    application,
    store,
    node,
    clock,
    rulesDir,
    person: async (owner, platform, operations = GRANTABLE_OPERATIONS) => {
      const whose = platform === '*' ? INSTALLATION_PLATFORM : toPlatformName(platform);
      const { key } = await application.keys.issue(whose, operations, KEY_LIFETIME_MS, owner);
      return new Tenant(application, key);
    },
    signedIn: async (platform) => {
      const sessions = new Sessions(store.documents, application.keys, ROLES, clock.now);
      const items = ROLES.map(({ item }) => item);
      const secret = await sessions.start({ kind: 'person', sub: 'mallory', email: null, items });
      const site = { 'Sec-Fetch-Site': 'same-origin', 'X-KA-Platform': platform };
      const cookie = { Cookie: `session=${secret}`, ...site };
      return {
        ask: (method, path, body, headers = {}) =>
          call(method, `${application.platformUrl}/v1/platform/${path}`, { ...cookie, ...headers }, body),
      };
    },
    stop: async () => {
      await application.drain();
      await node.stop();
    },
  };
}
