import { command } from './redis-command.ts';
import { until } from './until.ts';

/** Has a server forget keys that nobody needs; its maxmemory stays what it took. */
export async function makeEvict(port: number): Promise<void> {
  await command(port, ['CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl']);
  for (let n = 0; n < 100; n++)
    await command(port, ['SET', `filler:${n}`, 'x'.repeat(10_000), 'PX', '1000000']);
  const used = /used_memory:(\d+)/.exec(String(await command(port, ['INFO', 'memory'])))?.[1];
  await command(port, ['CONFIG', 'SET', 'maxmemory', String(Number(used) - 200_000)]);
  await until('keys are forgotten', async () =>
    /evicted_keys:[1-9]/.test(String(await command(port, ['INFO', 'stats']))),
  );
}
