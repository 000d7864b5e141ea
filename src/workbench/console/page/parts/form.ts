import type { PartialInputHTMLAttributes } from 'preact';
import { type Html, html, useRef, useState } from '#workbench/console/page/html.ts';

/** The event of a field into which something was typed or picked. */
export type InputEvent = Event & { readonly currentTarget: HTMLInputElement };

/** Creates a listener that gets the present value of a field. */
export function onTyped(take: (text: string) => void) {
  return (event: { currentTarget: { value: string } }) => take(event.currentTarget.value);
}

type Inputs = PartialInputHTMLAttributes<HTMLInputElement>;

/** An input with a label. `hint` says which value belongs into the input. */
export function renderField(label: string, input: Inputs, hint?: string) {
  return renderLabelledControl(label, html`<input ...${input} />`, hint);
}

/** Any form control with a label, such as a select. */
export function renderLabelledControl(label: string, filledIn: Html, hint?: string) {
  return html`<label class="field">
    <span>${label}</span>${filledIn}${hint && html`<small>${hint}</small>`}
  </label>`;
}

interface ChoiceOptions {
  name?: string;
  chosen?: string | null | undefined;
  any?: string;
  hint?: string;
  go?: (value: string) => void;
}

/** A labelled select. An option is a text, or a value with the text to show. `any` stands for no choice. */
export function renderChoice(
  label: string,
  values: readonly (string | readonly [value: string, words: string])[],
  { name, chosen, any, hint, go }: ChoiceOptions,
) {
  const select = html`<select name=${name} onChange=${go && onTyped(go)}>
    ${any && html`<option value="">${any}</option>`}
    ${values.map((one) => {
      const [value, words] = typeof one === 'string' ? [one, one] : one;
      return html`<option key=${value} value=${value} selected=${value === chosen}>${words}</option>`;
    })}
  </select>`;
  return renderLabelledControl(label, select, hint);
}

/**
 * Creates a listener that gets the values of a form by name, without empty ones. The browser does not send
 * the form.
 */
export function onSubmit(take: (values: Record<string, string>) => void) {
  return (event: Event & { readonly currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const entries = [...new FormData(event.currentTarget)].flatMap(([name, value]) =>
      typeof value === 'string' && value !== '' ? [[name, value] as const] : [],
    );
    take(Object.fromEntries(entries));
  };
}

/** Opens another page of the console. `address` is the part of the address that begins with `#`. */
export function goTo(address: string) {
  location.hash = address;
}

/**
 * A field for the last day of something that may end by itself. `otherwise` says what an empty field means,
 * like "until it is removed".
 */
export function renderLastDayField(otherwise: string) {
  const hint = `Counts whole, by this browser's clock. Empty: ${otherwise}`;
  return renderField('Last day', { name: 'lastDay', type: 'date', min: formatLocalDate(new Date()) }, hint);
}

/**
 * Returns when something with a given last day ends, for a request and in words. `lastDay` is like
 * 2026-12-31. `otherwise` says what no last day means.
 */
export function toExpiryAndWords(
  lastDay: string | undefined,
  otherwise: string,
): { readonly expires: { readonly expiresAt?: string }; readonly howLong: string } {
  if (lastDay === undefined) return { expires: {}, howLong: `, ${otherwise}` };
  const end = new Date(`${lastDay}T00:00`);
  end.setDate(end.getDate() + 1);
  return { expires: { expiresAt: end.toISOString() }, howLong: ` to the end of ${lastDay}` };
}

function formatLocalDate(time: Date) {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

/** How many letters a line of a narrow column has. */
const SHORT_LETTERS = 60;

const ROWS_MAX = 12;

/** A text with a button that copies it. `label` is a word like "Link", which the button then names. */
export function CopyButton({ label, text }: { label: string; text: string }) {
  const field = useRef<HTMLInputElement | HTMLTextAreaElement | null>(null);
  const [copied, setCopied] = useState(false);
  const id = `copied-${label.toLowerCase().replaceAll(/\W/g, '-')}`;
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // Without the right to write to the clipboard the text stays selected, to be copied by hand.
      setCopied(false);
    }
  };
  const isShort = text.length < SHORT_LETTERS && !text.includes('\n');
  const rowsOf = (line: string) => Math.max(1, Math.ceil(line.length / SHORT_LETTERS));
  const rows = Math.min(
    ROWS_MAX,
    text.split('\n').reduce((sum, line) => sum + rowsOf(line), 0),
  );
  return html`<div class="field copy">
    <div class="row copy-head">
      <label for=${id}>${label}</label>
      <button type="button" onClick=${copy}>${copied ? 'Copied' : `Copy ${label.toLowerCase()}`}</button>
    </div>
    ${
      isShort
        ? html`<input id=${id} ref=${field} readonly value=${text} />`
        : html`<textarea id=${id} ref=${field} readonly rows=${rows} value=${text}></textarea>`
    }
  </div>`;
}
