import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { hasProgram } from '../../../test/servers/needed-programs.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';
import { createFigureMaker, type Figure } from '../figure.ts';
import {
  APPEND_ONLY_SERVER_OPTIONS,
  createPayers,
  diffUsage,
  FilledRedis,
  type Payer,
  readRedisInfo,
} from '../filled-redis.ts';

const figure = createFigureMaker('cost');

const PAYERS = 50;
const ROUNDS = 4;
const VERDICTS = PAYERS * ROUNDS;

/**
 * Measures what it costs redis-server to load a client for a plain verdict and to commit the verdict. The figures are
 * bytes, and instructions if valgrind is installed, because no other work on the machine changes them.
 */
export async function measureRedisWorkPerVerdict(): Promise<readonly Figure[]> {
  const bytes = await onRedis(NO_DEVICES, async (redis, ask) => {
    const before = await redis.readUsage();
    await ask();
    const { received, sent, logBytes } = diffUsage(before, await redis.readUsage(), VERDICTS);
    return [
      figure('load and commit: bytes to and from redis-server', received + sent, 'B'),
      figure('load and commit: bytes of its append-only file', logBytes, 'B'),
    ];
  });
  if (!hasProgram('valgrind')) return bytes;
  const plain = await instructionsOf(NO_DEVICES);
  const onDevices = await instructionsOf(OWN_DEVICES);
  const shared = await instructionsOf(SHARED_DEVICES);
  const name = 'load and commit: thousand instructions of redis-server';
  return [
    figure(name, plain, '', { atMost: 170 }),
    figure('load and commit with a device and an address: thousand instructions', onDevices, ''),
    figure('load and commit where ten clients share both: thousand instructions', shared, ''),
    ...bytes,
  ];
}

/** How many payers share one device and address in their scores. 0 means that payers show no device. */
const NO_DEVICES = 0;
const OWN_DEVICES = 1;
const SHARED_DEVICES = 10;

async function instructionsOf(payersOnDevice: number): Promise<number> {
  const folder = temporaryDirectory();
  const { PATH = '' } = process.env;
  const valgrind = `valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file=${folder}/out`;
  const program = join(folder, 'redis-server');
  writeFileSync(program, `#!/bin/sh\nPATH='${PATH}'\nexec ${valgrind} redis-server "$@"\n`);
  chmodSync(program, 0o700);
  process.env['PATH'] = folder + delimiter + PATH;
  return onRedis(payersOnDevice, async (redis, ask) => {
    const { figure: info } = await readRedisInfo(redis.port, 'server');
    const control = (option: string) =>
      execFileSync('callgrind_control', [option, String(info('process_id'))], { stdio: 'ignore' });
    control('--instr=on');
    await ask();
    control('--dump');
    const [dump = ''] = readdirSync(folder).filter((name) => name.startsWith('out.'));
    const [, total] = /^totals: (\d+)/m.exec(readFileSync(join(folder, dump), 'utf8')) ?? [];
    return Number(total) / VERDICTS / 1000;
  }).finally(() => {
    process.env['PATH'] = PATH;
  });
}

async function onRedis<T>(
  payersOnDevice: number,
  measure: (redis: FilledRedis, ask: () => Promise<void>) => Promise<T>,
): Promise<T> {
  // With hz 1 redis-server does its timed work rarely, so that this work does not count more on a slower machine.
  const redis = await FilledRedis.start([...APPEND_ONLY_SERVER_OPTIONS, '--hz', '1']);
  const payers = createPayers(PAYERS);
  try {
    if (payersOnDevice > 0)
      for (const payer of payers)
        await redis.score({ ...payer, number: Math.floor(payer.number / payersOnDevice) });
    await ask(redis, payers, 1);
    return await measure(redis, () => ask(redis, payers, ROUNDS));
  } finally {
    await redis.stop();
  }
}

/** Asks for a verdict for each payer in each round, always for a new order. */
async function ask(redis: FilledRedis, payers: readonly Payer[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    redis.nowMs += 1000;
    for (const payer of payers) await redis.verdict(payer, `${payer.name}-${redis.nowMs}`, null);
  }
}
