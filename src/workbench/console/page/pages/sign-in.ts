import { askService, ServiceRefusal } from '#workbench/console/page/api.ts';
import { h, html, listenOnWindow, useEffect, useRef } from '#workbench/console/page/html.ts';
import { onSubmit, renderField } from '#workbench/console/page/parts/form.ts';
import { renderIcon } from '#workbench/console/page/parts/icon.ts';
import { RefusalNotice, useAction } from '#workbench/console/page/parts/notice.ts';
import { SESSION, type Session, type SignIn, WAYS_TO_SIGN_IN } from '#workbench/console/page/questions.ts';

interface Entering {
  enter: (session: Session) => void;
  provider: SignIn['provider'];
}

interface EnteringAgain extends Entering {
  refusal: ServiceRefusal;
  leave: () => void;
}

/** Why signing in at the identity provider failed, by the word that the address has for it. */
const OUTCOMES: Readonly<Record<string, string>> = {
  refused: 'The provider did not sign you in, or it took too long. Try again.',
  'no-role': 'You have no role here. Ask the platform owner to give one to a group of yours.',
  away: 'The provider cannot be reached. Try again shortly, or use an access key.',
};

/** The page before anybody has signed in. */
export function SignInPage({ enter, provider }: Entering) {
  const outcome = OUTCOMES[new URLSearchParams(location.search).get('sign-in') ?? ''];
  return html`<main class="sign-in">
    <h1 class="brand">${renderIcon('Brand')}Client Scoring</h1>
    ${outcome && h(RefusalNotice, { error: new ServiceRefusal(401, outcome) })}
    ${h(WithProvider, { provider, target: '_self' })}
    ${h(WithKey, { enter })}
  </main>`;
}

/** A dialog over a page whose session ended. Typed text stays in the page. */
export function SignInAgain({ enter, provider, refusal, leave }: EnteringAgain) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // The provider is opened in another tab, because this one would lose the typed text.
    const look = () =>
      askService('GET', WAYS_TO_SIGN_IN)
        .then(({ session }) => session && enter(session))
        .catch(() => {});
    return listenOnWindow('focus', look);
  }, []);
  // Escape must not throw away typed text. If it is pressed twice, it closes even a dialog that cannot be
  // cancelled, so the dialog is opened again.
  const stay = {
    onCancel: (event: Event) => event.preventDefault(),
    onClose: () => dialog.current?.showModal(),
  };
  return html`<dialog ref=${dialog} class="sign-in-again" aria-labelledby="sign-in-again" ...${stay}>
    <h2 id="sign-in-again">Sign in again</h2>
    ${h(RefusalNotice, { error: refusal })}
    <p class="faint">What you typed stays as it is.</p>
    ${h(WithProvider, { provider, target: '_blank' })}
    ${h(WithKey, { enter })}
    <button type="button" onClick=${leave}>Leave this page</button>
  </dialog>`;
}

function WithProvider({ provider, target }: Pick<Entering, 'provider'> & { target: '_self' | '_blank' }) {
  if (provider === null) return null;
  const platform = new URLSearchParams(location.search).get('platform');
  const back = `${platform === null ? '' : `?platform=${platform}`}${location.hash}`;
  const href = `session/sign-in?back=${encodeURIComponent(back)}`;
  return html`<p><a class="button-accent" href=${href} target=${target}>Sign in at ${provider}</a></p>`;
}

function WithKey({ enter }: Pick<Entering, 'enter'>) {
  const { attempt, trouble } = useAction();
  const submit = onSubmit(({ key = '' }) =>
    attempt(async () => {
      const own = await askService('POST', SESSION, { key: key.trim() });
      // Signs in at the platform that the address names, if the key reaches it.
      enter(await askService('GET', SESSION).catch(() => own));
    }),
  );
  const key = {
    type: 'password',
    required: true,
    autocomplete: 'off',
    spellcheck: false,
    autofocus: true,
  } as const;
  return html`<p class="faint">
      An access key of your platform is exchanged for a session of this browser; the key is not kept.
    </p>
    <form onSubmit=${submit}>
      ${renderField(
        'Access key',
        { name: 'key', ...key },
        'Begins with ka_, issued by: npx scoring keys issue',
      )}
      <button type="submit" class="button-accent">Sign in</button>
    </form>
    ${trouble}`;
}
