import { autocompletion, closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { search, searchKeymap } from '@codemirror/search';
import { EditorState, type Text } from '@codemirror/state';
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import {
  completionTheme,
  createCompletionSource,
  createFactTooltip,
  type DraftContext,
  type ExplainedFact,
  findFactAt,
} from './rule-words.ts';

/** A message about a position in the file. Line and column count from 1. */
export interface FileRemark {
  readonly at: { readonly line: number; readonly column: number };
  readonly message: string;
  readonly severity: 'error' | 'info';
}

interface EditorParts {
  readonly onChange: (path: string, text: string) => void;
  /** Receives the fact that the cursor is on, or null if it is on none. */
  readonly onFact: (fact: ExplainedFact | null) => void;
  readonly names: DraftContext;
}

/**
 * The editor of a draft's files, one at a time. Undo steps and the cursor are kept for each file. The
 * editor lies in a shadow root, where it can use constructed style sheets (`adoptedStyleSheets`). The
 * page's policy allows constructed style sheets, but no inline styles.
 */
export class CodeEditor {
  #view: EditorView;
  #parts: EditorParts;
  #states: Map<string, EditorState> = new Map();
  #path = '';
  #fact: ExplainedFact | null = null;

  constructor(place: HTMLElement, parts: EditorParts) {
    this.#parts = parts;
    const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
    this.#view = new EditorView({ parent: root, root });
    this.#view.dom.style.height = '100%';
  }

  /**
   * Opens a file. If the open file was changed elsewhere, the change is shown in place and can be undone.
   * If a file was changed elsewhere while another file was open here, its undo history begins anew.
   */
  openFile(path: string, text: string) {
    const { state } = this.#view;
    if (path === this.#path) {
      const changes = findChange(state.doc.toString(), text);
      const effects = EditorView.scrollIntoView(changes.from, { y: 'nearest' });
      if (changes.to > changes.from || changes.insert !== '') this.#view.dispatch({ changes, effects });
      return;
    }
    if (this.#path !== '') this.#states.set(this.#path, state);
    this.#path = path;
    const known = this.#states.get(path);
    this.#view.setState(known?.doc.toString() === text ? known : this.#stateOf(path, text));
    this.#tellFact();
  }

  showRemarks(remarks: readonly FileRemark[]) {
    const { state } = this.#view;
    this.#view.dispatch(
      setDiagnostics(
        state,
        remarks.map((remark) => toDiagnostic(state.doc, remark)),
      ),
    );
  }

  /** Puts the cursor at a position and shows it. */
  moveCursorTo(at: FileRemark['at']) {
    const anchor = toPosition(this.#view.state.doc, at);
    this.#view.dispatch({
      selection: { anchor },
      effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
    });
    this.#view.focus();
  }

  close() {
    this.#view.destroy();
  }

  #tellFact() {
    const { state } = this.#view;
    const fact = findFactAt(state, state.selection.main.head, this.#parts.names)?.fact ?? null;
    if (fact !== this.#fact) this.#parts.onFact(fact);
    this.#fact = fact;
  }

  #stateOf(path: string, text: string) {
    const { onChange, names } = this.#parts;
    // Files of cases and lists do not ask for facts, so nothing is completed in them.
    const isOfRules = !/^(?:cases|lists)\//.test(path);
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        yaml(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        search({ top: true }),
        EditorView.lineWrapping,
        isOfRules
          ? [
              autocompletion({ override: [createCompletionSource(names)], icons: false }),
              createFactTooltip(names),
              completionTheme,
            ]
          : [],
        EDITOR_THEME,
        EditorView.contentAttributes.of({ 'aria-label': path, tabindex: '0' }),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...lintKeymap,
        ]),
        EditorView.updateListener.of(({ docChanged, selectionSet, state }) => {
          if (docChanged) onChange(path, state.doc.toString());
          if (docChanged || selectionSet) this.#tellFact();
        }),
      ],
    });
  }
}

/** Finds the part between the common beginning and the common end of two texts. */
function findChange(before: string, after: string) {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let same = 0;
  while (same < shorter - from && before.at(-1 - same) === after.at(-1 - same)) same++;
  return { from, to: before.length - same, insert: after.slice(from, after.length - same) };
}

function toDiagnostic(doc: Text, { at, message, severity }: FileRemark): Diagnostic {
  const from = toPosition(doc, at);
  const word = /^[^\s,{}[\]]+/.exec(doc.sliceString(from, doc.lineAt(from).to))?.[0] ?? '';
  return { from, to: from + word.length, message, severity };
}

function toPosition(doc: Text, { line, column }: FileRemark['at']) {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(from + column - 1, to);
}

/** The page's colours. The shadow root gets them as CSS variables. */
const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--card)', height: '100%' },
  // The frame around the editor shows the focus.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { font: '12px / 1.6 var(--mono)' },
  '.cm-content': { caretColor: 'var(--ink)', paddingBlock: '8px' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': {
    backgroundColor: 'var(--card)',
    color: 'var(--ink-faint)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--accent-soft)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--sticky-soft)' },
  '.cm-searchMatch': { backgroundColor: 'var(--wait-soft)' },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--card)',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
  },
  '.cm-tooltip': { maxWidth: 'min(480px, 90vw)' },
  '.cm-diagnostic': { font: '13px / 1.45 system-ui, sans-serif', whiteSpace: 'pre-wrap' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--block)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--sticky)' },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--ink-faint)', fontStyle: 'italic' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--get-new)' },
  { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: 'var(--ink-faint)' },
]);

export const EDITOR_THEME = [theme, syntaxHighlighting(colours)];
