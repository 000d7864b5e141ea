import { type Html, h, html, useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import { onSubmit, renderField } from './form.ts';
import { renderSafeName } from './name.ts';
import { useAction } from './notice.ts';

/** A title about a payer or a value, whose name `renderSafeName` shows. */
interface NamedTitle {
  readonly before: string;
  readonly name: string;
  readonly after: string;
}

/**
 * A change that somebody is about to make. `act` makes the change with the typed values. The dialog shows
 * a refusal.
 */
export interface PlannedChange<T> {
  readonly title: string | NamedTitle;
  /** The text of the button. */
  readonly action: string;
  readonly tone?: 'accent' | 'bad';
  readonly act: (typed: Record<string, string>) => Promise<T>;
  /** What the change does, with the fields that it needs. */
  readonly children: Html;
}

/**
 * Lets a page ask for confirmation before a change is made. `propose` opens `dialog`, which makes the
 * change when the person confirms it. `done` gets the result. A reason that was typed and not sent stands
 * in the field again if the same change is proposed again.
 */
export function useConfirmedChange<T>(done: (result: T) => void) {
  const [proposal, propose] = useState<PlannedChange<T> | null>(null);
  const close = () => propose(null);
  const finish = (result: T) => {
    close();
    done(result);
  };
  return { propose, dialog: proposal && h(Confirm<T>, { ...proposal, done: finish, cancel: close }) };
}

/** The reasons that were typed into dialogs and not sent yet, by the title of the dialog. */
const unsentReasons: Map<string, string> = new Map();

addEventListener('signed-out', () => unsentReasons.clear());

function Confirm<T>({
  title,
  action,
  tone = 'accent',
  act,
  done,
  cancel,
  children,
}: PlannedChange<T> & { done: (result: T) => void; cancel: () => void }) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  const { attempt, isBusy, trouble } = useAction();
  const titleText = typeof title === 'string' ? title : `${title.before} ${title.name}${title.after}`;
  useEffect(() => {
    dialog.current?.showModal();
    const reason = dialog.current?.querySelector<HTMLInputElement>('input[name="reason"]');
    const unsent = unsentReasons.get(titleText);
    if (reason && unsent !== undefined) reason.value = unsent;
  }, []);
  // Gives the focus back to the button that opened the dialog. Removing a dialog alone would not.
  const close = () => dialog.current?.close();
  const submit = onSubmit((typed) =>
    attempt(async () => {
      const result = await act(typed);
      unsentReasons.delete(titleText);
      close();
      done(result);
    }),
  );
  const leave = () => {
    close();
    cancel();
  };
  const keepReason = ({ target }: Event) => {
    if (target instanceof HTMLInputElement && target.name === 'reason')
      unsentReasons.set(titleText, target.value);
  };
  return html`<dialog ref=${dialog} aria-labelledby="confirm-title" onCancel=${leave}>
    <h2 id="confirm-title">${typeof title === 'string' ? title : renderTitle(title)}</h2>
    <form class="stack" onSubmit=${submit} onInput=${keepReason}>
      ${children} ${trouble}
      <div class="buttons">
        <button type="submit" class=${`button-${tone}`} disabled=${isBusy}>
          ${isBusy ? 'Working …' : action}
        </button>
        <button type="button" onClick=${leave} disabled=${isBusy}>Cancel</button>
      </div>
    </form>
  </dialog>`;
}

function renderTitle({ before, name, after }: NamedTitle) {
  return html`${before} ${renderSafeName(name)}${after}`;
}

/**
 * The field `reason` of a change. `who` is the name under which the change is recorded, if it is shown.
 * `usual` is the text that the field begins with.
 */
export function renderReasonField(who?: string, label = 'Reason', usual = '') {
  const reason = {
    ...{ name: 'reason', required: true, maxlength: 1000, autocomplete: 'off', autofocus: true },
    defaultValue: usual,
  };
  return renderField(label, reason, who && `The history names ${who}, and the reason.`);
}

/**
 * The field for a second confirmation of a change that reaches many payers: the person has to type the
 * version.
 */
export function renderConfirmVersionField(version: string) {
  const pattern = version.replaceAll('.', '\\.');
  return renderField(`Type ${version} to confirm`, {
    required: true,
    pattern,
    title: version,
    autocomplete: 'off',
    spellcheck: false,
  });
}
