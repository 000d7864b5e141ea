import { randomUUID } from 'node:crypto';
import { LISTS } from '../keys.ts';
import {
  LIST_REMOVAL_KEPT_MS,
  type ListChange,
  type ListLog,
  type ListPage,
  type ListRecord,
} from '../list-log.ts';
import type { RunCall } from '../run-call.ts';
import type { RedisCommands } from './connection/connection.ts';
import { itemsOf, textOrNothing, wholeOf } from './connection/reply.ts';
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
        if (made === undefined || made === null) return null;
        return itemsOf('write-lists-4.lua', made).map((one) => wholeOf('write-lists-4.lua', one) === 1);
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
  const what = 'read-lists-3.lua';
  const [latest, horizon, epoch, ...rest] = itemsOf(what, reply);
  const number = (text: unknown) => wholeOf(what, Number(textOrNothing(what, text) ?? 'NaN'));
  const records: ListRecord[] = [];
  for (let place = 0; place < rest.length; place += 3) {
    records.push({
      id: String(rest[place]),
      version: number(rest[place + 1]),
      text: textOrNothing(what, rest[place + 2]),
    });
  }
  return {
    records,
    latest: number(latest),
    horizon: number(horizon),
    epoch: textOrNothing(what, epoch) || null,
  };
}
