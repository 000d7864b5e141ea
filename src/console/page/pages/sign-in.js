import { ask, Refusal } from '../api.js';
import { html, useEffect, useRef, useState } from '../html.js';
import { Field, formValues } from '../parts/form.js';
import { Trouble } from '../parts/notice.js';
import { SESSION } from '../questions.js';

/**
 * @import { Session } from '../answers.d.ts'
 * @import { FormEvent } from '../parts/form.js'
 */

/** @typedef {{ enter: (session: Session) => void }} Entering */

/** Before anybody has signed in. @param {Entering} props */
export function SignInPage({ enter }) {
  return html`<main class="sign-in">
    <h1>Client Scoring</h1>
    <${WithKey} enter=${enter} />
  </main>`;
}

/**
 * Over a page whose session ended: what was typed there stays.
 * @param {Entering & { refusal: Refusal, leave: () => void }} props
 */
export function SignInAgain({ enter, refusal, leave }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} class="sign-in-again" aria-labelledby="sign-in-again" onCancel=${leave}>
    <h2 id="sign-in-again">Sign in again</h2>
    <${Trouble} error=${refusal} />
    <p class="faint">What you typed stays as it is.</p>
    <${WithKey} enter=${enter} />
    <button type="button" onClick=${leave}>Leave this page</button>
  </dialog>`;
}

/** @param {Entering} props */
function WithKey({ enter }) {
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const submit = (/** @type {FormEvent} */ event) => {
    const { key = '' } = formValues(event);
    setError(null);
    ask('POST', SESSION, { key: key.trim() }).then(enter, setError);
  };
  return html`<p class="faint">
      An access key of your platform is exchanged for a session of this browser; the key is not kept.
    </p>
    <form onSubmit=${submit}>
      <${Field} label="Access key" hint="Begins with ka_, issued by: npx scoring keys issue">
        <input name="key" type="password" required autocomplete="off" spellcheck="false" autofocus />
      <//>
      <button type="submit" class="button-accent">Sign in</button>
    </form>
    ${error && html`<${Trouble} error=${error} />`}`;
}
