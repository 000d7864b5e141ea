import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startShipping } from '../../../src/archive/ship/start-shipping.ts';
import { temporaryDirectory } from '../../servers/temporary-directory.ts';
import { until } from '../../servers/until.ts';
import { RULES_FOLDER } from '../../service/current-rules.ts';

/** Fields of `/proc/PID/task/TID/stat` stand behind the name in brackets; the 19th of all is the nice value. */
const NICE = 16;

/** The nice value of each thread of this process; one that ended while we looked is left out. */
function niceValues(): readonly number[] {
  const tasks = '/proc/self/task';
  return readdirSync(tasks).flatMap((thread) => {
    try {
      const fields =
        readFileSync(join(tasks, thread, 'stat'), 'utf8')
          .split(') ')
          .at(-1)
          ?.split(' ') ?? [];
      return [Number(fields[NICE])];
    } catch {
      return [];
    }
  });
}

describe('shipping beside the service', () => {
  it('gives way to the threads that answer callers', async function () {
    if (process.platform !== 'linux') return this.skip();
    const usual = niceValues().length;
    const dataDir = temporaryDirectory();
    const config = {
      dataDir,
      redisUrl: null,
      archiveDir: join(dataDir, 'archive'),
      archiveKeepMs: 86_400_000,
      decisionsHotMs: 86_400_000,
      rulesDir: RULES_FOLDER,
    };
    const shipping = startShipping(config, () => {});
    const givingWay = () => niceValues().filter((nice) => nice === constants.priority.PRIORITY_BELOW_NORMAL);
    await until('one thread gives way', async () => givingWay().length === 1);
    expect(niceValues().filter((nice) => nice === 0).length).to.be.at.least(usual);
    await shipping.stop();
  });
});
