import { HighlightStyle, syntaxHighlighting } from '../../packages/editor/language.js';
import { tags } from '../../packages/editor/lezer-highlight.js';
import { EditorView } from '../../packages/editor/view.js';

/** The page's colours, which reach into the shadow root as variables. */
const theme = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--card)', height: '100%' },
  // The frame around it shows the focus.
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
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { font: '12px / 1.6 var(--mono)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--accent-ink)',
  },
  '.cm-completionInfo, .cm-words': {
    padding: '6px 10px',
    font: '13px / 1.45 system-ui, sans-serif',
    maxWidth: '360px',
  },
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

export const look = [theme, syntaxHighlighting(colours)];
