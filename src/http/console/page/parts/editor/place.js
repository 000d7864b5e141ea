import { yamlLanguage } from '../../packages/editor/lang-yaml.js';

/**
 * @import { SyntaxNode } from '../../packages/editor/lezer-common.js'
 * @import { Step, Value } from './schema-walk.js'
 */

/**
 * Where something is written or about to be written in a YAML file.
 * @typedef {object} Place
 * @property {'key' | 'value'} role
 * @property {readonly Step[]} path of the mapping that a key is of, or of the value
 * @property {readonly string[]} present the keys that the mapping has
 * @property {Value} value of the whole file, as far as it can be read
 */

/** Stands where something is about to be written; no file has such a word. */
const STAND_IN = 'zzSTANDINzz';

/**
 * What may be written at a position instead of the word that ends there: a key, a value, or either.
 * @param {string} text
 * @param {number} from where the word begins
 * @param {number} to
 * @returns {readonly Place[]}
 */
export function placesFor(text, from, to) {
  const [before, after] = [text.slice(0, from), text.slice(to)];
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const isAlone = /^\s*(?:- +)*$/.test(line) && /^[^\S\n]*(?:\n|$)/.test(after);
  const written = isAlone ? [`${STAND_IN}: `, STAND_IN] : [STAND_IN];
  return written.flatMap((words) => {
    const place = placeAt(before + words + after, from + 1);
    return place === null ? [] : [place];
  });
}

/**
 * The place of the word at a position; null between words.
 * @param {string} text
 * @param {number} position
 * @returns {Place | null}
 */
export function placeAt(text, position) {
  const tree = yamlLanguage.parser.parse(text);
  const node = tree.resolveInner(position, 1);
  if (node.name !== 'Literal' && node.name !== 'QuotedLiteral') return null;
  const value = readOf(tree.topNode.firstChild, text);
  const isKey = node.parent?.name === 'Key';
  const mapping = isKey ? (node.parent?.parent?.parent ?? null) : null;
  return {
    role: isKey ? 'key' : 'value',
    path: pathOf(mapping ?? node, text),
    present: mapping === null ? [] : keysIn(mapping, text).filter((key) => key !== STAND_IN),
    value,
  };
}

/**
 * @param {SyntaxNode} node
 * @param {string} text
 * @returns {readonly Step[]}
 */
function pathOf(node, text) {
  /** @type {Step[]} */
  const path = [];
  for (let at = node.parent, from = node; at !== null; from = at, at = at.parent) {
    if (at.name === 'Pair') path.unshift(keyOf(at, text));
    else if (at.name.endsWith('Sequence'))
      path.unshift(itemsOf(at).findIndex((item) => item.from === from.from));
  }
  return path;
}

/** @param {SyntaxNode} sequence */
function itemsOf(sequence) {
  return sequence.getChildren('Item');
}

/**
 * @param {SyntaxNode} mapping
 * @param {string} text
 */
function keysIn(mapping, text) {
  return mapping.getChildren('Pair').map((pair) => keyOf(pair, text));
}

/**
 * @param {SyntaxNode} pair
 * @param {string} text
 */
function keyOf(pair, text) {
  const key = pair.getChild('Key')?.firstChild;
  return key ? String(scalarOf(key, text)) : '';
}

/**
 * What a node comes to, as far as it can be read; nothing is refused.
 * @param {SyntaxNode | null | undefined} node
 * @param {string} text
 * @returns {Value}
 */
function readOf(node, text) {
  switch (node?.name) {
    case 'Document':
    case 'Item':
      return readOf(contentOf(node), text);
    case 'BlockMapping':
    case 'FlowMapping':
      return Object.fromEntries(
        node.getChildren('Pair').map((pair) => [keyOf(pair, text), readOf(contentOf(pair), text)]),
      );
    case 'BlockSequence':
    case 'FlowSequence':
      return itemsOf(node).map((item) => readOf(item, text));
    case 'Literal':
    case 'QuotedLiteral':
      return scalarOf(node, text);
    default:
      return null;
  }
}

/**
 * The node in which the content of a document, an item or a pair lies.
 * @param {SyntaxNode} node
 */
function contentOf(node) {
  for (let child = node.lastChild; child !== null; child = child.prevSibling)
    if (/Literal|Mapping|Sequence/.test(child.name)) return child;
  return null;
}

/**
 * @param {SyntaxNode} node
 * @param {string} text
 * @returns {Value}
 */
function scalarOf(node, text) {
  const written = text.slice(node.from, node.to);
  if (node.name === 'QuotedLiteral') return written.slice(1, -1);
  if (written === 'true' || written === 'false') return written === 'true';
  return /^-?\d+(?:\.\d+)?$/.test(written) ? Number(written) : written;
}
