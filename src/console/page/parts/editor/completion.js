import { snippetCompletion } from '@codemirror/autocomplete';
import { yamlLanguage } from '@codemirror/lang-yaml';
import { keysOf, schemasAt, valuesOf } from './schema-walk.js';

/**
 * @import { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
 * @import { SyntaxNode } from '@lezer/common'
 * @import { Offer, Step, Value } from './schema-walk.js'
 * @import { Schema } from './schema.d.ts'
 */

/**
 * What is known of a file besides its schema: names from other files of the draft.
 * @typedef {object} KnownNames
 * @property {readonly string[]} lists of the rule set
 * @property {readonly string[]} ladders
 */

const WINDOWS = ['10m', '1h', '24h', '7d'];

/**
 * Completes a rule file from its schema, and with what the draft's other files name.
 * @param {string} path of the file
 * @param {Schema} schema
 * @param {() => KnownNames} names
 * @returns {(context: CompletionContext) => CompletionResult | null}
 */
export function completing(path, schema, names) {
  return (context) => {
    const word = context.matchBefore(/[A-Za-z0-9_.-]*/);
    const from = word?.from ?? context.pos;
    if (from === context.pos && !context.explicit && !beginsSomething(context)) return null;
    const text = context.state.doc.toString();
    const places = placesFor(text, from, context.pos);
    const options = places.flatMap((place) => optionsAt(schema, place, names()));
    const skeleton = skeletonFor(path, text, from);
    const all = skeleton === null ? options : [skeleton, ...options];
    return all.length === 0 ? null : { from, options: all, validFor: /^[A-Za-z0-9_.-]*$/ };
  };
}

/**
 * What the schema says of the word at a position; null when it says nothing.
 * @param {Schema} schema
 * @param {string} text
 * @param {number} position
 * @returns {string | null}
 */
export function wordsOn(schema, text, position) {
  const place = placeAt(text, position);
  if (place === null) return null;
  const word = /[A-Za-z]*$/.exec(text.slice(0, position))?.[0] ?? '';
  const rest = /^[A-Za-z]*/.exec(text.slice(position))?.[0] ?? '';
  const schemas = schemasAt(schema, place.value, place.path);
  const offers = place.role === 'key' ? keysOf(schemas, []) : valuesOf(schemas);
  return offers.find((offer) => offer.text === word + rest)?.says || null;
}

/**
 * Right after `fact: `, `{ ` or `[ ` somebody wants to know what may stand there.
 * @param {CompletionContext} context
 */
function beginsSomething(context) {
  return context.matchBefore(/(?:: |\{ |, |\[)/) !== null;
}

/**
 * @param {Schema} schema
 * @param {Place} place
 * @param {KnownNames} names
 * @returns {readonly Completion[]}
 */
function optionsAt(schema, { role, path, present, value }, names) {
  const schemas = schemasAt(schema, value, path);
  if (role === 'key')
    return keysOf(schemas, present).map((offer) => ({
      ...shown(offer, 'property'),
      apply: `${offer.text}: `,
    }));
  const written = valuesOf(schemas).map((offer) => shown(offer, 'enum'));
  return [...written, ...namesFor(path, names).map((label) => ({ label, type: 'variable' }))];
}

/**
 * @param {Place['path']} path
 * @param {KnownNames} names
 * @returns {readonly string[]}
 */
function namesFor(path, { lists, ladders }) {
  switch (path.at(-1)) {
    case 'window':
      return WINDOWS;
    case 'ladder':
      return ladders;
    case 'list':
      return path.at(-2) === 'value' ? lists : [];
    default:
      return [];
  }
}

/**
 * @param {Offer} offer
 * @param {string} type
 * @returns {Completion}
 */
function shown({ text, says }, type) {
  return says === '' ? { label: text, type } : { label: text, type, info: says };
}

/**
 * A whole rule, or a whole case, where one may begin.
 * @param {string} path
 * @param {string} text
 * @param {number} from
 * @returns {Completion | null}
 */
function skeletonFor(path, text, from) {
  const above = text.slice(0, from);
  const line = above.slice(above.lastIndexOf('\n') + 1);
  const template = path.startsWith('cases/') ? CASE : RULES[path];
  if (template === undefined || !/^(?: {2})?$/.test(line)) return null;
  if (!/^(?:rules|cases):/m.test(above) || /^otherwise:/m.test(above)) return null;
  const lines = line === '' ? template.replaceAll(/^/gm, '  ') : template;
  const label = template === CASE ? 'a whole case' : 'a whole rule';
  return snippetCompletion(lines, { label, type: 'class', boost: 50, info: 'Tab goes from field to field.' });
}

const CONDITIONS = `conditions:
    all:
      - { fact: \${4:fact}, operator: \${5:equal}, value: \${6:value} }`;

/** @type {Readonly<Record<string, string>>} */
const RULES = {
  'groups.yaml': `- name: \${1:name}
  description: \${2:Why it is there.}
  priority: \${3:85}
  ${CONDITIONS}
  event: { type: group, params: { group: \${7:BLOCKED} } }`,
  'bot-signals.yaml': `- name: \${1:name}
  description: \${2:Why it is there.}
  ${CONDITIONS}
  event: { type: signal, params: { weight: \${7:2} } }`,
  'verdicts.yaml': `- name: \${1:name}
  description: \${2:Why it is there.}
  priority: \${3:75}
  ${CONDITIONS}
  event:
    type: verdict
    params: { verdict: \${7:WAIT}, reason: "\${8:What the caller reads.}" }`,
};

const CASE = `- name: "\${1:What it shows}"
  steps:
    - verdict: {}
      expect: { verdict: \${2:GET_NEW} }`;

/**
 * Where something is written or about to be written in a YAML file.
 * @typedef {object} Place
 * @property {'key' | 'value'} role
 * @property {readonly Step[]} path of the mapping that a key is of, or of the value
 * @property {readonly string[]} present the keys that the mapping has
 * @property {Value} value of the whole file, as far as it can be read
 */

/** Marks where something is about to be written; no file contains this word. */
const STAND_IN = 'zzSTANDINzz';

/**
 * What may be written at a position instead of the word that ends there: a key, a value, or either.
 * @param {string} text
 * @param {number} from where the word begins
 * @param {number} to
 * @returns {readonly Place[]}
 */
function placesFor(text, from, to) {
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
function placeAt(text, position) {
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

/** @param {SyntaxNode} mapping @param {string} text */
function keysIn(mapping, text) {
  return mapping.getChildren('Pair').map((pair) => keyOf(pair, text));
}

/** @param {SyntaxNode} pair @param {string} text */
function keyOf(pair, text) {
  const key = pair.getChild('Key')?.firstChild;
  return key ? String(scalarOf(key, text)) : '';
}

/**
 * The value of a node, as far as it can be read; nothing is refused.
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

/** The node in which the content of a document, an item or a pair lies. @param {SyntaxNode} node */
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
