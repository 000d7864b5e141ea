import { join } from 'node:path';
import { serveWork } from '#base/work/serve-work.ts';
import { ClientKeys } from '#decision/payer/client-key.ts';
import { createAttributeHmacs } from '#decision/pseudonym.ts';
import { Archive } from '#history/archive/archive.ts';
import type { Segment } from '#history/archive/archive-log.ts';
import { QueryEngine } from '#history/archive/duck.ts';
import { createKeptRules, type RulesOf, verifySegment } from './verify-segment.ts';

interface VerifyTask {
  readonly archiveDir: string;
  readonly rulesDir: string;
  /** Under which attributes were kept, those at hand. */
  readonly signalSecrets: readonly string[];
  /** The folder of the copy that is verified; a thread is for one. */
  readonly frozen: string;
  readonly where: string;
  readonly segment: Segment;
  /** Of the archive's clients. */
  readonly salt: string;
}

/** Read for the first segment and kept for the others. */
let rulesOf: RulesOf | null = null;

const works = {
  verify: async ({ archiveDir, rulesDir, signalSecrets, frozen, where, segment, salt }: VerifyTask) => {
    rulesOf ??= createKeptRules(archiveDir, rulesDir, createAttributeHmacs(signalSecrets));
    const temporaryFolder = join(frozen, 'staging', 'spill');
    const duck = await QueryEngine.open({ threads: 1, memoryMiB: 512, temporaryFolder });
    try {
      return await verifySegment(duck, new Archive(frozen), segment, where, rulesOf, new ClientKeys(salt));
    } finally {
      duck.close();
    }
  },
};

export type VerifyWorks = typeof works;

serveWork(works);
