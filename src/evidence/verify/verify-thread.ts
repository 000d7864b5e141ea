import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { Archive } from '../../archive/archive.ts';
import type { Segment } from '../../archive/archive-log.ts';
import { Duck } from '../../archive/duck.ts';
import { keptRules, verifySegment } from './verify-segment.ts';

/** What a thread of `verifyArchive` is given. */
export interface VerifyTask {
  readonly archiveDir: string;
  readonly rulesDir: string;
  /** The folder of the copy that is verified. */
  readonly frozen: string;
  readonly where: string;
}

const port = parentPort;
if (port !== null) {
  const { archiveDir, rulesDir, frozen, where }: VerifyTask = workerData;
  const archive = new Archive(frozen);
  const rulesOf = keptRules(archiveDir, rulesDir);
  const temporaryFolder = join(frozen, 'staging', 'spill');
  const duck = await Duck.open({ threads: 1, memoryMiB: 512, temporaryFolder });
  port.on('message', async (segment: Segment | null) => {
    if (segment !== null) {
      port.postMessage(await verifySegment(duck, archive, segment, where, rulesOf));
      return;
    }
    duck.close();
    port.close();
  });
}
