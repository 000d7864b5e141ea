import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisCommands, RedisDoor } from './connection/connection.ts';
import { BadReply } from './connection/reply.ts';

/**
 * What stands around each script. A number that goes with the call comes back with its reply, so that the answer to
 * another call cannot pass for it. And `whole(n)` reads an argument that must be a whole number, or ends the script:
 * Redis does not undo what a script wrote before it failed.
 */
const PRELUDE = `local ticket = table.remove(ARGV)
local function whole(n)
  local text = ARGV[n]
  if not text or not string.find(text, '^%-?%d+$') then error('argument ' .. n .. ' is no whole number') end
  return tonumber(text)
end
local function answer()
`;
const END = `
end
local result = answer()
if type(result) == 'table' and result.err then return result end
return { ticket, result }`;

let tickets = 0;

/**
 * A Lua file of `scripts/`; its first comment is its contract. A number at the end of its name is how many
 * KEYS it takes; without a number it takes any count.
 */
export class RedisScript {
  readonly #file: string;
  readonly #source: string;
  readonly #sha1: string;
  readonly #keyCount: number | null;

  constructor(file: string) {
    this.#file = file;
    this.#source = PRELUDE + readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8') + END;
    this.#sha1 = hash('sha1', this.#source);
    this.#keyCount = keyCountOf(file);
  }

  /** Runs it on the server that answers for its keys, and has the reply read there: a bad one ends the connection. */
  on<T>(
    { commands, runOn }: Pick<RedisDoor, 'commands' | 'runOn'>,
    keys: readonly [string, ...string[]],
    args: readonly string[],
    read: (what: string, reply: unknown) => T,
  ): Promise<T> {
    return runOn(keys[0])(async () => read(this.#file, await this.run(commands, keys, args)));
  }

  /**
   * Runs the script by its hash; a server that does not know it yet is sent the source once. Throws BadReply when the
   * reply does not belong to this call.
   */
  async run(commands: RedisCommands, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#keyCount !== null && keys.length !== this.#keyCount)
      throw new Error(`${this.#file} takes ${this.#keyCount} keys and was given ${keys.length}`);
    const ticket = (++tickets).toString(36);
    const options = { keys: [...keys], arguments: [...args, ticket] };
    let reply: unknown;
    try {
      reply = await commands.evalSha(this.#sha1, options);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      reply = await commands.eval(this.#source, options);
    }
    if (!Array.isArray(reply) || reply[0] !== ticket || reply.length > 2)
      throw new BadReply(this.#file, reply);
    return reply[1];
  }
}

/** How many KEYS the name of a script promises; null when it promises none. */
export function keyCountOf(file: string): number | null {
  const [, count] = /-(\d+)\.lua$/.exec(file) ?? [];
  return count === undefined ? null : Number(count);
}
