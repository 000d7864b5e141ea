import { randomUUID } from 'node:crypto';
import type { AUDIT_LOG_KEYS } from '#state/keys.ts';
import type { NumberedLog } from '#state/numbered-log.ts';
import { LIST_REMOVAL_KEPT_MS, type ListLogChange } from '#state/store.ts';
import type { RunCall } from '#state/store-errors.ts';
import type { RedisAccess, RedisCommands } from './connection/connection.ts';
import { callChecked, createTextsCheck, requireArray, requireWholeNumber } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const appendScript = new RedisScript('append-records-6.lua');

/**
 * Creates a log of numbered texts in Redis. Texts are appended, read after a number, and trimmed up to a number. If
 * several texts have the same id, the newest is kept. All keys lie in one slot.
 */
export function createNumberedLog(door: RedisAccess, keys: typeof AUDIT_LOG_KEYS): NumberedLog {
  const { records, numbers, removals, head, parts, partsOf } = keys;
  const call = <T>(command: (commands: RedisCommands) => Promise<T>) =>
    door.runOn(head)(() => command(door.commands));
  const textsOf = async (ids: readonly string[]): Promise<readonly (string | null)[]> =>
    ids.length === 0
      ? []
      : call((commands) =>
          callChecked('HMGET', commands.hmGet(records, [...ids]), createTextsCheck(ids.length)),
        );
  const onParts: RunCall = (command) => door.runOn(parts)(command);
  return {
    /**
     * Appends all changes. Returns null if the terms are not met. If a change has `expected`, it is made only if the
     * stored text with its id has this number.
     */
    append: (changes, { unless, number, part } = {}) => {
      const { since, idsBegin, textsBegin } = unless ?? { since: '+inf', idsBegin: '', textsBegin: '' };
      const terms = [LIST_REMOVAL_KEPT_MS, since, idsBegin, textsBegin, number ?? '', part?.text ?? ''];
      const args = [randomUUID(), ...terms.map(String), ...changes.flatMap(createChangeArgs)];
      const all = [records, numbers, removals, head, parts, partsOf(part?.owner ?? '')] as const;
      return appendScript.on(door, all, args, (what, made) =>
        made === undefined || made === null
          ? null
          : requireArray(what, made).map((one) => requireWholeNumber(what, one) === 1),
      );
    },
    /** Reads the newest number (0 if there is none), the horizon and the epoch. ListLogPage explains the last two. */
    head: () =>
      call(async (commands) => {
        const fields = commands.hmGet(head, ['latest', 'horizon', 'epoch']);
        const [latest, horizon, epoch = null] = await callChecked('HMGET', fields, createTextsCheck(3));
        const number = (text: string | null | undefined) => requireWholeNumber('HMGET', Number(text ?? '0'));
        return { latest: number(latest), horizon: number(horizon), epoch };
      }),
    /**
     * Reads the texts after a number. A text that changes between the two commands comes with its newer content, and
     * comes again under its newer number.
     */
    readAfter: async (after, limit) => {
      const terms = { BY: 'SCORE', LIMIT: { offset: 0, count: limit } } as const;
      const found = await call((commands) =>
        callChecked('ZRANGE', commands.zRangeWithScores(numbers, `(${after}`, '+inf', terms), Array.isArray),
      );
      const texts = await textsOf(found.map(({ value }) => value));
      return found.map(({ value, score }, place) => ({
        id: value,
        version: requireWholeNumber('ZRANGE', score),
        text: texts[place] ?? null,
      }));
    },
    /** Reads the newest text. Returns null if there is none. */
    newestText: async () => {
      const newest = () => door.commands.zRange(numbers, 0, 0, { REV: true });
      const [text = null] = await textsOf(await call(() => callChecked('ZRANGE', newest(), Array.isArray)));
      return text;
    },
    /** Removes the texts up to a number. No trace of them stays. */
    trim: async (through) => {
      const ids = await call((commands) => commands.zRange(numbers, '-inf', through, { BY: 'SCORE' }));
      if (ids.length === 0) return;
      await call((commands) =>
        commands.multi().hDel(records, ids).zRemRangeByScore(numbers, '-inf', through).exec(),
      );
    },
    readParts: (ofNumbers) => onParts(() => door.commands.hmGet(parts, ofNumbers.map(String))),
    listParts: (owner) =>
      onParts(async () => (await door.commands.sMembers(partsOf(owner))).map(Number).sort((a, b) => a - b)),
    // The index of the owner's texts is removed last, so that an interrupted erasure can be repeated.
    forgetParts: async (owner, ofNumbers) => {
      const names = ofNumbers.map(String);
      await onParts(() => door.commands.hDel(parts, names));
      await onParts(() => door.commands.sRem(partsOf(owner), names));
    },
  };
}

function createChangeArgs({ id, text, expected }: ListLogChange): readonly string[] {
  return [id, expected === undefined ? '' : String(expected), text === null ? '-' : `+${text}`];
}
