import { type Document, isNode, isScalar, type Node, visit, type YAMLError, type YAMLMap } from 'yaml';
import { guessAmount } from './correction-hints.ts';
import { findLayoutFault } from './line-layout.ts';
import {
  isQuoteClosed,
  type SyntaxFault,
  type Token,
  tokenize,
  walkTokensWithDepth,
} from './syntax-tokens.ts';

/** A file as far as the YAML library could read it. */
interface ReadYaml {
  readonly document: Pick<Document, 'errors' | 'contents'>;
  /** Repeated keys in the sequence of the file. */
  readonly repeatedKeys: readonly RepeatedKey[];
}

/** A key that its mapping already has. */
export interface RepeatedKey {
  readonly key: Node;
  readonly earlier: Node;
  /** Whether the mapping is an item of a list, and the item begins with this key. */
  readonly beginsItem: boolean;
}

/**
 * Finds the first fault in the syntax of a file. Only the first is reported, because later faults are mostly its
 * consequences. `lineOf` returns the line of an offset.
 */
export function findSyntaxFault(
  text: string,
  { document: { errors, contents }, repeatedKeys }: ReadYaml,
  lineOf: (offset: number) => number,
): SyntaxFault | null {
  const tokens = tokenize(text);
  const always = [findStrangeBlank(text), findStrangeCharacter(tokens), findSignForOperator(text)];
  const [error] = errors;
  const [again] = repeatedKeys;
  const repeated = again === undefined ? null : reportRepeatedKey(again, lineOf);
  if (error === undefined) return pickFirst([...always, repeated, findUnseparated(contents)]);
  const suspected = pickFirst([
    ...always,
    repeated,
    findIndentingTab(text),
    findPairingFault(text, tokens),
    findLayoutFault(text, tokens),
  ]);
  const isBehind = suspected === null || lineOf(suspected.offset) > lineOf(error.pos[0]) + LINES_BEHIND_MAX;
  return isBehind ? { offset: error.pos[0], message: explainParserError(error, text) } : suspected;
}

/**
 * The greatest distance in lines between the place where the parser reports its error and the wrong line after it.
 * The parser reports the entry before the wrong line.
 */
const LINES_BEHIND_MAX = 3;

function pickFirst(faults: readonly (SyntaxFault | null)[]): SyntaxFault | null {
  const [earliest] = faults.filter((one) => one !== null).toSorted((a, b) => a.offset - b.offset);
  return earliest ?? null;
}

const NO_BLANK = '[\\u00A0\\u1680\\u2000-\\u200A\\u202F\\u205F\\u3000]';
const INDENTING_BLANK = new RegExp(`^[ \\t]*${NO_BLANK}`, 'm');

/** Finds a blank that YAML does not accept before the text of a line. */
function findStrangeBlank(text: string): SyntaxFault | null {
  const [found] = INDENTING_BLANK.exec(text) ?? [];
  if (found === undefined) return null;
  return reportBlank(text.search(INDENTING_BLANK) + found.length - 1, found.slice(-1));
}

function reportBlank(offset: number, character: string): SyntaxFault {
  return { offset, message: `${nameBlank(character)} stands here; write an ordinary space` };
}

function nameBlank(character: string): string {
  if (character === '\u00A0') return 'a no-break space (U+00A0)';
  if (character === '\u3000') return 'a full-width space (U+3000)';
  return `a special space (U+${character.charCodeAt(0).toString(16).toUpperCase()})`;
}

const STRANGE_BEGINNINGS: readonly (readonly [RegExp, (found: string, text: string) => string])[] = [
  [
    /^[\u2018-\u201F\u00AB\u00BB\u2039\u203A\u300C\u300D\uFF02\uFF07]/u,
    (found) => `${found} is a typographic quote; write " before and after the text`,
  ],
  [
    /^[\u2010-\u2015\u2212\uFF0D](?=\d)/u,
    (found, text) => `${found} is a typographic dash; write -${text.slice(1)}`,
  ],
  [
    /^[\u2010-\u2015\u2212\u2022\u00B7\uFF0D](?=\s|\w)/u,
    (found) => `${found} is not a dash of a list; write "- " before each item`,
  ],
  [
    /^[\uFF5B\uFF5D\uFF3B\uFF3D\uFF03]/u,
    (found) => `${found} is a full-width character; write ${found.normalize('NFKC')}`,
  ],
  [
    /^[\w-]+ ?[\uFF1A\uFE55]/u,
    (found) => `${found.slice(-1)} is a full-width colon; write ": " with a space after it`,
  ],
];

const BLANK_AT_END = new RegExp(`^${NO_BLANK}|${NO_BLANK}$`);
const BLANK_BEHIND_COLON = new RegExp(`^[\\w-]+:${NO_BLANK}`);

/** Finds a character that only looks like the YAML character that belongs in its place. */
function findStrangeCharacter(tokens: readonly Token[]): SyntaxFault | null {
  for (const [index, [token, depth]] of [...walkTokensWithDepth(tokens)].entries()) {
    if (token.kind !== 'plain') continue;
    const key = tokens[index + 1]?.kind === 'colon' ? takeLastLine(token) : token;
    const fault =
      findStrangeStart(token) ?? findStrangeStart(key) ?? (depth > 0 ? findStrangeComma(token) : null);
    if (fault !== null) return fault;
  }
  return null;
}

function findStrangeStart({ text, offset }: Token): SyntaxFault | null {
  for (const [pattern, say] of STRANGE_BEGINNINGS) {
    const [found] = pattern.exec(text) ?? [];
    if (found !== undefined) return { offset, message: say(found, text) };
  }
  const colon = BLANK_BEHIND_COLON.exec(text)?.[0];
  if (colon !== undefined) return reportBlank(offset + colon.length - 1, colon.slice(-1));
  const at = text.search(BLANK_AT_END);
  return at === -1 ? null : reportBlank(offset + at, text.charAt(at));
}

function findStrangeComma({ text, offset }: Token): SyntaxFault | null {
  const at = text.search(/[\uFF0C\u3001]/u);
  if (at === -1) return null;
  return { offset: offset + at, message: `${text.charAt(at)} is not a comma; write ", "` };
}

/**
 * Takes the last line of a text before a colon. That line is the name of a member. The lines above belong to another
 * member.
 */
function takeLastLine(token: Token): Token {
  const line = token.text.slice(token.text.lastIndexOf('\n') + 1);
  const text = line.trimStart();
  return { ...token, text, offset: token.offset + token.text.length - text.length };
}

const OPERATOR_SIGNS: Readonly<Record<string, string>> = {
  '>': 'greaterThan',
  '>=': 'greaterThanInclusive',
  '!=': 'notEqual',
  '!==': 'notEqual',
};

/** Finds a sign that stands in the position of an operator and has another meaning in YAML. */
function findSignForOperator(text: string): SyntaxFault | null {
  const found = /^[^#\n]*\boperator: *(?=(>=?|!==?)(?:[\s,}]|$))/m.exec(text);
  const sign = found?.[1] ?? '';
  const operator = OPERATOR_SIGNS[sign];
  if (found === null || operator === undefined) return null;
  return {
    offset: found.index + found[0].length,
    message: `"${sign}" is not an operator; write ${operator}`,
  };
}

function findIndentingTab(text: string): SyntaxFault | null {
  const at = text.search(/^ *\t[ \t]*\S/m);
  if (at === -1) return null;
  const offset = text.indexOf('\t', at);
  return { offset, message: 'the line is indented by a tab; write spaces' };
}

interface OpenBracket {
  readonly token: Token;
  /** The tokens since the last comma. */
  readonly item: Token[];
}

const PARTNER: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/**
 * Finds the first quote, brace or bracket without its partner, or the first text that lacks its quotes, lacks a comma
 * before it, or goes on after the end of a value.
 */
function findPairingFault(text: string, tokens: readonly Token[]): SyntaxFault | null {
  const open: OpenBracket[] = [];
  const line: Token[] = [];
  for (const token of tokens.filter(({ kind }) => kind !== 'comment')) {
    if (open.length === 0 && isOnNewLine(token, line, text)) line.length = 0;
    const fault = findOpenQuote(token) ?? findFaultAt(token, open.at(-1), line, text);
    if (fault !== null) return fault;
    if (token.kind === 'close') open.pop();
    noteToken(token, open.at(-1)?.item ?? line);
    if (token.kind === 'open') open.push({ token, item: [] });
  }
  const left = open.at(-1);
  return left === undefined ? null : reportUnclosed(left.token, PARTNER[left.token.text] ?? '');
}

function findFaultAt(
  token: Token,
  inside: OpenBracket | undefined,
  line: readonly Token[],
  text: string,
): SyntaxFault | null {
  return inside === undefined ? findFaultInLine(token, line, text) : findFaultInItem(token, inside, text);
}

function isOnNewLine({ offset }: Token, before: readonly Token[], text: string): boolean {
  const last = before.at(-1);
  return last !== undefined && text.slice(last.offset + last.text.length, offset).includes('\n');
}

/** Adds a token to the tokens of its item. A comma ends the item. */
function noteToken(token: Token, item: Token[]): void {
  const isNewLine = token.kind === 'plain' && token.text.includes('\n');
  if (token.kind === 'comma') item.length = 0;
  else item.push(isNewLine ? takeLastLine(token) : token);
}

function reportUnclosed({ text, offset }: Token, partner: string): SyntaxFault {
  const what = text.length === 1 && partner !== text ? `"${text}"` : 'this quote';
  return { offset, message: `${what} is never closed; write ${partner} where it ends` };
}

/** Finds a quote that is not closed before the next entry begins. */
function findOpenQuote(token: Token): SyntaxFault | null {
  const isWhole =
    token.kind !== 'quoted' ||
    (isQuoteClosed(token) && !/\n[ \t]*(?:- |[\w-]+:(?:\s|$))|, *\w+: *.$/.test(token.text));
  return isWhole ? null : reportUnclosed(token, token.text.charAt(0));
}

/** Finds a fault in a line outside of brackets. `before` has the tokens of the line that stand before `token`. */
function findFaultInLine(token: Token, before: readonly Token[], text: string): SyntaxFault | null {
  const last = before.at(-1);
  if (token.kind === 'colon') {
    const at = before.findIndex(({ kind }) => kind === 'colon');
    const value = before[at + 1];
    // If a text of several lines ends in this line, the colon has nothing to do with the colon of the earlier line.
    if (at === -1 || value === undefined || text.slice(before[at]?.offset, token.offset).includes('\n'))
      return null;
    return explainColon(value, getLineAt(text, token.offset));
  }
  if (token.kind === 'close') {
    const opener = token.text === '}' ? '{' : '[';
    return { offset: token.offset, message: `"${token.text}" has no "${opener}" before it` };
  }
  if (token.kind !== 'plain' && token.kind !== 'quoted' && token.kind !== 'open') return null;
  if (last?.kind === 'quoted') return reportQuoteInText(last);
  if (last?.kind === 'other' && last.text.startsWith('*')) return reportSign(last);
  if (last?.kind !== 'close') return null;
  if (token.kind === 'open')
    return {
      offset: token.offset,
      message: `write what begins with this ${token.text} on a line of its own`,
    };
  return reportSign(before.find(({ kind }) => kind === 'open') ?? last);
}

function getLineAt(text: string, offset: number): string {
  return text.slice(text.lastIndexOf('\n', offset) + 1, text.indexOf('\n', offset));
}

function explainColon(value: Token, line: string): SyntaxFault {
  if (value.kind === 'quoted') return reportQuoteInText(value);
  if (/\}\s*$/.test(line) && !line.includes('{ '))
    return { offset: value.offset, message: 'a "{" is missing before the first member of this line' };
  if (/, *\w+$/.test(value.text)) {
    const message = 'members that stand in one line need braces; write { } around them';
    return { offset: value.offset, message };
  }
  return { offset: value.offset, message: 'put quotes around a text with a colon' };
}

function reportQuoteInText({ offset, text }: Token): SyntaxFault {
  const other = text.startsWith('"') ? "'" : '"';
  return {
    offset,
    message: `the text goes on after its closing quote; write ${other} around a text that has ${text.charAt(0)} in it`,
  };
}

function reportSign({ offset, text }: Token): SyntaxFault {
  return { offset, message: `put quotes around a text that begins with ${text.charAt(0)}` };
}

/** Finds a fault within brackets. `item` has the tokens since the last comma. */
function findFaultInItem(
  token: Token,
  { token: opener, item }: OpenBracket,
  text: string,
): SyntaxFault | null {
  const last = item.at(-1);
  const beginsValue = token.kind === 'plain' || token.kind === 'quoted' || token.kind === 'open';
  if (token.kind === 'broken off') return reportUnclosed(opener, PARTNER[opener.text] ?? '');
  if (token.kind === 'close' && token.text !== PARTNER[opener.text]) {
    const message = `"${token.text}" stands where "${opener.text}" of column ${findColumn(text, opener.offset)} is closed; write "${PARTNER[opener.text]}"`;
    return { offset: token.offset, message };
  }
  if (token.kind === 'colon' && item.filter(({ kind }) => kind === 'colon').length > 0 && last !== undefined)
    return explainSecondColon(last, item, text);
  if (!beginsValue || last === undefined || last.kind === 'colon') return null;
  if (last.kind === 'plain')
    return { offset: last.offset, message: `put quotes around a text with ${token.text.charAt(0)} in it` };
  if (isName(token, text)) return reportMissingComma(token.offset, token.text.replaceAll(/^["']|["']$/g, ''));
  if (last.kind === 'quoted') return reportQuoteInText(last);
  return last.kind === 'close' ? reportSign(item.find(({ kind }) => kind === 'open') ?? last) : null;
}

/** Members whose value has members itself. */
const MAPPING_MEMBERS: ReadonlySet<string | undefined> = new Set(['params', 'event', 'expect']);

function explainSecondColon(last: Token, item: readonly Token[], text: string): SyntaxFault {
  const [, before, name] = /^([\s\S]*\s)(\w+)$/.exec(last.text) ?? [];
  if (before !== undefined && name !== undefined && isMemberName(name, text))
    return reportMissingComma(last.offset + before.length, name);
  if (last.kind === 'plain' && (MAPPING_MEMBERS.has(item[0]?.text) || isMemberName(last.text, text)))
    return { offset: last.offset, message: `a "{" is missing before "${last.text}"` };
  return { offset: last.offset, message: 'put quotes around a text with a colon' };
}

function reportMissingComma(offset: number, name: string): SyntaxFault {
  return { offset, message: `a comma is missing before "${name}"` };
}

function isName({ kind, text: piece, offset }: Token, text: string): boolean {
  if (!text.startsWith(':', offset + piece.length)) return false;
  return kind === 'quoted' || (kind === 'plain' && isMemberName(piece, text));
}

/** Whether the file has a member of this name elsewhere, too. */
function isMemberName(name: string, text: string): boolean {
  return /^\w+$/.test(name) && text.split(new RegExp(`(?<![\\w-])${name}:(?=\\s)`)).length > 2;
}

function findColumn(text: string, offset: number): number {
  return offset - text.lastIndexOf('\n', offset - 1);
}

/** Reports a repeated key. In most cases the dash of a list item is missing. */
function reportRepeatedKey(
  { key, earlier, beginsItem }: RepeatedKey,
  lineOf: (offset: number) => number,
): SyntaxFault {
  const offset = getOffset(key);
  const name = isScalar(key) ? `"${key.value}"` : 'this key';
  const before = lineOf(getOffset(earlier));
  if (before === lineOf(offset))
    return { offset, message: `${name} stands twice in this line; remove one of the two` };
  const meant = beginsItem
    ? `if another item begins here, write a dash before it: "- ${isScalar(key) ? key.value : ''}: .."; otherwise remove one of the two`
    : 'remove one of the two';
  return { offset, message: `${name} stands in line ${before} already; ${meant}` };
}

function getOffset(node: Node): number {
  return node.range?.[0] ?? 0;
}

/**
 * Finds, within braces, a text after a comma that has no colon and no value. In most cases the comma belongs to the
 * value before it.
 */
function findUnseparated(root: Node | null): SyntaxFault | null {
  let fault: SyntaxFault | null = null;
  visit(root, {
    Map: (_key, map) => {
      if (map.flow !== true) return undefined;
      fault = findBracedValues(map);
      if (fault !== null) return visit.BREAK;
      for (const [index, { key, value }] of map.items.entries()) {
        if (value !== null || !isScalar(key)) continue;
        const before = map.items[index - 1];
        fault = explainNoMember(key, before?.key, before?.value);
        if (fault !== null) return visit.BREAK;
      }
      return undefined;
    },
  });
  return fault;
}

/** Reports values in braces like `{ EUR, USD }`, as other languages write a list. */
function findBracedValues(map: YAMLMap): SyntaxFault | null {
  if (map.items.length === 0 || map.items.some(({ value }) => value !== null)) return null;
  const keys = map.items.map(({ key }) => key).filter(isScalar);
  if (keys.length < map.items.length || keys.some((key) => /[: ]/.test(getSource(key)))) return null;
  return { offset: getOffset(map), message: explainSeveralValues(keys.map(getSource)) };
}

function explainSeveralValues(values: readonly string[]): string {
  const written = values.join(', ').replace(/^\((.*)\)$/, '$1');
  return `several values stand in brackets; write [${written}]`;
}

function explainNoMember(key: Node, nameBefore: unknown, valueBefore: unknown): SyntaxFault | null {
  const offset = getOffset(key);
  const written = getSource(key);
  const [, glued, rest] = /^(\w+):(\S.*)$/.exec(written) ?? [];
  if (glued !== undefined)
    return { offset, message: `a space is missing after the colon; write ${glued}: ${rest}` };
  const [, name, value] = /^([a-z]+(?:[A-Z]\w*)?) (\S+)$/.exec(written) ?? [];
  const colon =
    name === undefined ? null : { offset, message: `a colon is missing; write ${name}: ${value}` };
  if (!isNode(valueBefore) || !isScalar(valueBefore) || !isScalar(nameBefore)) return colon;
  const message = explainCommaInValue(String(nameBefore.value), getSource(valueBefore), written);
  return colon !== null && message === COMMA_IN_TEXT && nameBefore.value !== 'reason'
    ? colon
    : { offset: getOffset(valueBefore), message };
}

function getSource(node: Node): string {
  return isScalar(node) ? String(node.source ?? node.value) : '';
}

const COMMA_IN_TEXT = 'put quotes around a text with a comma';

/** Explains a comma within a value. The comma ends the value too early. */
function explainCommaInValue(name: string, before: string, behind: string): string {
  const number = /^-?\d[\d,.]*$/.test(before) ? explainCommaInNumber(before, behind) : null;
  if (number !== null) return number;
  return name === 'value' || name === 'list' ? explainSeveralValues([before, behind]) : COMMA_IN_TEXT;
}

/** Explains a number with a comma in it. Returns null if the digits around the comma make no number. */
function explainCommaInNumber(before: string, behind: string): string | null {
  const meant = guessAmount(`${before},${behind}`);
  if (meant === null) return null;
  if (!/^\d{3}$/.test(behind)) return `decimals stand after a point; write ${meant}`;
  return `a number has no comma; write ${meant}, or ${before}.${behind} if decimals are meant`;
}

/** Explains an error of the parser to an author who knows the rules and does not know YAML. */
function explainParserError({ code, message, pos: [at] }: YAMLError, text: string): string {
  if (message.includes('call stack')) return 'lists and mappings are nested too deep to be read';
  switch (code) {
    case 'MULTIPLE_DOCS':
      return 'a rule file holds one document, and a second one begins here; remove the line ---';
    case 'BAD_DQ_ESCAPE':
      return 'within "quotes" a backslash begins an escape; write \\\\ for a backslash';
    case 'BAD_SCALAR_START':
    case 'BAD_ALIAS':
      return `put quotes around a text that begins with ${text.charAt(at)}`;
    case 'TAB_AS_INDENT':
      return 'the line is indented by a tab; write spaces';
    case 'BAD_DIRECTIVE':
      return 'a line must not begin with %; put quotes around the text, or remove the line';
    case 'RESOURCE_EXHAUSTION':
      return 'the file is too large or too deep to be read';
    default:
      return 'this does not fit the text before it; compare indentation, dashes, colons, quotes and brackets with the lines around it';
  }
}
