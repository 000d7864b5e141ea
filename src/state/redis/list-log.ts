import { randomUUID } from 'node:crypto';
import { LISTS } from '../keys.ts';
import {
  LIST_REMOVAL_KEPT_MS,
  type ListChange,
  type ListLog,
  type ListPage,
  type ListRecord,
} from '../lists/list-log.ts';
import type { RunCall } from '../run-call.ts';
import { textOf } from '../snapshot.ts';
import type { RedisCommands } from './connection/connection.ts';
import { RedisScript } from './script.ts';

const writeLists = new RedisScript('write-lists-4.lua');
const readLists = new RedisScript('read-lists-3.lua');

/** The shared lists in four keys of one slot. */
export function redisListLog(commands: RedisCommands, runOn: (key: string) => RunCall): ListLog {
  const { records, numbers, removals, head } = LISTS;
  return {
    write: (changes, unless) =>
      runOn(head)(async () => {
        const { since, idsBegin, textsBegin } = unless ?? { since: '+inf', idsBegin: '', textsBegin: '' };
        const condition = [String(since), idsBegin, textsBegin];
        const args = [
          randomUUID(),
          String(LIST_REMOVAL_KEPT_MS),
          ...condition,
          ...changes.flatMap(changeArgs),
        ];
        const made = await writeLists.run(commands, [records, numbers, removals, head], args);
        return Array.isArray(made) ? made.map((one) => one === 1) : null;
      }),
    read: (after, limit) =>
      runOn(head)(async () => {
        const args = [String(after), String(limit)];
        return pageOf(await readLists.run(commands, [records, numbers, head], args));
      }),
  };
}

function changeArgs({ id, text, expected }: ListChange): readonly string[] {
  return [id, expected === undefined ? '' : String(expected), text === null ? '-' : `+${text}`];
}

function pageOf(reply: unknown): ListPage {
  const [latest, horizon, epoch, ...rest]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const records: ListRecord[] = [];
  for (let place = 0; place < rest.length; place += 3) {
    records.push({
      id: String(rest[place]),
      version: Number(rest[place + 1]),
      text: textOf(rest[place + 2]),
    });
  }
  return {
    records,
    latest: Number(latest ?? 0),
    horizon: Number(horizon ?? 0),
    epoch: textOf(epoch) === '' ? null : textOf(epoch),
  };
}
