import { h, html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import type { CheckedDraft } from '#workbench/console/page/questions.ts';
import type { FileRemark } from './editor/code-editor.ts';
import { onSubmit, onTyped } from './form.ts';
import { replaceConstantValues, type WorkingCopy, type WrittenConstant } from './working-copy.ts';

/**
 * Texts that were typed into fields, by the path of their constant. `written` is true when the text stands
 * in the draft.
 */
type Edits = Readonly<Record<string, { readonly text: string; readonly written: boolean }>>;

export interface ValueEdits {
  readonly edits: Edits;
  readonly edit: (path: string, text: string) => void;
}

/**
 * Writes values into a draft. A value that is typed during a check of the draft waits for the check's
 * result, because only the result knows where constants stand now. `checked` is the check of the present
 * text. It is null if there is none yet.
 */
export function useValueEdits(
  copy: WorkingCopy,
  checked: CheckedDraft | null,
  rewrite: (copy: WorkingCopy) => void,
): ValueEdits {
  const [edits, setEdits] = useState((): Edits => ({}));
  useEffect(() => {
    if (checked === null || Object.keys(edits).length === 0) return;
    const waiting = Object.entries(edits).filter(([, { written }]) => !written);
    // Values that were typed in the meantime are not in `waiting`. They stay for the next time.
    setEdits((now) => {
      const later = Object.entries(now).filter(([path, one]) => one !== edits[path]);
      const done = waiting.map(([path, { text }]) => [path, { text, written: true }]);
      return Object.fromEntries([...done, ...later]);
    });
    if (waiting.length === 0) return;
    const values = Object.fromEntries(waiting.map(([path, { text }]) => [path, text]));
    rewrite(replaceConstantValues(copy, checked.constants, values));
  }, [edits, checked]);
  const edit = (path: string, text: string) =>
    setEdits((before) => ({ ...before, [path]: { text, written: false } }));
  return { edits, edit };
}

interface ValuesProps {
  /** The path of the file. */
  readonly path: string;
  readonly checked: CheckedDraft | null;
  /** The remarks about the file. */
  readonly remarks: readonly FileRemark[];
  readonly values: ValueEdits;
  /** Shows a position in the editor. */
  readonly go: (at: FileRemark['at']) => void;
}

/** Shows the constants of one file as fields, grouped by rule, named condition or ladder. */
export function ValueFields({ path, checked, remarks, values, go }: ValuesProps) {
  const known = useRef<readonly WrittenConstant[]>([]);
  const read = (checked?.constants ?? []).filter(({ at }) => at.file === path);
  if (read.length > 0) known.current = read;
  const constants = known.current;
  if (constants.length === 0) return null;
  const owners = [...new Set(constants.map(({ owner }) => owner))];
  const told = remarks.map((remark) => ({ remark, constant: findConstant(remark, constants) }));
  const elsewhere = told.filter(({ remark, constant }) => !constant && remark.severity === 'error');
  const field = (constant: WrittenConstant) => {
    const own = told.filter((one) => one.constant === constant).map(({ remark }) => remark);
    return h(Value, { key: constant.path, constant, remarks: own, values, go });
  };
  // While no field can be used, the keyboard scrolls the form itself.
  const scrolled = read.length === 0 ? { tabindex: 0 } : {};
  return html`<form class="values" aria-label=${`Values in ${path}`} ...${scrolled}
    onSubmit=${onSubmit(() => {})}>
    <h3>Values</h3>
    <p class="faint">A value is written into the YAML when you leave its field.</p>
    <div role="status">
      ${
        read.length === 0 &&
        html`<p class="bad">${path} cannot be read as it stands; mend it in the editor.</p>`
      }
      ${elsewhere.map(({ remark: { at, message } }) => html`<p class="bad">Line ${at.line}: ${message}</p>`)}
    </div>
    ${owners.map(
      (owner) => html`<fieldset key=${owner} disabled=${read.length === 0}>
        ${h(Owner, { owner, constants })}
        ${constants.filter((one) => one.owner === owner).map(field)}
      </fieldset>`,
    )}
  </form>`;
}

/**
 * Finds the constant that a remark is about. A remark has the position of a value, or of the comparison that
 * contains it.
 */
function findConstant({ at: { line, column } }: FileRemark, constants: readonly WrittenConstant[]) {
  return constants.find(({ at }) => at.line === line && at.column >= column);
}

function Owner({ owner, constants }: { owner: string; constants: readonly WrittenConstant[] }) {
  const [file = '', ...names] = owner.split('.');
  const name = names.join(' ') || file;
  const usedBy = constants.find((one) => one.owner === owner)?.usedBy ?? [];
  const others = usedBy.filter((rule) => rule !== name);
  return html`<legend>${name}</legend>
    ${others.length > 0 && html`<p class="faint">Used by ${others.join(', ')}</p>`}`;
}

function Value({
  constant,
  remarks,
  values: { edits, edit },
  go,
}: Pick<ValuesProps, 'values' | 'go'> & { constant: WrittenConstant; remarks: readonly FileRemark[] }) {
  const { path, at, text, description } = constant;
  const [typed, setTyped] = useState<string | null>(null);
  const put = onTyped((value) => {
    setTyped(null);
    edit(path, value.trim());
  });
  const isWrong = remarks.some(({ severity }) => severity === 'error');
  const props = {
    value: typed ?? edits[path]?.text ?? text,
    onChange: put,
    onBlur: () => setTyped(null),
    'aria-invalid': isWrong ? 'true' : undefined,
    'aria-describedby': `about-${path} wrong-${path}`,
  };
  const choices = listChoices(constant);
  const show = { 'aria-label': `line ${at.line} of ${path}`, onClick: () => go(at) };
  return html`<div class="value">
    <label>
      <span>${formatLabel(constant)}</span>
      ${
        choices === null
          ? html`<input ...${props} onInput=${onTyped(setTyped)} autocomplete="off" spellcheck=${false} />`
          : html`<select ...${props}>
            ${choices.map((one) => html`<option value=${one}>${one}</option>`)}
          </select>`
      }
    </label>
    <button type="button" class="button-quiet" ...${show}>
      line ${at.line}
    </button>
    <small id=${`about-${path}`}>${[...formatAllowedRange(constant), description].join('. ')}</small>
    <small id=${`wrong-${path}`} role="status" class=${isWrong ? 'bad' : 'note'}>
      ${remarks.map(({ message }) => message).join('\n')}
    </small>
  </div>`;
}

/**
 * Formats the part of a constant's path that its owner does not say: `paidCount >=`, `verdicts window`,
 * `level 1`.
 */
function formatLabel({ path, owner, sign }: WrittenConstant) {
  const own = path.slice(owner.length).replace(/^\./, '');
  const [, level] = /^(?:levels)?\[(\d+)\]$/.exec(own) ?? [];
  const name = level === undefined ? own.replaceAll('.', ' ') : `level ${Number(level) + 1}`;
  return sign === null ? name : `${name} ${sign}`;
}

function listChoices({ allowed, text }: WrittenConstant) {
  if (allowed.type === 'boolean') return [...new Set(['true', 'false', text])];
  return allowed.type === 'enum' ? [...new Set([...allowed.values, text])] : null;
}

/**
 * From this maximum on, the upper bound of a number is not shown, like that of the seconds that mean "never".
 */
const LARGE = 999_999_999;

function formatAllowedRange({ allowed, unit }: WrittenConstant) {
  if (allowed.type === 'duration') return [`A duration like 10m, up to ${allowed.longest}`];
  if (allowed.type !== 'number') return unit === null ? [] : [unit];
  const { min, max } = allowed;
  const range = max >= LARGE ? `${min} or more` : `${min} to ${max}`;
  return [unit === null ? range : `${unit}, ${range}`];
}
