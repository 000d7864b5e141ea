import { askService, askServiceForText, isAllowed } from '#workbench/console/page/api.ts';
import { html } from '#workbench/console/page/html.ts';
import { type PlannedChange, renderReasonField } from '#workbench/console/page/parts/confirm.ts';
import { renderField, renderLastDayField, toExpiryAndWords } from '#workbench/console/page/parts/form.ts';
import { formatDateTime } from '#workbench/console/page/parts/format.ts';
import { formatSafeName } from '#workbench/console/page/parts/name.ts';
import { useAction } from '#workbench/console/page/parts/notice.ts';
import { saveFile } from '#workbench/console/page/parts/save-file.ts';
import type { ClientView, Decision, Session } from '#workbench/console/page/questions.ts';
import {
  clientErasureQuestion,
  clientMemberQuestion,
  waitEndQuestion,
} from '#workbench/console/page/questions.ts';

type Typed = Readonly<Record<string, string>>;

/** The payer, the session, and the function that asks for confirmation of a change. */
export interface PayerActionProps {
  clientIdKey: string;
  session: Session;
  propose: (change: PlannedChange<unknown>) => void;
}

/**
 * Renders a button for each change that the person may make to the payer now. The confirmation asks for
 * the values and says the effect. `wait` is the decision whose wait is due.
 */
export function renderActionButtons(
  { override, binding }: ClientView,
  wait: Decision | null,
  acts: PayerActionProps,
) {
  const { clientIdKey, session, propose } = acts;
  const nameTitle = (before: string) => ({ before, name: clientIdKey, after: '?' });
  const at = (what: 'override' | 'binding') => clientMemberQuestion(clientIdKey, what);
  const button = (words: string, change: PlannedChange<unknown>) =>
    html`<button type="button" onClick=${() => propose(change)}>${words} …</button>`;
  const end = {
    title: nameTitle('End the wait of'),
    action: 'End the wait',
    act: ({ reason }: Typed) =>
      askService('POST', waitEndQuestion(clientIdKey), { reason, decisionId: wait?.decisionId }),
    children: html`<p>Tell the payer to try again: the checkout does not learn of it by itself.</p>
      ${renderReasonField()}`,
  };
  const group = (name: 'BLOCKED' | 'TRUSTED', verb: string): PlannedChange<unknown> => ({
    title: nameTitle(verb),
    action: `${verb} the payer`,
    tone: name === 'BLOCKED' ? 'bad' : 'accent',
    act: ({ reason, lastDay }) =>
      askService('PUT', at('override'), { group: name, reason, ...toExpiryAndWords(lastDay, '').expires }),
    children: html`<p>From the next request on, the group is ${name}, whatever the rules say.</p>
      ${renderReasonField()}${renderLastDayField('until it is lifted')}`,
  });
  const lift = {
    title: nameTitle('Lift the override of'),
    action: 'Lift the override',
    act: () => askService('DELETE', at('override')),
    children: html`<p>From the next request on the rules decide the group again.</p>`,
  };
  const bind = {
    title: nameTitle('Bind'),
    action: 'Bind the payer',
    act: ({ lastDay, acceptors = '', ...body }: Typed) => {
      const acceptorKeys = acceptors.split(',').map((key) => key.trim());
      return askService('PUT', at('binding'), {
        ...body,
        acceptorKeys,
        ...toExpiryAndWords(lastDay, '').expires,
      });
    },
    children: html`<p>When no wait is due, the payer is shown this requisite again.</p>
      ${renderField('Requisite', { name: 'requisiteRef', required: true, maxlength: 256 })}
      ${renderField(
        'Acceptors',
        { name: 'acceptors', required: true },
        'One or more keys, separated by commas',
      )}
      ${renderField('Method', { name: 'method', maxlength: 256 }, 'Empty: it fits all methods')}
      ${renderLastDayField('until it is removed')}`,
  };
  const unbind = {
    title: nameTitle('Unbind'),
    action: 'Remove the binding',
    act: () => askService('DELETE', at('binding')),
    children: html`<p>The next attempt gets a new requisite.</p>`,
  };
  const mayDecide = isAllowed(session, 'clients');
  return html`
    ${wait && isAllowed(session, 'waits') && button('End the wait', end)}
    ${mayDecide && override?.group !== 'BLOCKED' && button('Block', group('BLOCKED', 'Block'))}
    ${mayDecide && override?.group !== 'TRUSTED' && button('Trust', group('TRUSTED', 'Trust'))}
    ${mayDecide && override !== null && button('Lift the override', lift)}
    ${mayDecide && button('Bind', bind)}
    ${mayDecide && binding !== null && button('Remove the binding', unbind)}`;
}

interface ExportOrEraseProps extends PayerActionProps {
  /** Is called after the erasure. `traces` says where data of the payer remain. It is null if none remain. */
  readonly onErased: (traces: string | null) => void;
}

/** Buttons for the two things that a payer may demand: a file with all data, and the erasure. */
export function ExportAndEraseButtons({ clientIdKey, session, propose, onErased: told }: ExportOrEraseProps) {
  const { attempt, isBusy, trouble } = useAction();
  const save = () =>
    attempt(async () => {
      const text = await askServiceForText(clientMemberQuestion(clientIdKey, 'export'));
      saveFile(`payer-${formatDateTime(Date.now()).slice(0, 10)}.json`, 'application/json', text);
    });
  const erase = () =>
    propose({
      title: { before: 'Erase', name: clientIdKey, after: '?' },
      action: 'Erase the payer',
      tone: 'bad',
      act: async ({ typed }) => {
        if (typed !== clientIdKey)
          throw new Error(`Type the name as it is, ${formatSafeName(clientIdKey)}. Nothing was erased.`);
        const left = await askService('DELETE', clientErasureQuestion(clientIdKey));
        told(left?.traces ?? null);
      },
      children: html`<p>
          Removes the payer from the store, the shared lists, the archive and the audit. This cannot be
          undone. The audit still says that a payer was erased.
        </p>
        ${renderField("The payer's name once more", { name: 'typed', required: true, autocomplete: 'off' })}`,
    });
  return html`<button type="button" disabled=${isBusy} onClick=${save}>
      ${isBusy ? 'Reading …' : 'Export'}
    </button>
    ${
      isAllowed(session, 'erase') &&
      html`<button type="button" class="button-bad" onClick=${erase}>Erase …</button>`
    }
    ${trouble}`;
}
