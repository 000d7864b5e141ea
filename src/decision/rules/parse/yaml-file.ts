import { LRUCache } from 'lru-cache';
import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml';
import { DURATION_FORM, parseDuration } from '#base/duration.ts';
import { escapeInvisibleCharacters } from '#base/invisible-characters.ts';
import {
  findNearestName,
  formatNameHint,
  formatProblem,
  type Location,
  type RuleProblem,
} from '#decision/rules/problem.ts';
import {
  formatBooleanHint,
  formatDurationHint,
  formatListHint,
  formatNumberHint,
} from './correction-hints.ts';
import { findSyntaxFault, type RepeatedKey } from './syntax-fault.ts';

export interface Member {
  readonly key: Node;
  readonly value: Node;
}

export type Members = ReadonlyMap<string, Member>;

export const NO_MEMBERS: Members = new Map();

/** The largest rule file. Rule files are written by hand, so a larger one is a mistake or an attack. */
const FILE_CHARACTERS_MAX = 512 * 1024;

/**
 * A cache of parsed texts. A search that tries hundreds of edits changes one file at a time, so the other files are
 * not parsed again. Nobody changes the cached nodes. The cached form of a text takes some 25 bytes a character.
 */
const PARSED_TEXTS = new LRUCache<string, ReturnType<typeof parseText>>({
  maxSize: 128 * 1024,
  sizeCalculation: (_, text) => text.length + 1,
});

function parseText(text: string) {
  const lines = new LineCounter();
  const document = parseDocument<Node>(text, {
    ...YAML_PARSE_OPTIONS,
    lineCounter: lines,
    prettyErrors: false,
  });
  const repeatedKeys = findRepeatedKeys(document.contents);
  const lineOf = (offset: number) => lines.linePos(offset).line;
  return { document, lines, fault: findSyntaxFault(text, { document, repeatedKeys }, lineOf) };
}

/** Without this option the library compares each key with all keys before it, which takes minutes for a large file. */
export const YAML_PARSE_OPTIONS = { uniqueKeys: false } as const;

/** Finds the keys that occurred before in the same mapping. */
function findRepeatedKeys(root: Node | null): readonly RepeatedKey[] {
  const repeated: RepeatedKey[] = [];
  visit(root, {
    Map: (_key, map, path) => {
      const known = new Map<unknown, Node>();
      for (const [index, { key }] of map.items.entries()) {
        if (!isNode(key)) continue;
        const value = isScalar(key) ? key.value : key;
        const earlier = known.get(value);
        if (earlier === undefined) known.set(value, key);
        else {
          const isItem = map.flow !== true && isSeq(path.at(-1));
          repeated.push({ key, earlier, beginsItem: isItem && earlier === map.items[0]?.key && index > 0 });
        }
      }
    },
  });
  return repeated.toSorted((a, b) => (a.key.range?.[0] ?? 0) - (b.key.range?.[0] ?? 0));
}

/** If more items of one list than this are refused, one problem reports them all. */
const REPORTED_ITEMS_MAX = 3;

/** Invisible characters. Storage and terminals treat them in different ways. */
const INVISIBLE = /[^\P{Cc}\t\n\r]|\uFEFF/u;

/**
 * One YAML file of a rule set. Each read returns a value of the wanted kind, or returns null and reports a problem
 * with its place. So one pass reports all problems.
 */
export class YamlFile {
  readonly name: string;
  readonly #problems: RuleProblem[];
  readonly #reported = new Set<string>();
  #lines = new LineCounter();
  readonly #root: Node | null;

  constructor(name: string, text: string, problems: RuleProblem[]) {
    this.name = name;
    this.#problems = problems;
    this.#root = this.#parse(text);
  }

  /** The root node. Null if the file is empty or is not YAML. A file that is not YAML is among the problems. */
  get root(): Node | null {
    return this.#root;
  }

  locate(node: Node | null): Location {
    return this.#locate(node?.range?.[0] ?? 0);
  }

  get problems(): RuleProblem[] {
    return this.#problems;
  }

  report(node: Node | null, message: string): null {
    // The message shows the invisible characters of a name that looks like another name.
    const problem = { at: this.locate(node), message: escapeInvisibleCharacters(message) };
    const text = formatProblem(problem);
    // A problem that two readers find is reported once.
    if (!this.#reported.has(text)) this.#problems.push(problem);
    this.#reported.add(text);
    return null;
  }

  /** Reads a mapping with members among `allowed`, and all of `required`. */
  readMembers(
    node: Node | null,
    what: string,
    allowed: readonly string[],
    required: readonly string[],
  ): Members | null {
    const members = this.readAnyMembers(node, what);
    if (members !== null) this.checkMemberNames(node, members, what, allowed, required);
    return members;
  }

  /** Reports members that are not among `allowed`, and missing members of `required`. */
  checkMemberNames(
    node: Node | null,
    members: Members,
    what: string,
    allowed: readonly string[],
    required: readonly string[],
  ): void {
    const missing = required.filter((name) => !members.has(name));
    for (const [name, { key }] of members) {
      if (allowed.includes(name)) continue;
      // A misspelt member is not reported as missing as well.
      const meant = missing.indexOf(findNearestName(name, allowed) ?? '');
      if (meant !== -1) missing.splice(meant, 1);
      const hint = /\s\S/.test(name)
        ? '; write "#" before the line if it is a comment'
        : formatNameHint(name, allowed);
      this.report(key, `unknown member "${name}" of ${what}${hint}`);
    }
    for (const name of missing) {
      const [within, key] = this.#findKeyBelow(members, name) ?? [];
      if (within === undefined || key === undefined) this.report(node, `${what} lacks "${name}"`);
      else this.report(key, formatWrongIndentMessage(name, within));
    }
  }

  /** Finds the key of this name in the value of a member, and the name of that member. */
  #findKeyBelow(members: Members, name: string): readonly [within: string, key: Node] | undefined {
    for (const [within, { value }] of members) {
      const key = isMap<Node, Node>(value) ? this.#findKey(value, name) : undefined;
      if (key !== undefined) return [within, key];
    }
    return undefined;
  }

  #findKey(map: YAMLMap<Node, Node>, name: string): Node | undefined {
    return map.items.map(({ key }) => key).find((key) => isScalar(key) && key.value === name);
  }

  /** Reads a mapping whose names the author chooses. */
  readAnyMembers(node: Node | null, what: string, hint = ''): Members | null {
    if (!isMap<Node, Node>(node))
      return this.#reportWrongKind(node, `${what} must have members like name: value`, hint);
    const members = new Map<string, Member>();
    for (const pair of node.items) {
      const member = this.#readMember(node, pair, what);
      if (member !== null) members.set(member.name, member);
    }
    return members;
  }

  /** Reads a list with at least one item. */
  listItemNodes(node: Node | null, what: string): readonly Node[] | null {
    if (!isSeq<Node>(node))
      return this.#reportWrongKind(node, `${what} must be a list`, formatListHint(node));
    if (node.items.length === 0) return this.report(node, `${what} must not be empty`);
    return node.items;
  }

  /**
   * Reads each item of a list. Returns null if an item is refused. If many items are refused, one problem reports
   * them all.
   */
  readItems<T>(items: readonly Node[], read: (item: Node) => T | null): readonly T[] | null {
    const before = this.#problems.length;
    const values = items.map(read);
    const refused = items.filter((_, place) => values[place] === null);
    const first = this.#problems[before];
    if (refused.length > REPORTED_ITEMS_MAX && first !== undefined) {
      const likes = refused
        .slice(1, REPORTED_ITEMS_MAX)
        .map((item) => `"${this.toPlainValue(item)}" (line ${this.locate(item).line})`);
      const others = `${refused.length - 1} more of ${items.length} items are refused, too, like ${likes.join(' and ')}`;
      this.#problems.splice(before, Number.POSITIVE_INFINITY, {
        ...first,
        message: `${first.message}${first.message.endsWith('?') ? '' : ';'} ${others}`,
      });
    }
    return refused.length === 0 ? values.filter((value) => value !== null) : null;
  }

  /** Reads a text. `hint` is added to the message if the node is no text. */
  readText(node: Node | null, what: string, hint = ''): string | null {
    const value = this.#getScalar(node);
    if (typeof value !== 'string') return this.#reportWrongKind(node, `${what} must be a text`, hint);
    if (value.trim() === '') return this.report(node, `${what} must not be empty`);
    // Escapes such as "\0" and "\uD800" spell characters that the file itself may not hold.
    if (INVISIBLE.test(value) || !value.isWellFormed()) {
      return this.report(node, `${what} must not hold control characters or broken Unicode`);
    }
    return value;
  }

  readBoolean(node: Node | null, what: string): boolean | null {
    const value = this.#getScalar(node);
    if (typeof value === 'boolean') return value;
    return this.#reportWrongKind(node, `${what} must be true or false`, formatBooleanHint(value));
  }

  /** Reads a number from `min` to `max` in plain digits. */
  readNumber(node: Node | null, what: string, range: NumberRange): number | null {
    const { min, max, integer = false } = range;
    const kind = integer ? 'a whole number' : 'a number';
    const value = this.#getScalar(node);
    if (typeof value !== 'number')
      return this.#reportWrongKind(node, `${what} must be ${kind}`, formatNumberHint(value, range));
    if (!Number.isFinite(value) || !isPlainNumber(node)) {
      return this.#reportWrongKind(node, `${what} must be ${kind} in plain digits`);
    }
    if (integer && !Number.isSafeInteger(value))
      return this.#reportWrongKind(node, `${what} must be ${kind}`);
    if (value < min || value > max) {
      return this.#reportWrongKind(node, `${what} must be from ${min} to ${max}`);
    }
    return value;
  }

  readChoice<T extends string>(node: Node | null, what: string, allowed: readonly T[]): T | null {
    const value = this.#getScalar(node);
    if (typeof value !== 'string')
      return this.#reportWrongKind(node, `${what} must be one of ${allowed.join(', ')}`);
    const chosen = allowed.find((candidate) => candidate === value);
    return chosen ?? this.report(node, `unknown ${what} "${value}"${formatNameHint(value, allowed)}`);
  }

  toPlainValue(node: Node): unknown {
    return isScalar(node)
      ? node.value
      : isSeq<Node>(node)
        ? node.items.map((item) => this.toPlainValue(item))
        : undefined;
  }

  /** Returns the digits of a number as they are written. Returns null if the node is no number. */
  findWrittenDigits(node: Node): string | null {
    return isScalar(node) && typeof node.value === 'number' ? (node.source ?? String(node.value)) : null;
  }

  isMapping(node: Node): boolean {
    return isMap(node);
  }

  /** Whether the node is a mapping with a member of this name. */
  hasMember(node: Node, name: string): boolean {
    return isMap(node) && node.has(name);
  }

  isNull(node: Node): boolean {
    return isScalar(node) && node.value === null;
  }

  /** Lists the written numbers of the file, and the decimal texts below members of the name `amounts`. */
  listWrittenNumbers(amounts: string): readonly WrittenNumber[] {
    const found: WrittenNumber[] = [];
    visit(this.#root, {
      Scalar: (_key, node, path) => {
        const text = typeof node.value === 'string' ? node.value : node.source;
        const isAmount = path.some(
          (part) => isPair(part) && isScalar(part.key) && part.key.value === amounts,
        );
        if (text === undefined || !(typeof node.value === 'number' || isAmount)) return;
        if (PLAIN_NUMBER.test(text)) found.push({ at: this.locate(node), source: text, value: Number(text) });
      },
    });
    return found;
  }

  readDuration(node: Node | null, what: string): number | null {
    const value = this.#getScalar(node);
    const ms = typeof value === 'string' ? parseDuration(value) : null;
    return ms ?? this.#reportWrongKind(node, `${what} must be ${DURATION_FORM}`, formatDurationHint(value));
  }

  #parse(text: string): Node | null {
    if (text.length > FILE_CHARACTERS_MAX) {
      return this.report(null, `the file is longer than ${FILE_CHARACTERS_MAX} characters`);
    }
    if (this.#refuseInvisible(text)) return null;
    const known = PARSED_TEXTS.get(text) ?? parseText(text);
    PARSED_TEXTS.set(text, known);
    const { document, lines, fault } = known;
    this.#lines = lines;
    if (document.directives?.yaml.explicit === true) {
      return this.report(null, 'a %YAML directive changes what values mean; remove it');
    }
    if (fault !== null) {
      this.#problems.push({
        at: this.#locate(fault.offset),
        message: escapeInvisibleCharacters(fault.message),
      });
      return null;
    }
    if (document.contents === null) return this.report(null, 'the file is empty');
    return this.#refuseIndirection(document.contents) ? null : document.contents;
  }

  #refuseInvisible(text: string): boolean {
    const found = INVISIBLE.exec(text);
    if (found === null) return false;
    const before = text.slice(0, found.index).split('\n');
    const at = { file: this.name, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    const message =
      found[0] === '\uFEFF'
        ? 'the file begins with a byte order mark; save it as UTF-8, not as UTF-8 with BOM'
        : `the control character U+${code} is not allowed; remove it`;
    this.#problems.push({ at, message });
    return true;
  }

  /**
   * Refuses aliases, anchors and tags. Aliases can multiply a small file without end, and tags change what a value
   * means. Rules share conditions by name instead.
   */
  #refuseIndirection(root: Node): boolean {
    const before = this.#problems.length;
    visit(root, {
      Alias: (_key, alias) => {
        this.report(
          alias,
          `"*${alias.source}" is an alias; share conditions by name under "conditions:" instead`,
        );
      },
      Node: (_key, node) => {
        if (!isAlias(node) && node.anchor !== undefined) {
          this.report(
            node,
            `"&${node.anchor}" is an anchor; share conditions by name under "conditions:" instead`,
          );
        }
        if (node.tag !== undefined) this.report(node, `"${node.tag}" is a tag; write the plain value`);
      },
    });
    return this.#problems.length > before;
  }

  #locate(offset: number): Location {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.name, line: Math.max(1, line), column: Math.max(1, col) };
  }

  #readMember(
    map: YAMLMap<Node, Node>,
    pair: Pair<Node, Node>,
    what: string,
  ): (Member & { name: string }) | null {
    const { key, value } = pair;
    if (!isScalar(key) || typeof key.value !== 'string') {
      return this.report(key ?? map, `a member name of ${what} must be a text`);
    }
    if (key.value === '__proto__' || key.value === '<<') {
      return this.report(key, `"${key.value}" is not allowed as a member name`);
    }
    if (value === null) return this.report(key, `"${key.value}" has no value`);
    return { name: key.value, key, value };
  }

  #getScalar(node: Node | null): unknown {
    return isScalar(node) ? node.value : undefined;
  }

  #reportWrongKind(node: Node | null, expectation: string, hint = ''): null {
    return this.report(node, `${expectation}, not ${describeNode(node)}${hint}`);
  }
}

/** Explains that a member belongs beside the mapping in which it stands. */
export function formatWrongIndentMessage(name: string, within: string): string {
  return `"${name}" stands within "${within}" and belongs beside it; indent it like "${within}"`;
}

/** A number, and the digits with which it is written. */
interface WrittenNumber {
  readonly at: Location;
  readonly source: string;
  readonly value: number;
}

export interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
  /** The unit of the number, like seconds. */
  readonly unit?: string | null;
}

/** Describes a value in words, so that a person finds it in the file. */
function describeNode(node: Node | null): string {
  if (node === null) return 'nothing';
  if (isAlias(node)) return 'an alias';
  if (isMap(node)) return 'members';
  if (isSeq(node)) return 'a list';
  if (!isScalar(node) || node.value === null) return 'nothing';
  return typeof node.value === 'string' ? JSON.stringify(node.value) : String(node.source ?? node.value);
}

const PLAIN_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;

/**
 * Whether a number is written plainly. YAML reads 0777, 0x1F, 1e400 and digits beyond the precision of a double as
 * other numbers.
 */
function isPlainNumber(node: Node | null): boolean {
  if (!isScalar(node)) return false;
  const { source, value }: Scalar = node;
  if (source === undefined) return true;
  if (!PLAIN_NUMBER.test(source)) return false;
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}
