import { type SyntaxFault, type Token, walkTokensWithDepth } from './syntax-tokens.ts';

/** A line that begins outside of braces, brackets and longer texts. */
interface LayoutLine {
  readonly number: number;
  readonly offset: number;
  readonly indent: number;
  /** The columns of the line's dashes, from 0. */
  readonly dashes: readonly number[];
  /** The column at which the text after the dashes begins. */
  readonly column: number;
  /** The text after the dashes, without comments. Each quoted character is replaced by q. */
  readonly body: string;
  /** The key of the member that begins here. Null if there is none. */
  readonly key: string | null;
  /** The text after the colon of the key. */
  readonly rest: string;
}

/** The entries of a block that begin in one column. */
interface Level {
  readonly kind: 'members' | 'items';
  readonly column: number;
  readonly first: LayoutLine;
  /** The key of the last entry. */
  lastKey: string | null;
  entries: number;
  /** Whether a part of the last entry may stand below it. */
  isOpen: boolean;
  /** The last entry, if the entry before it has neither a value nor anything below it. Otherwise null. */
  afterEmpty: LayoutLine | null;
}

const LINE = /^( *)((?:- +)*(?:-$)?)(.*)$/;
const KEY = /^(?:"(q*)"|'(q*)'|([^\s"'{}[\],#&*!|>%@`-][^:"'{}[\]]*|-[A-Za-z][\w-]*))\s*:(?:\s+(.*))?$/;
/** Members of rules. None of them stands at the top level of a file. */
const RULE_MEMBERS: ReadonlySet<string> = new Set(['name', 'priority', 'event']);

/** Members whose value is a list. */
const LIST_MEMBERS: ReadonlySet<string> = new Set(['rules', 'all', 'any', 'cases', 'entries', 'levels']);
const BLOCK_TEXT = /^[|>][+-]?\d?[+-]?$/;

/**
 * Finds the first line that does not fit the lines around it. This function is called for files that are not YAML. In
 * most cases the parser notices the fault of such a file only further down.
 */
export function findLayoutFault(text: string, tokens: readonly Token[]): SyntaxFault | null {
  const lines = parseLines(text, tokens);
  const usual = Map.groupBy(
    lines.filter(({ key }) => key !== null),
    ({ key }) => key,
  );
  const levels: Level[] = [];
  let entry: LayoutLine | null = null;
  for (const line of lines) {
    const glued = findGluedDash(line);
    if (glued !== null) return glued;
    const isEntry = line.key !== null || line.dashes.length > 0;
    const fault = isEntry
      ? (findMarginFault(line, usual.get(line.key)) ?? placeEntry(line, levels))
      : findStrayFault(line, entry, usual);
    if (fault !== null) return fault;
    if (isEntry) entry = line;
  }
  return null;
}

function parseLines(text: string, tokens: readonly Token[]): readonly LayoutLine[] {
  const inner = collectInnerLines(text, tokens);
  const lines: LayoutLine[] = [];
  let offset = 0;
  for (const [index, line] of maskText(text, tokens).split('\n').entries()) {
    const isText = line.trim() !== '' && !/^(---|\.\.\.|%)/.test(line);
    if (!inner.has(offset) && isText) lines.push(parseLine(line.trimEnd(), index + 1, offset));
    offset += line.length + 1;
  }
  return lines;
}

/** Replaces all quoted characters by q, and comments by blanks. */
function maskText(text: string, tokens: readonly Token[]): string {
  const characters = text.split('');
  for (const { kind, text: piece, offset } of tokens) {
    if (kind === 'comment') characters.fill(' ', offset, offset + piece.length);
    if (kind !== 'quoted') continue;
    for (let at = offset + 1; at < offset + piece.length - 1; at += 1)
      if (characters[at] !== '\n') characters[at] = 'q';
  }
  return characters.join('');
}

/** Collects the offsets of the lines within a quote, a longer text or brackets that began on an earlier line. */
function collectInnerLines(text: string, tokens: readonly Token[]): ReadonlySet<number> {
  const inner = new Set<number>();
  const cover = (from: number, to: number) => {
    for (let at = text.indexOf('\n', from); at !== -1 && at + 1 < to; at = text.indexOf('\n', at + 1))
      inner.add(at + 1);
  };
  let openedAt = 0;
  for (const [{ kind, text: piece, offset }, depth] of walkTokensWithDepth(tokens)) {
    const end = offset + piece.length;
    if (kind === 'quoted') cover(offset, end);
    if (kind === 'block text') cover(offset - 1, end);
    if (kind === 'open' && depth === 0) openedAt = offset;
    if (kind === 'close' && depth === 1) cover(openedAt, end);
  }
  return inner;
}

function parseLine(line: string, number: number, offset: number): LayoutLine {
  const [, blanks = '', dashes = '', body = ''] = LINE.exec(line) ?? [];
  const indent = blanks.length;
  const [, double, single, plain, rest = ''] = KEY.exec(body) ?? [];
  return {
    number,
    offset,
    indent,
    dashes: [...dashes.matchAll(/-/g)].map(({ index }) => indent + index),
    column: indent + dashes.length,
    body,
    key: double ?? single ?? plain ?? null,
    rest,
  };
}

/** Reports a member at the left margin if it is indented everywhere else in the file. */
function findMarginFault(line: LayoutLine, all: readonly LayoutLine[] = []): SyntaxFault | null {
  const columns = new Set(all.filter((one) => one !== line).map(({ column }) => column));
  const [column] = columns;
  if (
    line.column > 0 ||
    !RULE_MEMBERS.has(line.key ?? '') ||
    columns.size !== 1 ||
    column === undefined ||
    column === 0
  )
    return null;
  return {
    offset: line.offset,
    message: `line ${line.number} is not indented; "${line.key}" is indented by ${formatBlanks(column)} elsewhere`,
  };
}

function findGluedDash({ offset, column, body }: LayoutLine): SyntaxFault | null {
  if (!/^-[^\s\d-]/.test(body)) return null;
  const message = `a space is missing after the dash; write "- ${shorten(body.slice(1))}"`;
  return { offset: offset + column, message };
}

function placeEntry(line: LayoutLine, levels: Level[]): SyntaxFault | null {
  const { column, body, key, rest, dashes } = line;
  for (const dash of dashes) {
    const fault = placeInColumn('items', dash, line, levels);
    if (fault !== null) return fault;
    setOpen(levels, body === '');
  }
  if (key === null) return null;
  const fault = placeInColumn('members', column, line, levels);
  setOpen(levels, rest === '' || BLOCK_TEXT.test(rest));
  return fault;
}

function setOpen(levels: readonly Level[], isOpen: boolean): void {
  const top = levels.at(-1);
  if (top !== undefined) top.isOpen = isOpen;
}

/** Notes that an entry begins in a column. Returns why the entry cannot begin there. */
function placeInColumn(
  kind: Level['kind'],
  column: number,
  line: LayoutLine,
  levels: Level[],
): SyntaxFault | null {
  const [left] = leaveLevels(kind, column, levels);
  const top = levels.at(-1);
  if (top?.column === column && top.kind === kind) {
    top.entries += 1;
    top.lastKey = line.key;
    top.afterEmpty = top.isOpen ? line : null;
    return null;
  }
  if (left !== undefined || !mayBegin(kind, column, line, top))
    return explainMisplaced(kind, column, line, levels, left);
  const lastKey = kind === 'members' ? line.key : null;
  levels.push({ kind, column, first: line, lastKey, entries: 1, isOpen: true, afterEmpty: null });
  const isItem = kind === 'members' && column === line.indent && LIST_MEMBERS.has(top?.lastKey ?? '');
  return isItem ? reportMissingDash(line) : null;
}

/** Removes the levels that end before an entry in this column, and returns them. */
function leaveLevels(kind: Level['kind'], column: number, levels: Level[]): readonly Level[] {
  const left: Level[] = [];
  while ((levels.at(-1)?.column ?? -1) > column) left.unshift(...levels.splice(-1));
  const [below, top] = levels.slice(-2);
  // A list may stand in the column of its member.
  if (top?.column === column && top.kind !== kind && below?.column === column && below.kind === kind)
    levels.pop();
  return left;
}

function mayBegin(
  kind: Level['kind'],
  column: number,
  { indent }: LayoutLine,
  top: Level | undefined,
): boolean {
  if (top === undefined || column !== indent) return true;
  return top.isOpen && (top.column !== column || kind === 'items');
}

function explainMisplaced(
  kind: Level['kind'],
  column: number,
  line: LayoutLine,
  levels: readonly Level[],
  left: Level | undefined,
): SyntaxFault | null {
  const top = levels.at(-1);
  const known = kind === 'items' ? explainDash(column, line, levels, left) : explainMember(column, line, top);
  if (known !== null) return known;
  const near = [top, left].find((level) => level?.kind === kind) ?? left ?? top;
  if (near === undefined) return null;
  if (near.column === column)
    return kind === 'items' ? reportSecondValue(line, near) : reportBesideDashes(line, near);
  if (near.afterEmpty !== null && column > near.column)
    return reportIndent(near.afterEmpty, near.column, column);
  // If two lines differ, the line with an odd number of blanks is the wrong one.
  const firstSlipped = near.entries === 1 && near.column % 2 === 1 && column % 2 === 0;
  return firstSlipped
    ? reportIndent(near.first, near.column, column)
    : reportIndent(line, column, near.column);
}

/** Reports a member that should begin with a dash, as the items beside it do. */
function explainMember(column: number, line: LayoutLine, top: Level | undefined): SyntaxFault | null {
  if (top?.kind !== 'items' || top.column !== column) return null;
  if (top.first.key === line.key) return reportMissingDash(line, top.first);
  return /^(?:\+|\d+[.)]) /.test(line.body) ? reportOtherDash(line) : null;
}

/** Reports a dash among the members of another item, or a list whose first item lacks its dash. */
function explainDash(
  column: number,
  line: LayoutLine,
  levels: readonly Level[],
  left: Level | undefined,
): SyntaxFault | null {
  const top = levels.at(-1);
  const list = levels.findLast(({ kind }) => kind === 'items');
  if (list !== undefined && top?.column === column && !LIST_MEMBERS.has(top.lastKey ?? ''))
    return reportDashAmongMembers(line, column, list);
  return top?.kind !== 'items' && left?.kind === 'members' ? reportMissingDash(left.first, line) : null;
}

function reportIndent({ number, offset }: LayoutLine, has: number, others: number): SyntaxFault {
  return {
    offset: offset + has,
    message: `line ${number} is indented by ${formatBlanks(has)}, its neighbours by ${others}`,
  };
}

/** Reports a list that follows a member which has a value. */
function reportSecondValue({ offset }: LayoutLine, { column, lastKey }: Level): SyntaxFault {
  return {
    offset: offset + column,
    message: `"${lastKey}" has a value, so no list can follow it; remove one of the two`,
  };
}

/** Reports an item whose dash stands in the column of the members of the item before it. */
function reportDashAmongMembers({ offset }: LayoutLine, column: number, list: Level): SyntaxFault {
  return {
    offset: offset + column,
    message: `this dash stands under the members of an item; if another item begins here, indent the dash by ${formatBlanks(list.column)}, as in line ${list.first.number}`,
  };
}

/** Reports a member in the column of the dashes of a list. */
function reportBesideDashes({ offset, column, body, key }: LayoutLine, { first }: Level): SyntaxFault {
  return {
    offset: offset + column,
    message: `"${key}" stands under the dashes of a list; write "- ${shorten(body)}" if it is another item, or indent it by ${formatBlanks(first.column)} if it belongs to the item above`,
  };
}

/** Reports an item of a list that is numbered or marked as word processors do. */
function reportOtherDash({ offset, column, body }: LayoutLine): SyntaxFault {
  const [sign = '', ...rest] = body.split(' ');
  const message = `"${sign}" is not a dash of a list; write "- ${shorten(rest.join(' '))}"`;
  return { offset: offset + column, message };
}

function formatBlanks(count: number): string {
  return count === 1 ? '1 space' : `${count} spaces`;
}

function reportMissingDash({ offset, column, body }: LayoutLine, like?: LayoutLine): SyntaxFault {
  const where = like === undefined ? '' : `, as in line ${like.number}`;
  const message = `a dash is missing; write "- ${shorten(body)}"${where}`;
  return { offset: offset + column, message };
}

const SHOWN_MAX = 40;

function shorten(body: string): string {
  return body.length > SHOWN_MAX ? `${body.slice(0, SHOWN_MAX)}..` : body;
}

/** Reports a line that neither begins an entry nor continues the text of the line before it. */
function findStrayFault(
  line: LayoutLine,
  entry: LayoutLine | null,
  usual: ReadonlyMap<string | null, unknown>,
): SyntaxFault | null {
  if (entry !== null) {
    const { key, rest, body, column, dashes } = entry;
    const text = key === null ? body : rest;
    const margin = key === null ? (dashes.at(-1) ?? 0) : column;
    if (line.indent > margin && !/^["'{[]/.test(text)) return null;
  }
  if (/^["'{[]/.test(line.body)) return entry?.key === null ? reportMissingDash(line, entry) : null;
  return { offset: line.offset + line.column, message: explainStray(line.body, usual) };
}

function explainStray(body: string, usual: ReadonlyMap<string | null, unknown>): string {
  if (/^([<=>])\1{6}/.test(body))
    return 'a merge conflict was left here; keep one of the two texts and remove the marks';
  if (/^\w{3,}$/.test(body)) return `a colon is missing if this is a member; write "${body}:", or remove it`;
  const [, name = '', sign = '', value = ''] = /^(\w+)( ?= ?| |:)(.*)$/.exec(body) ?? [];
  if (sign === ':') return `a space is missing after the colon; write "${name}: ${shorten(value)}"`;
  if (sign.includes('=') || usual.has(name) || /^\S+$/.test(value))
    return `a colon is missing; write "${name}: ${shorten(value)}"`;
  return 'this line has no colon; write "name: value", or "#" before it if it is a comment';
}
