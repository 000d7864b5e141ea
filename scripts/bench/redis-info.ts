import { command } from '../../test/servers/redis-command.ts';

/** What a Redis server says of itself in a section of INFO. */
export async function redisInfo(port: number, section = 'everything') {
  const info = String(await command(port, ['INFO', section]));
  /** NaN when the section has none of that name. */
  const figure = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return { figure, cpuMicros: (figure('used_cpu_user') + figure('used_cpu_sys')) * 1e6 };
}
