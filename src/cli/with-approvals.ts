import { AccessKeys } from '../access/access-keys.ts';
import { Audit } from '../access/audit.ts';
import { Proposals } from '../access/proposals.ts';
import { RuleDesk } from '../authoring/desk/rule-desk.ts';
import { readConfig, signalSecretsAtHand } from '../config.ts';
import { Metrics } from '../metrics/metrics.ts';
import { attributeHmacsUnder } from '../pseudonym.ts';
import { Fleet } from '../rollout/fleet.ts';
import { fixedRules, LoadedRules } from '../rollout/loaded-rules.ts';
import { ThreadedReader } from '../rules/folder/rule-reader.ts';
import { Approvals } from '../service/approvals.ts';
import { ScoringService } from '../service/scoring.ts';
import { decidedLatelyOn } from './open-archive.ts';
import { withLists } from './with-lists.ts';

/** Runs a command with Approvals for the store and RULES_DIR that the environment names. */
export async function withApprovals<T>(run: (approvals: Approvals) => Promise<T>): Promise<T> {
  const config = readConfig();
  const { rulesDir, requiresApproval } = config;
  const hmacs = attributeHmacsUnder(signalSecretsAtHand(config));
  const loadedRules = await LoadedRules.read(rulesDir, new ThreadedReader(rulesDir), hmacs);
  const desk = new RuleDesk(rulesDir);
  try {
    return await withLists(({ store, clock, pseudonym }) => {
      const { clientKeys } = store;
      const audit = new Audit(store.auditLog, clock);
      const serviceParts = { store, clock, pseudonym, clientKeys, metrics: new Metrics() };
      return run(
        new Approvals({
          isRequired: requiresApproval,
          proposals: new Proposals(store.registers, audit, clientKeys, clock),
          store,
          service: {
            setOverride: (...asked) => {
              const ruleSource = fixedRules(loadedRules.deciding(null));
              return new ScoringService({ ...serviceParts, ruleSource }).setOverride(...asked);
            },
          },
          keys: new AccessKeys(store.documents, clock),
          audit,
          fleet: new Fleet(store),
          loadedRules,
          clientKeys,
          desk,
          decidedLately: decidedLatelyOn(store),
          clock,
        }),
      );
    });
  } finally {
    await Promise.all([desk.close(), loadedRules.close()]);
  }
}
