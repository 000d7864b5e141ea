import { CST, Lexer } from 'yaml';

/** The kinds of tokens that the search for a fault distinguishes. */
type TokenKind =
  | 'plain'
  | 'quoted'
  | 'block header'
  | 'block text'
  | 'open'
  | 'close'
  | 'comma'
  | 'colon'
  | 'dash'
  | 'comment'
  | 'broken off'
  | 'other';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly offset: number;
}

/** Splits a text that may be no YAML into tokens, without blanks and line ends. */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  // The lexer gives a mark before each value without quotes. If a block header stands before the mark, the value is a
  // block text.
  let announced: 'plain' | 'block text' | null = null;
  for (const piece of new Lexer().lex(text)) {
    if (piece === CST.DOCUMENT) continue;
    if (piece === CST.SCALAR) {
      announced = tokens.at(-1)?.kind === 'block header' ? 'block text' : 'plain';
      continue;
    }
    const kind: TokenKind | null = announced ?? findKind(piece);
    announced = null;
    if (kind !== null) tokens.push({ kind, text: piece, offset });
    if (piece !== CST.FLOW_END) offset += piece.length;
  }
  return tokens;
}

/** Walks over tokens, each with the number of brackets that are open before it. */
export function* walkTokensWithDepth(
  tokens: readonly Token[],
): Generator<readonly [token: Token, depth: number]> {
  let depth = 0;
  for (const token of tokens) {
    yield [token, depth];
    if (token.kind === 'open') depth += 1;
    if (token.kind === 'close') depth = Math.max(0, depth - 1);
    if (token.kind === 'broken off') depth = 0;
  }
}

function findKind(piece: string): TokenKind | null {
  switch (CST.tokenType(piece)) {
    case 'single-quoted-scalar':
    case 'double-quoted-scalar':
      return 'quoted';
    case 'flow-map-start':
    case 'flow-seq-start':
      return 'open';
    case 'flow-map-end':
    case 'flow-seq-end':
      return 'close';
    case 'comma':
      return 'comma';
    case 'map-value-ind':
      return 'colon';
    case 'seq-item-ind':
      return 'dash';
    case 'comment':
      return 'comment';
    case 'flow-error-end':
      return 'broken off';
    case 'block-scalar-header':
      return 'block header';
    case 'space':
    case 'newline':
      return null;
    default:
      return 'other';
  }
}

/** Whether a quoted text ends with the quote that opened it, and not with an escaped one. */
export function isQuoteClosed({ text }: Token): boolean {
  if (text.length < 2 || !text.endsWith(text.charAt(0))) return false;
  let escapes = 0;
  while (text.startsWith('"') && text.charAt(text.length - 2 - escapes) === '\\') escapes += 1;
  return escapes % 2 === 0;
}

/** A fault in the syntax of a file, whatever its content. */
export interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
}
