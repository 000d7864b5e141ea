import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisCommands } from './connection/connection.ts';

/** A Lua file of `scripts/`; its first comment is its contract. */
export class RedisScript {
  readonly #source: string;
  readonly #sha1: string;

  constructor(file: string) {
    this.#source = readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8');
    this.#sha1 = hash('sha1', this.#source);
  }

  /** Runs the script by its hash; a server that does not know it yet is sent the source once. */
  async run(commands: RedisCommands, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const options = { keys: [...keys], arguments: [...args] };
    try {
      return await commands.evalSha(this.#sha1, options);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return commands.eval(this.#source, options);
    }
  }
}
