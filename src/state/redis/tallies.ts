import { isJsonObject } from '../../files/json-object.ts';
import { tallyKey } from '../keys.ts';
import { RETENTION } from '../retention.ts';
import type { RunCall } from '../run-call.ts';
import { type Tallies, tallyCounts, writerField } from '../tallies.ts';
import type { RedisCommands } from './connection/connection.ts';
import { checked } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const addToTally = new RedisScript('add-to-tally-1.lua');

/** A hash for each tally. */
export function redisTallies(commands: RedisCommands, runOn: (key: string) => RunCall): Tallies {
  return {
    add: (tally, { writer, number, counts }) => {
      const key = tallyKey(tally);
      const added = Object.entries(counts).flatMap(([field, count]) => [field, String(count)]);
      const args = [writerField(writer), String(number), String(RETENTION.tallyMs), ...added];
      return runOn(key)(async () => {
        await addToTally.run(commands, [key], args);
      });
    },
    read: (tally) => {
      const key = tallyKey(tally);
      const fields = () => checked('HGETALL', commands.hGetAll(key), isJsonObject);
      return runOn(key)(async () => tallyCounts(Object.entries(await fields())));
    },
  };
}
