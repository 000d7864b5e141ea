import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippetCompletion,
} from '@codemirror/autocomplete';
import type { EditorState, Extension } from '@codemirror/state';
import { EditorView, hoverTooltip } from '@codemirror/view';
import type { RuleWords } from '#workbench/console/bundle.ts';
import { listDeclaredAttributes } from './declared-attributes.ts';

/** JSON that the bundler puts in, so that the page has the words of the service that it belongs to. */
declare const RULE_WORDS: string;

/**
 * A fact that rules may ask for, with its explanation for analysts. If the fact is a declared attribute,
 * `attribute` is the name by which rules ask for it. `isNamedAfter` tells whether a `name:` after a text of a
 * rule file names an attribute, and not a rule or a case.
 */
export type ExplainedFact = RuleWords['facts'][number] & {
  readonly attribute?: string;
  readonly isNamedAfter?: (text: string) => boolean;
};

/** Matches what stands between `params` and the name of an attribute, on one line or on several. */
const BEGUN_PARAMS = /\bparams["']?:\s*(?:\{[^{}]*|(?:window["']?:[^\n]*\n\s*)?)$/;

function isBeforeAttributeName(text: string) {
  return BEGUN_PARAMS.test(text);
}

/** Names that only this draft and its platform have. */
export interface DraftContext {
  readonly files: () => Readonly<Record<string, string>>;
  /** The names of the shared lists that the person may see. */
  readonly sharedLists: () => readonly string[];
}

const { facts, operators, groups, verdicts }: RuleWords = JSON.parse(RULE_WORDS);

const FACTS: ReadonlyMap<string, ExplainedFact> = new Map(facts.map((fact) => [fact.name, fact]));

const FACT_OPTIONS: readonly Completion[] = facts.map(({ name, values, description }) => ({
  label: name,
  type: 'variable',
  detail: values,
  info: description,
}));

const COMPARISON = snippetCompletion('- { fact: #{name}, operator: #{equal}, value: #{value} }', {
  label: '- { fact, operator, value }',
  type: 'keyword',
  info: 'A comparison of a fact with a value',
});

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

const WINDOWS = ['10m', '30m', '1h', '6h', '24h', '7d', '30d'];

/** Lists what may stand after a member like `fact:`. Returns null for a member that is not completed. */
function listValuesOf(member: string, line: string, names: DraftContext): readonly Completion[] | null {
  const asked = FACTS.get(/\bfact["']?:\s*["']?(\w+)/.exec(line)?.[1] ?? '');
  switch (member) {
    case 'fact':
      return FACT_OPTIONS;
    case 'operator':
      return listOptions(operators, 'keyword');
    case 'group':
      return listOptions(groups, 'enum');
    case 'verdict':
      return listOptions(verdicts, 'enum');
    case 'otherwise':
      return listOptions([...groups, ...verdicts], 'enum');
    case 'window':
      return sortAsListed(listOptions(listWindows(asked), 'constant'));
    case 'list':
      return [
        ...listOptions(listOwnLists(names.files()), 'constant', 'of this rule set'),
        ...listOptions(names.sharedLists(), 'constant', 'shared'),
      ];
    case 'value':
      return listOptions(listWordsOf(asked), 'enum');
    default:
      return null;
  }
}

function listOptions(labels: readonly string[], type: string, detail?: string): readonly Completion[] {
  return labels.map((label) => ({ label, type, ...(detail !== undefined && { detail }) }));
}

/** Keeps the editor from sorting the options alphabetically. */
function sortAsListed(options: readonly Completion[]): readonly Completion[] {
  return options.map((option, index) => ({ ...option, boost: options.length - index }));
}

/** Lists the usual windows that are not longer than the longest window of the fact. */
function listWindows(fact: ExplainedFact | undefined): readonly string[] {
  const longest = fact?.notes.map((note) => /^up to (\S+)$/.exec(note)?.[1]).find(Boolean);
  if (longest === undefined) return WINDOWS;
  return WINDOWS.filter((window) => toSeconds(window) <= toSeconds(longest));
}

function toSeconds(duration: string) {
  return Number.parseInt(duration, 10) * (SECONDS[duration.at(-1) ?? ''] ?? 0);
}

function listOwnLists(files: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(files).flatMap((path) => /^lists\/(.+)\.yaml$/.exec(path)?.[1] ?? []);
}

/** Lists the values of a fact that are words, like those of `clientGroup`. */
function listWordsOf(fact: ExplainedFact | undefined): readonly string[] {
  const values = fact?.values ?? '';
  if (values === 'true or false') return ['true', 'false'];
  return values.match(/\b[A-Z][A-Z_]+\b/g) ?? [];
}

/** The greatest number of characters between a fact and the name of its attribute. */
const PARAMS_REACH = 300;

/**
 * Lists the attributes that may be named at an offset of the text. The list is empty if no attribute is
 * named there.
 */
function listAttributesAt(state: EditorState, at: number, names: DraftContext): readonly ExplainedFact[] {
  const text = state.sliceDoc(Math.max(0, at - PARAMS_REACH), at);
  const [named, before = ''] = /^(.*)\bname["']?:\s*["']?\w*$/s.exec(text) ?? [];
  if (named === undefined || !isBeforeAttributeName(before)) return [];
  const asked = FACTS.get([...before.matchAll(/\bfact["']?:\s*["']?(\w+)/g)].at(-1)?.[1] ?? '');
  // A fact that counts values takes attributes that are kept as pseudonyms, and no others.
  const isCount = asked?.notes.includes('of an attribute by name') === true;
  if (asked?.name !== 'attribute' && !isCount) return [];
  return listDeclaredAttributes(names.files()['ruleset.yaml'] ?? '')
    .filter(({ isPseudonym }) => isPseudonym || !isCount)
    .map(({ name, values, isPseudonym, description }) => {
      const notes = isPseudonym ? ['kept as a pseudonym'] : [];
      return {
        name: `attribute(${name})`,
        attribute: name,
        isNamedAfter: isBeforeAttributeName,
        values,
        notes,
        description,
      };
    });
}

function toAttributeOption({ name, attribute, values, notes, description }: ExplainedFact): Completion {
  const detail = [values, ...notes].join(', ');
  return { label: attribute ?? name, type: 'variable', detail, info: description };
}

/**
 * Creates a function for the editor that completes the values of a rule's members with words of the
 * service and of the draft.
 */
export function createCompletionSource(names: DraftContext) {
  return ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const line = state.doc.lineAt(pos);
    const before = line.text.slice(0, pos - line.from);
    const [, member = '', typed = ''] = /\b([a-z]\w*)["']?:\s*["']?([\w-]*)$/i.exec(before) ?? [];
    const options =
      member === 'name'
        ? listAttributesAt(state, pos, names).map(toAttributeOption)
        : listValuesOf(member, line.text, names);
    if (options !== null) {
      // When the word is whole, no list is shown, so that the Enter key ends the line and does not choose
      // from a list.
      const isWhole = (word: string) => options.some(({ label }) => label === word);
      if (isWhole(typed) && !explicit) return null;
      return {
        from: pos - typed.length,
        options,
        validFor: (word) => /^[\w-]*$/.test(word) && !isWhole(word),
      };
    }
    const [, indent] = /^(\s*)-?\s*$/.exec(before) ?? [];
    if (!explicit || indent === undefined) return null;
    return { from: line.from + indent.length, options: [COMPARISON] };
  };
}

/**
 * Finds the fact or the attribute that a rule asks for at an offset of the text, and the offsets at which
 * its name begins and ends.
 */
export function findFactAt(state: EditorState, at: number, names: DraftContext) {
  const word = state.wordAt(at);
  if (word === null) return null;
  const name = state.sliceDoc(word.from, word.to);
  const attribute = listAttributesAt(state, word.from, names).find((one) => one.attribute === name);
  if (attribute !== undefined) return { fact: attribute, from: word.from, to: word.to };
  const fact = FACTS.get(name);
  const { from } = state.doc.lineAt(word.from);
  const isAsked = /\bfact["']?:\s*["']?$/.test(state.sliceDoc(from, word.from));
  return fact !== undefined && isAsked ? { fact, from: word.from, to: word.to } : null;
}

/** Creates a tooltip that explains the fact or the attribute that the pointer is on. */
export function createFactTooltip(names: DraftContext): Extension {
  return hoverTooltip((view, at) => {
    const found = findFactAt(view.state, at, names);
    if (found === null) return null;
    const { fact, from, to } = found;
    const create = () => {
      const dom = document.createElement('div');
      dom.className = 'cm-meaning';
      const head = document.createElement('b');
      head.textContent = `${fact.name}: ${[fact.values, ...fact.notes].join(', ')}`;
      const text = document.createElement('p');
      text.textContent = fact.description;
      dom.append(head, text);
      return { dom };
    };
    return { pos: from, end: to, above: true, create };
  });
}

export const completionTheme: Extension = EditorView.theme({
  '.cm-meaning, .cm-tooltip.cm-completionInfo': {
    padding: '8px 12px',
    font: '13px / 20px var(--sans, system-ui)',
  },
  '.cm-meaning p': { margin: '4px 0 0' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { font: '12px / 1.6 var(--mono)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--ink)',
  },
  '.cm-completionDetail': { color: 'var(--ink-faint)' },
  // On a narrow screen there is no room beside the list. Once a fact is chosen, its meaning stands below
  // the editor.
  '@media (max-width: 600px)': { '.cm-tooltip.cm-completionInfo': { display: 'none' } },
});
