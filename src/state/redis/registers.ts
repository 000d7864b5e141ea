import { registerKey } from '../keys.ts';
import type { RunCall } from '../run-call.ts';
import type { Registers } from '../store.ts';
import type { Versions } from '../versions.ts';
import type { RedisCommands } from './connection/connection.ts';
import { checked, isTextOrNothing, wholeOf } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const compareAndSet = new RedisScript('compare-and-set-1.lua');

export function redisRegisters(
  commands: RedisCommands,
  runOn: (key: string) => RunCall,
  versions: Versions,
): Registers {
  return {
    read: (name) =>
      runOn(registerKey(name))(() => checked('GET', commands.get(registerKey(name)), isTextOrNothing)),
    compareAndSet: async (name, expected, next) => {
      const key = registerKey(name);
      const args = [expected === null ? '0' : '1', expected ?? '', next];
      const written = await runOn(key)(
        async () => wholeOf('compare-and-set-1.lua', await compareAndSet.run(commands, [key], args)) === 1,
      );
      if (written) await versions.changed(name);
      return written;
    },
    version: async (name) => (await versions.current(name)).version,
  };
}
