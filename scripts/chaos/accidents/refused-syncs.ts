import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { until } from '../../../test/servers/until.ts';
import { never } from '../figure.ts';
import { startServiceNode } from '../processes/service-node.ts';
import type { Scenario } from '../scenario.ts';
import { createNoneLostFigure, killRepeatedly, SAMPLES_A_ROUND_MAX } from './kills.ts';

const END_LIMIT_MS = 10_000;

/**
 * Lets the disk refuse to sync, again and again. The service must end itself each time, and is started again with
 * what the disk holds.
 */
export const refusedSyncs: Scenario = {
  name: 'refused-syncs',
  does: 'Lets the disk refuse every sync under load on SQLite, 50 times. The service must end itself without another answer of 200, and no acknowledged verdict may be lost or doubled.',
  needs: ['cc'],
  limitSeconds: 600,
  run: async (run) => {
    const disk = buildRefusingDisk();
    const service = await startServiceNode({ env: disk.env });
    const refusedAtMs: number[] = [];
    let survived = 0;
    const victim = {
      kill: async () => {
        disk.refuse();
        refusedAtMs.push(performance.now());
        const hasEnded = async () => !service.isRunning();
        await until('the service ends itself', hasEnded, END_LIMIT_MS).catch(() => {
          survived++;
          return service.kill();
        });
      },
      restart: () => {
        disk.accept();
        return service.restart();
      },
    };
    const plan = { service, victim, ratePerSecond: null, samplesMax: SAMPLES_A_ROUND_MAX };
    const { rounds, figures } = await killRepeatedly(plan, run);
    const late = rounds.flatMap(({ samples }, round) =>
      samples.filter(
        ({ status, sentAtMs }) => status === 200 && sentAtMs > (refusedAtMs[round] ?? Number.NaN),
      ),
    );
    return [
      ...figures,
      createNoneLostFigure(rounds),
      never('answers of 200 to requests after the refusal', late.length),
      never('refusals after which the service kept running', survived),
    ];
  },
};

/**
 * Builds a library that a process loads before the C library. The library refuses syncs while a file exists. Returns
 * the environment that loads the library, and functions that make and remove the file.
 */
function buildRefusingDisk() {
  const folder = temporaryDirectory();
  const library = join(folder, 'refusing-disk.so');
  const source = join(import.meta.dirname, 'refusing-disk.c');
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
  const refusing = join(folder, 'refusing');
  return {
    env: { LD_PRELOAD: library, REFUSING_DISK: refusing },
    refuse: () => writeFileSync(refusing, ''),
    accept: () => rmSync(refusing),
  };
}
