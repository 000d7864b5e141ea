import { AccessKeys } from '#checkout/access/access-keys.ts';
import { Metrics } from '#checkout/metrics/metrics.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { createFixedRules, LoadedRules } from '#checkout/rollout/loaded-rules.ts';
import { ScoringService } from '#checkout/scoring/scoring.ts';
import { readConfig, signalSecretsAtHand } from '#config.ts';
import { createAttributeHmacs } from '#decision/pseudonym.ts';
import { ThreadedReader } from '#state/rule-folders/rule-reader.ts';
import { Audit } from '#workbench/access/audit.ts';
import { Approvals } from '#workbench/approvals/approvals.ts';
import { Proposals } from '#workbench/approvals/proposals.ts';
import { RuleDesk } from '#workbench/authoring/desk/rule-desk.ts';
import { readDecidedLately } from './open-archive.ts';
import { withLists } from './with-lists.ts';

/** Runs a command with Approvals for the store and RULES_DIR that the environment names. */
export async function withApprovals<T>(run: (approvals: Approvals) => Promise<T>): Promise<T> {
  const config = readConfig();
  const { rulesDir, requiresApproval } = config;
  const hmacs = createAttributeHmacs(signalSecretsAtHand(config));
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
              const ruleSource = createFixedRules(loadedRules.deciding(null));
              return new ScoringService({ ...serviceParts, ruleSource }).setOverride(...asked);
            },
          },
          keys: new AccessKeys(store.documents, clock),
          audit,
          fleet: new Fleet(store),
          loadedRules,
          clientKeys,
          desk,
          decidedLately: readDecidedLately(store),
          clock,
        }),
      );
    });
  } finally {
    await Promise.all([desk.close(), loadedRules.close()]);
  }
}
