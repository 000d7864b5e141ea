import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisCommands } from './connection/connection.ts';

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
    this.#source = readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8');
    this.#sha1 = hash('sha1', this.#source);
    this.#keyCount = keyCountOf(file);
  }

  /** Runs the script by its hash; a server that does not know it yet is sent the source once. */
  async run(commands: RedisCommands, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#keyCount !== null && keys.length !== this.#keyCount)
      throw new Error(`${this.#file} takes ${this.#keyCount} keys and was given ${keys.length}`);
    const options = { keys: [...keys], arguments: [...args] };
    try {
      return await commands.evalSha(this.#sha1, options);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return commands.eval(this.#source, options);
    }
  }
}

/** How many KEYS the name of a script promises; null when it promises none. */
export function keyCountOf(file: string): number | null {
  const [, count] = /-(\d+)\.lua$/.exec(file) ?? [];
  return count === undefined ? null : Number(count);
}
