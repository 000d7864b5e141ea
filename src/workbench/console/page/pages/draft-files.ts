import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import type { CodeEditor, FileRemark } from '#workbench/console/page/parts/editor/code-editor.ts';
import type { ExplainedFact } from '#workbench/console/page/parts/editor/rule-words.ts';
import { onSubmit, renderChoice, renderField } from '#workbench/console/page/parts/form.ts';
import { RefusalNotice, useAction } from '#workbench/console/page/parts/notice.ts';
import { type ValueEdits, ValueFields } from '#workbench/console/page/parts/values.ts';
import {
  excludeFile,
  listPaths,
  replaceFileText,
  type WorkingCopy,
} from '#workbench/console/page/parts/working-copy.ts';
import { type CheckedDraft, LISTS, type Session } from '#workbench/console/page/questions.ts';

/** The file and the position that the reader wants to see. */
export interface WantedPosition {
  readonly path: string;
  readonly at: FileRemark['at'] | null;
}

interface FileEditorProps {
  readonly copy: WorkingCopy;
  readonly change: (copy: WorkingCopy) => void;
  readonly edit: (path: string, text: string) => void;
  readonly checked: CheckedDraft | null;
  readonly wanted: WantedPosition;
  readonly setWanted: (wanted: WantedPosition) => void;
  /** How often the files were changed other than in the editor. */
  readonly rewritten: number;
  readonly values: ValueEdits;
  readonly session: Session;
}

/** The files of a draft, of which one is open. */
export function DraftFilesEditor({
  copy,
  change,
  edit,
  checked,
  wanted,
  setWanted,
  rewritten,
  values,
  session,
}: FileEditorProps) {
  const paths = listPaths(copy);
  const path = paths.includes(wanted.path) ? wanted.path : (paths[0] ?? '');
  const remove = () => change(excludeFile(copy, path));
  const isOptional = /^(?:cases|lists)\//.test(path);
  const remarks = listFileRemarks(path, checked);
  const go = (at: FileRemark['at']) => setWanted({ path, at: { ...at } });
  return html`<section class="card">
    <h2 class="only-read">Files</h2>
    <div class="tabs" role="group" aria-label="Files">
      ${paths.map((one) => {
        const wrong = (checked?.problems ?? []).some(({ at }) => at.file === one);
        const pressed = { 'aria-pressed': one === path ? 'true' : 'false' };
        const choose = () => setWanted({ path: one, at: null });
        return html`<button type="button" ...${pressed} onClick=${choose}>${one}${wrong && ' ✗'}</button>`;
      })}
    </div>
    <div class="workplace">
      <div>
        ${h(Code, { copy, path, wanted, setWanted, edit, rewritten, remarks, session })}
      </div>
      ${h(ValueFields, { key: path, path, checked, remarks, values, go })}
    </div>
    <details>
      <summary>Add or remove a file</summary>
      ${h(AddFile, { copy, change, setWanted })}
      ${
        isOptional &&
        html`<div class="buttons"><button type="button" onClick=${remove}>Remove ${path}</button></div>`
      }
    </details>
  </section>`;
}

function listFileRemarks(path: string, checked: CheckedDraft | null): readonly FileRemark[] {
  if (checked === null) return [];
  const of = (remarks: CheckedDraft['notes'], severity: FileRemark['severity']) =>
    remarks
      .filter(({ at }) => at.file === path)
      .map(({ at, message, example }) => ({
        at,
        severity,
        message: example === null ? message : `${message}\nFor example: ${example}`,
      }));
  return [...of(checked.problems, 'error'), ...of(checked.notes, 'info')];
}

interface CodeProps
  extends Pick<FileEditorProps, 'copy' | 'wanted' | 'setWanted' | 'edit' | 'rewritten' | 'session'> {
  readonly path: string;
  readonly remarks: readonly FileRemark[];
}

/** The editor itself, which is loaded when it is first needed, and what the fact at its cursor means. */
function Code({ copy, path, wanted, setWanted, edit, rewritten, remarks, session }: CodeProps) {
  const place = useRef<HTMLDivElement | null>(null);
  const [editor, setEditor] = useState<CodeEditor | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [tries, setTries] = useState(0);
  const retry = () => {
    setError(null);
    setTries(tries + 1);
  };
  const [fact, setFact] = useState<ExplainedFact | null>(null);
  const lists = useAnswer(isAllowed(session, 'lists:read') ? LISTS : null).data?.lists ?? [];
  // The editor is created once, and always uses the values with which this component was last drawn.
  const latest = useRef({ copy, edit, lists });
  latest.current = { copy, edit, lists };
  const at = wanted.path === path ? wanted.at : null;
  useEffect(() => {
    let left = false;
    let made: CodeEditor | null = null;
    import('#workbench/console/page/parts/editor/code-editor.ts').then(({ CodeEditor }) => {
      if (left || place.current === null) return;
      made = new CodeEditor(place.current, {
        // A text that the page gave to the editor is no edit.
        onChange: (changed, text) => {
          if (latest.current.copy.files[changed] !== text) latest.current.edit(changed, text);
        },
        onFact: setFact,
        names: {
          files: () => latest.current.copy.files,
          sharedLists: () => [...new Set(latest.current.lists.map(({ list }) => list))],
        },
      });
      setEditor(made);
    }, setError);
    return () => {
      left = true;
      made?.close();
    };
  }, [tries]);
  useEffect(() => editor?.openFile(path, copy.files[path] ?? ''), [editor, path, rewritten]);
  useEffect(() => editor?.showRemarks(remarks), [editor, path, rewritten, remarks]);
  useEffect(() => (at === null ? undefined : editor?.moveCursorTo(at)), [editor, at]);
  return html`${error && h(RefusalNotice, { error, retry })}
    ${editor === null && error === null && html`<p class="faint" role="status">Loading the editor …</p>`}
    <div class="editor" ref=${place}></div>
    <div class="meaning">
      <div role="status">${fact && renderMeaning(fact, listPlacesOf(fact, copy), setWanted)}</div>
      <p class="faint" hidden=${fact !== null}>
        Control and Space complete a word. Escape and then Tab leaves the editor.
      </p>
    </div>`;
}

/** A fact in words, with every position in the rules that asks for it. */
function renderMeaning(
  { name, values, notes, description }: ExplainedFact,
  places: ReturnType<typeof listPlacesOf>,
  setWanted: FileEditorProps['setWanted'],
) {
  return html`<p><b>${name}</b> <span class="faint">${[values, ...notes].join(', ')}</span></p>
    <p>${description}</p>
    <p class="places">
      Asked for in
      ${places.map(
        ({ path, at }) => html` <button type="button" onClick=${() => setWanted({ path, at })}>
          ${path}:${at.line}
        </button>`,
      )}
    </p>`;
}

/** The lines above the name of an attribute that may say that it is one. */
const LINES_ABOVE_NAME = 2;

function listPlacesOf({ name, attribute, isNamedAfter }: ExplainedFact, { files }: WorkingCopy) {
  const [member, value] = attribute === undefined ? ['fact', name] : ['name', attribute];
  const asked = new RegExp(`\\b${member}["']?:\\s*["']?(?=${value}\\b)`);
  return Object.entries(files)
    .filter(([path]) => !path.includes('/'))
    .flatMap(([path, text]) =>
      text.split('\n').flatMap((line, index, lines) => {
        const found = asked.exec(line);
        if (found === null) return [];
        const above = lines.slice(Math.max(0, index - LINES_ABOVE_NAME), index);
        const before = [...above, line.slice(0, found.index)].join('\n');
        if (isNamedAfter?.(before) === false) return [];
        return [{ path, at: { line: index + 1, column: found.index + found[0].length + 1 } }];
      }),
    );
}

function AddFile({ copy, change, setWanted }: Pick<FileEditorProps, 'copy' | 'change' | 'setWanted'>) {
  const { attempt, trouble } = useAction();
  const add = onSubmit(({ kind = '', name = '' }) =>
    attempt(async () => {
      const path = ALONE.includes(kind) ? `${kind}.yaml` : `${kind}/${name}.yaml`;
      if (copy.files[path] !== undefined) throw new Error(`${path} is there already.`);
      change(replaceFileText(copy, path, BEGINNINGS[kind] ?? ''));
      setWanted({ path, at: null });
    }),
  );
  const name = { name: 'name', pattern: '[a-z][a-z0-9]*(-[a-z0-9]+)*', defaultValue: 'mine' };
  return html`<form class="filters" onSubmit=${add}>
      ${renderChoice('what', ADDED, { name: 'kind' })}
      ${renderField('name', name, 'of cases or a list, like night')}
      <div class="buttons"><button type="submit">Add</button></div>
    </form>
    ${trouble}`;
}

const ADDED = [
  ['cases', 'cases: what the rules are expected to answer'],
  ['lists', 'a list of the rule set'],
  ['flags', 'flags.yaml: what people should look at, whatever the verdict'],
  ['limits', 'limits.yaml'],
] as const;

/** The kinds of which a rule set has only one file. */
const ALONE: readonly string[] = ['flags', 'limits'];

const BEGINNINGS: Readonly<Record<string, string>> = {
  cases: '# What the rules are expected to answer.\ncases:\n',
  lists: '# Who or what is on the list.\nentries:\n  - \n',
  flags: '# What is recorded beside the verdict, which it does not change.\nrules:\n  - name: \n',
  limits: '# The most that a client should be let pay at once, by group.\n',
};
