import type { Node } from 'yaml';
import type { LadderSettings } from '../../client/ladder.ts';
import { formatDuration } from '../duration.ts';
import { isName } from '../name.ts';
import { suggest } from '../problem.ts';
import { type Members, NO_MEMBERS, optional, type YamlFile } from './yaml-file.ts';

export const LADDER_LEVELS_MAX = 20;

const LADDERS_MAX = 20;

/** A payer who is told to come back in a year is blocked, which is another verdict. */
const LADDER_MS_MAX = 365 * 24 * 3600_000;

type NamedLadders = LadderSettings['ladders'];

/** The ladders of a rule set: the one without a name, and those that rules name. */
export class RuleLadders {
  /** By name, how to say at its place that nobody uses it; null as long as `ladder.yaml` is not read or not sound. */
  #named: ReadonlyMap<string, () => void> | null = null;
  #ladders: NamedLadders = {};
  readonly #used = new Set<string>();

  /** Reads `ladder.yaml`. */
  read(file: YamlFile): LadderSettings | null {
    const members = file.members(file.root, 'the ladder', MEMBERS, REQUIRED);
    const named = namedIn(file, members);
    const own = readNamed(file, named, null);
    const ladder = readLadder(file, members, own);
    if (own === null) return null;
    this.#ladders = own;
    this.#named = new Map(
      [...(named ?? [])].map(([name, { key }]) => [
        name,
        () => file.report(key, `no rule names the ladder "${name}"; name it in a WAIT rule, or remove it`),
      ]),
    );
    return ladder;
  }

  /** Reads a platform's own ladder, and what it has different of the named ones. */
  readOwn(file: YamlFile, node: Node): LadderSettings | null {
    const members = file.members(node, 'the ladder', MEMBERS, REQUIRED);
    const known = this.#named === null ? null : [...this.#named.keys()];
    const own = readNamed(file, namedIn(file, members), known);
    return readLadder(file, members, own === null ? null : { ...this.#ladders, ...own });
  }

  /** Reads the name of a ladder as a rule has it. */
  use(file: YamlFile, node: Node): string | null {
    const name = file.text(node, 'ladder');
    if (name === null || this.#named === null) return name;
    this.#used.add(name);
    if (this.#named.has(name)) return name;
    const known = [...this.#named.keys()];
    const hint = known.length === 0 ? '; ladder.yaml has no "ladders:"' : suggest(name, known);
    return file.report(node, `unknown ladder "${name}"${hint}`);
  }

  /** Asked once all rules are read. */
  refuseUnused(): void {
    for (const [name, report] of this.#named ?? []) if (!this.#used.has(name)) report();
  }
}

const REQUIRED = ['levels', 'resetAfter'];
const MEMBERS = [...REQUIRED, 'ladders'];

/** What stands under `ladders:`; null when that is not a mapping, or has too many entries. */
function namedIn(file: YamlFile, members: Members | null): Members | null {
  const node = members?.get('ladders')?.value;
  if (node === undefined) return NO_MEMBERS;
  const named = file.anyMembers(node, '"ladders"');
  if (named === null || named.size <= LADDERS_MAX) return named;
  return file.report(node, `at most ${LADDERS_MAX} ladders have names, not ${named.size}`);
}

/** `known` are the names that a platform may have different; null leaves them open. */
function readNamed(
  file: YamlFile,
  members: Members | null,
  known: readonly string[] | null,
): NamedLadders | null {
  if (members === null) return null;
  const ladders: Record<string, readonly number[]> = {};
  let sound = true;
  for (const [name, { key, value }] of members) {
    const levelsMs = readLevels(file, value, `the ladder "${name}"`);
    if (!isName(name)) {
      file.report(
        key,
        `the name of a ladder has lower-case words joined by "-", like patient, unlike "${name}"`,
      );
      sound = false;
    } else if (known !== null && !known.includes(name)) {
      file.report(
        key,
        `ladder.yaml has no ladder "${name}"${known.length === 0 ? '' : suggest(name, known)}`,
      );
      sound = false;
    } else if (levelsMs === null) sound = false;
    else ladders[name] = levelsMs;
  }
  return sound ? ladders : null;
}

function readLadder(
  file: YamlFile,
  members: Members | null,
  ladders: NamedLadders | null,
): LadderSettings | null {
  const levelsMs = optional(members?.get('levels'), (value) => readLevels(file, value, 'levels'));
  const reset = members?.get('resetAfter');
  const resetAfterMs = optional(reset, (value) => readLadderDuration(file, value, 'resetAfter'));
  if (reset === undefined || resetAfterMs === null || levelsMs === null || ladders === null) return null;
  const tops = [['', levelsMs] as const, ...Object.entries(ladders)].map(([name, levels]) => ({
    of: name === '' ? '' : ` of the ladder "${name}"`,
    waitMs: levels.at(-1) ?? 0,
  }));
  const longest = tops.toSorted((a, b) => b.waitMs - a.waitMs)[0];
  if (longest !== undefined && resetAfterMs <= longest.waitMs) {
    return file.report(
      reset.value,
      `resetAfter must be longer than the longest wait, ${formatDuration(longest.waitMs)}${longest.of}; otherwise leaving would be shorter than waiting`,
    );
  }
  return { levelsMs, ladders, resetAfterMs };
}

function readLevels(file: YamlFile, node: Node, what: string): readonly number[] | null {
  const items = file.items(node, what);
  if (items === null) return null;
  if (items.length > LADDER_LEVELS_MAX) {
    return file.report(node, `a ladder has at most ${LADDER_LEVELS_MAX} levels, not ${items.length}`);
  }
  const levelsMs: number[] = [];
  for (const item of items) {
    const levelMs = readLadderDuration(file, item, 'a level');
    if (levelMs === null) return null;
    const below = levelsMs.at(-1);
    if (below !== undefined && levelMs <= below) {
      return file.report(
        item,
        `level ${levelsMs.length + 1} (${formatDuration(levelMs)}) must be longer than level ${levelsMs.length} (${formatDuration(below)})`,
      );
    }
    levelsMs.push(levelMs);
  }
  return levelsMs;
}

function readLadderDuration(file: YamlFile, node: Node, what: string): number | null {
  const ms = file.duration(node, what);
  if (ms === null || ms <= LADDER_MS_MAX) return ms;
  return file.report(
    node,
    `${what} must be at most ${formatDuration(LADDER_MS_MAX)}, not ${formatDuration(ms)}`,
  );
}
