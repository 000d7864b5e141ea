import { join } from 'node:path';
import { serveWork } from '#base/work/serve-work.ts';
import { ClientKeys } from '#decision/payer/client-key.ts';
import { createAttributePseudonymizer } from '#decision/pseudonym.ts';
import { Archive } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { QueryEngine } from '#history/archive/query-engine.ts';
import { createRuleSetFinder, type FindRuleSet, verifySegment } from './verify-segment.ts';

interface VerifyTask {
  readonly archiveDir: string;
  readonly rulesDir: string;
  /** The available secrets under which attributes may have been kept. */
  readonly signalSecrets: readonly string[];
  /** The folder of the copy that is verified. A thread verifies a single copy. */
  readonly frozen: string;
  readonly where: string;
  readonly segment: Segment;
  /** The salt with which the archive's client hashes were computed. */
  readonly salt: string;
}

/** Finds rule sets. It is created for the first segment and kept for the others. */
let rulesOf: FindRuleSet | null = null;

const jobs = {
  verify: async ({ archiveDir, rulesDir, signalSecrets, frozen, where, segment, salt }: VerifyTask) => {
    rulesOf ??= createRuleSetFinder(archiveDir, rulesDir, createAttributePseudonymizer(signalSecrets));
    const temporaryFolder = join(frozen, 'staging', 'spill');
    const duck = await QueryEngine.open({ threads: 1, memoryMiB: 512, temporaryFolder });
    try {
      return await verifySegment(duck, new Archive(frozen), segment, where, rulesOf, new ClientKeys(salt));
    } finally {
      duck.close();
    }
  },
};

/** The functions that the verifying thread runs for the command, by name. */
export type VerifyJobs = typeof jobs;

serveWork(jobs);
