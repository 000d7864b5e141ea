import type { AnswerState } from '#workbench/console/page/api.ts';
import { type Html, h, html, useState } from '#workbench/console/page/html.ts';

/** Says that there is nothing, and what to do about it. */
export function renderEmpty(title: string, words: Html) {
  return html`<div class="empty"><strong>${title}</strong><p>${words}</p></div>`;
}

export function Loading() {
  return html`<p class="faint" role="status">Loading …</p>`;
}

interface TroubleProps {
  error: Error & { readonly status?: number };
  retry?: () => void;
}

/** Shows a refusal in the service's own words, with a button to try again. */
export function RefusalNotice({ error, retry }: TroubleProps) {
  return html`<div class="notice notice-bad" role="alert">
    <strong>${chooseTitle(error.status)}</strong>
    <p>${error.message}</p>
    ${retry && error.status !== 400 && html`<button type="button" onClick=${retry}>Try again</button>`}
  </div>`;
}

/** Renders an answer when it is there. Until then, renders that the answer is loading, or what is wrong. */
export function renderAnswer<T>({ data, error, reload }: AnswerState<T>, shown: (data: T) => Html) {
  const trouble = error && h(RefusalNotice, { error, retry: reload });
  if (data === null) return trouble ?? h(Loading, {});
  return html`${trouble}${shown(data)}`;
}

/**
 * Runs an action that may be refused. `attempt` runs the action, `isBusy` is true while it runs, and
 * `trouble` is the notice that says why it failed.
 */
export function useAction() {
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const attempt = (act: () => Promise<unknown>) => {
    setIsBusy(true);
    setError(null);
    act()
      .catch(setError)
      .finally(() => setIsBusy(false));
  };
  return { attempt, isBusy, trouble: error && h(RefusalNotice, { error }) };
}

/** Chooses the title of a refusal. `status` is undefined for an error that is no answer of the service. */
function chooseTitle(status: number | undefined) {
  switch (status) {
    case 202:
      return 'Nothing was changed yet';
    case 0:
      return 'No connection';
    case 403:
      return 'Not granted';
    case 404:
      return 'Not found';
    case 409:
      return 'Refused';
    default:
      return status !== undefined && status >= 500 ? 'The service has trouble' : 'The request was refused';
  }
}

/** Says that the stored rollout is damaged. Versions may decide nevertheless. */
export function UnreadableRollout() {
  return renderEmpty(
    'The rollout cannot be read',
    html`What the store holds is damaged. The nodes continue with what they have; this rewrites it from them:
    ${' '}<code>npx scoring rules rollback --reason TEXT</code>`,
  );
}
