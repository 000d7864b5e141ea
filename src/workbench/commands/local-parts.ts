import { createLog } from '#base/log.ts';
import { Metrics } from '#checkout/metrics/metrics.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { createFixedRuleSource, LoadedRules, type RuleSource } from '#checkout/rollout/loaded-rules.ts';
import { type Config, getOrCreateSignalSecret, listSignalSecrets, readConfig } from '#config.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import type { ArchiveReader } from '#history/archive/read/archive-reader.ts';
import { ThreadedRuleReader } from '#state/rule-folders/rule-reader.ts';
import type { Store } from '#state/store.ts';
import { composeServiceParts } from '#workbench/composition.ts';
import { ErasureLedger } from '#workbench/payers/erasure.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { createOperationDependencies } from '#workbench/platform/platform-parts.ts';
import { agreeOnSecret, SECRET_REGISTER } from '#workbench/upkeep/signal-secret.ts';
import { withArchiveReader } from './open-archive.ts';
import { withOpenStore } from './open-store.ts';

/** What an operation needs besides the store. The command reads nothing else. */
export interface OperationNeeds {
  /** The shared lists, and the secret under which devices and addresses are kept. */
  readonly lists?: boolean;
  /** The rule sets of RULES_DIR. */
  readonly rules?: boolean;
  /** The decisions that are older than the store keeps. */
  readonly archive?: boolean;
  /** Whether changes are made without the approval of another person. */
  readonly withoutApproval?: boolean;
}

/**
 * Runs a command with the same objects (parts) that a node gives its operations. Environment variables name the store
 * and the folders. Nothing of a node is started: no heartbeat, no sweep, no shipping, no listener.
 */
export function withLocalParts<T>(needs: OperationNeeds, run: (parts: RuleParts) => Promise<T>): Promise<T> {
  const config = readConfig();
  return withOpenStore((store, clock) =>
    withArchiveIf(needs.archive === true && config.archiveDir !== null, store, async (archive) => {
      const secrets = await readSecrets(needs, config, store, clock());
      const { rulesDir } = config;
      const loadedRules = new LoadedRules(rulesDir, new ThreadedRuleReader(rulesDir), secrets.attributeHmacs);
      if (needs.rules === true) await loadedRules.refresh();
      const parts = composeLocalParts({ config, needs, store, clock, archive, loadedRules, secrets });
      try {
        if (needs.lists === true) await parts.lists.sync();
        return await run(parts);
      } finally {
        await Promise.all([parts.desk.close(), loadedRules.close()]);
        await parts.audit.sumUp();
      }
    }),
  );
}

function withArchiveIf<T>(
  isNeeded: boolean,
  store: Store,
  run: (archive: ArchiveReader | null) => Promise<T>,
): Promise<T> {
  return isNeeded ? withArchiveReader(store, run) : run(null);
}

type Secrets = Awaited<ReturnType<typeof readSecrets>>;

/**
 * Reads the secrets for HMACs. With secrets other than those of the nodes, no fingerprint and no address would be
 * recognised.
 */
async function readSecrets({ lists = false }: OperationNeeds, config: Config, store: Store, now: number) {
  const atHand = listSignalSecrets(config);
  const attributeHmacs = createAttributePseudonymizer(atHand);
  if (!lists) return { signalSecret: atHand[0] ?? '', signalSecretPrevious: null, attributeHmacs };
  const isNoted = (await store.registers.read(SECRET_REGISTER)) !== null;
  const signalSecret = getOrCreateSignalSecret(config);
  const signalSecretPrevious = isNoted
    ? await agreeOnSecret(store.registers, { ...config, signalSecret }, now)
    : null;
  return {
    signalSecret,
    signalSecretPrevious,
    attributeHmacs: createAttributePseudonymizer(listSignalSecrets(config)),
  };
}

interface Opened {
  readonly config: Config;
  readonly needs: OperationNeeds;
  readonly store: Store;
  readonly clock: () => number;
  readonly archive: ArchiveReader | null;
  readonly loadedRules: LoadedRules;
  readonly secrets: Secrets;
}

function composeLocalParts({
  config,
  needs,
  store,
  clock,
  archive,
  loadedRules,
  secrets,
}: Opened): RuleParts {
  const { erasureLedger, rateLimitPerSecond: ratePerSecond, rateLimitBurst: burst, trustedProxies } = config;
  const rollout = { fleet: new Fleet(store), loadedRules };
  const given = {
    ...config,
    ...secrets,
    requiresApproval: config.requiresApproval && needs.withoutApproval !== true,
    erasureLedger: erasureLedger === null ? null : new ErasureLedger(erasureLedger),
    rateLimit: { ratePerSecond, burst, trustedProxies },
    rollout,
    ruleSource: createRuleSource(loadedRules),
    store,
    clock,
    archive,
    log: createLog('silent'),
  };
  const parts = composeServiceParts(given, new Metrics());
  const { withRuleFolders } = createOperationDependencies({
    ...given,
    ...parts,
    readiness: async () => ({ ready: false, why: 'this is a command, and no node' }),
    reporting: (platform) => parts.reporting.of(platform),
  });
  if (withRuleFolders === null) throw new Error('a command has a RULES_DIR');
  return withRuleFolders;
}

/**
 * Creates a source that always gives the newest released rule set. A command decides with it when it changes a payer.
 */
function createRuleSource(loadedRules: LoadedRules): RuleSource {
  return {
    choose: (client) => createFixedRuleSource(loadedRules.requireReleased(null)).choose(client),
    countVerdict: () => {},
    countOutcome: () => {},
    countCandidateError: () => {},
    findRuleSetByDigest: (digest) => loadedRules.findByDigest(digest),
  };
}
