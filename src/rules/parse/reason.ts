import type { Node } from 'yaml';
import { suggest } from '../problem.ts';
import { ANSWER_PLACEHOLDERS, type ReasonPart } from '../rule-set.ts';
import { type FactRefs, factOfPlaceholder } from './fact-refs.ts';
import type { YamlFile } from './yaml-file.ts';

/** Reads a reason text like `Wait {waitSeconds} s; asked {verdicts(10m)} times.` */
export function readReason(file: YamlFile, node: Node, refs: FactRefs): readonly ReasonPart[] | null {
  const text = file.text(node, 'reason');
  if (text === null) return null;
  const pieces = text.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  const parts = pieces.map((piece) => readPart(file, node, piece, refs)).filter((part) => part !== null);
  return parts.length === pieces.length ? parts : null;
}

function readPart(file: YamlFile, node: Node, piece: string, refs: FactRefs): ReasonPart | null {
  if (piece.startsWith('{') && piece.endsWith('}')) {
    return readPlaceholder(file, node, piece.slice(1, -1), refs);
  }
  const [brace] = /[{}]/.exec(piece) ?? [];
  if (brace === undefined) return { kind: 'words', words: piece };
  return file.report(
    node,
    `reason has a "${brace}" without its partner; braces stand around a fact, like {paidCount}`,
  );
}

function readPlaceholder(file: YamlFile, node: Node, name: string, refs: FactRefs): ReasonPart | null {
  const answer = ANSWER_PLACEHOLDERS.find((candidate) => candidate === name);
  if (answer !== undefined) return { kind: 'answer', name: answer };
  const named = factOfPlaceholder(name, refs);
  if (named.kind === 'fact') return named;
  const allowed = [...refs.all().map((ref) => ref.label), ...ANSWER_PLACEHOLDERS];
  const hint = named.kind === 'unknown' ? suggest(name, allowed) : '';
  return file.report(node, `reason has a bad placeholder {${name}}: ${named.message}${hint}`);
}
