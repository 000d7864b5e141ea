import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ErrorReply } from '@redis/client';
import type { RedisAccess, RedisConnection } from './connection/connection.ts';
import { BadReply } from './connection/reply.ts';

/**
 * The code around each script. A ticket goes with each call and comes back with its reply. So a reply that belongs to
 * another call is noticed. A reply is `ticket:5` for a number, `ticket=text` for a text, or a list whose last item is
 * the ticket. A list within a list would cost Redis more than the rest of many scripts. `whole(n)` reads an argument
 * that must be a whole number, and otherwise ends the script, because Redis does not undo what a script wrote before
 * it failed. The scripts that every verdict calls add the ticket themselves, because a function around them costs as
 * much as a command.
 */
const TICKET = 'local ticket = table.remove(ARGV)\n';
const WHOLE = `local function whole(n)
  local text = ARGV[n]
  if not text or not string.find(text, '^%-?%d+$') then error('argument ' .. n .. ' is no whole number') end
  return tonumber(text)
end
`;
const START = 'local function answer()\n';
const END = `
end
local result = answer()
if type(result) == 'number' then return ticket .. ':' .. result end
if type(result) == 'string' then return ticket .. '=' .. result end
if not result then return ticket end
if not result.err then result[#result + 1] = ticket end
return result`;

let tickets = 0;

/** Creates the text that goes with one call. No other call of this process uses it. */
export function createCallTicket(): string {
  return (++tickets).toString(36);
}

/**
 * A Lua file of `scripts/`. The first comment of the file is its contract. The number at the end of its name says how
 * many KEYS the script takes. A script without a number takes any number of KEYS.
 */
export class RedisScript {
  readonly #file: string;
  readonly #source: string;
  readonly #sha1: string;
  readonly #keyCount: number | null;

  /**
   * `constants` are values that the script knows by name. They are the same at every call, so no call sends or checks
   * them.
   */
  constructor(file: string, constants: Readonly<Record<string, number | string>> = {}) {
    this.#file = file;
    const known = Object.entries(constants).map(
      ([name, value]) => `local ${name} = ${formatConstant(value)}\n`,
    );
    const script = readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8');
    const whole = script.includes('whole(') ? WHOLE : '';
    const body = script.includes('return ticket ..') ? script : START + script + END;
    this.#source = known.join('') + TICKET + whole + body;
    this.#sha1 = hash('sha1', this.#source);
    this.#keyCount = parseKeyCountFromName(file);
  }

  /**
   * Runs the script on the server that answers for its keys. The reply is read there too, so that a bad reply ends
   * the connection.
   */
  on<T>(
    { connection, runOn }: Pick<RedisAccess, 'connection' | 'runOn'>,
    keys: readonly [string, ...string[]],
    args: readonly string[],
    read: (what: string, reply: unknown) => T,
  ): Promise<T> {
    return runOn(keys[0])(() => this.run(connection, keys, args, read));
  }

  /**
   * Runs the script by its hash. A server that does not know the script yet gets the source once. Throws BadReply if
   * the reply does not belong to this call.
   */
  run<T>(
    connection: Pick<RedisConnection, 'runScript'>,
    keys: readonly string[],
    args: readonly string[],
    read: (what: string, reply: unknown) => T,
  ): Promise<T> {
    if (this.#keyCount !== null && keys.length !== this.#keyCount)
      throw new Error(`${this.#file} takes ${this.#keyCount} keys and was given ${keys.length}`);
    const ticket = createCallTicket();
    const call = { keys, args: [...args, ticket] };
    const readReply = (reply: unknown) => read(this.#file, readResult(this.#file, reply, ticket));
    return connection.runScript('EVALSHA', this.#sha1, call).then(readReply, (error: unknown) => {
      if (!(error instanceof ErrorReply && error.message.startsWith('NOSCRIPT'))) throw error;
      return connection.runScript('EVAL', this.#source, call).then(readReply);
    });
  }
}

function readResult(file: string, reply: unknown, ticket: string): unknown {
  if (Array.isArray(reply) && reply.at(-1) === ticket) return reply.slice(0, -1);
  if (reply === ticket) return null;
  if (typeof reply !== 'string' || !reply.startsWith(ticket)) throw new BadReply(file, reply);
  const result = reply.slice(ticket.length + 1);
  switch (reply[ticket.length]) {
    case ':':
      return Number(result);
    case '=':
      return result;
    default:
      throw new BadReply(file, reply);
  }
}

function formatConstant(value: number | string): string {
  if (typeof value === 'string' ? !/^[\w-]+$/.test(value) : !Number.isSafeInteger(value))
    throw new Error(`"${value}" is no constant of a script`);
  return JSON.stringify(value);
}

/** Reads from the name of a script how many KEYS it takes. Returns null if the name has no number. */
export function parseKeyCountFromName(file: string): number | null {
  const [, count] = /-(\d+)\.lua$/.exec(file) ?? [];
  return count === undefined ? null : Number(count);
}
