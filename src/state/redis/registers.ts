import type { Guard } from '../documents.ts';
import { registerKey } from '../keys.ts';
import type { Registers } from '../store.ts';
import type { RedisCommands } from './connection/connection.ts';
import { RedisScript } from './script.ts';

const compareAndSet = new RedisScript('compare-and-set-1.lua');

export function redisRegisters(commands: RedisCommands, guardOf: (key: string) => Guard): Registers {
  return {
    read: (name) => guardOf(registerKey(name))(() => commands.get(registerKey(name))),
    compareAndSet: (name, expected, next) => {
      const key = registerKey(name);
      const args = [expected === null ? '0' : '1', expected ?? '', next];
      return guardOf(key)(async () => (await compareAndSet.run(commands, [key], args)) === 1);
    },
  };
}
