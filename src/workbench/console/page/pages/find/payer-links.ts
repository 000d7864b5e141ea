import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useState } from '#workbench/console/page/html.ts';
import {
  goTo,
  renderChoice,
  renderField,
  renderLastDayField,
  toExpiryAndWords,
} from '#workbench/console/page/parts/form.ts';
import { formatCount, formatDay } from '#workbench/console/page/parts/format.ts';
import { toPayerPath } from '#workbench/console/page/parts/links.ts';
import { formatSafeName, renderSafeName, renderSafeNames } from '#workbench/console/page/parts/name.ts';
import { renderAnswer } from '#workbench/console/page/parts/notice.ts';
import { declareNumberColumns, renderTable } from '#workbench/console/page/parts/table.ts';
import { chooseGroupTone, renderPill, VERDICT_STYLES } from '#workbench/console/page/parts/verdict.ts';
import {
  type ClientLinks,
  clientLinksQuestion,
  LISTS,
  listEntryQuestion,
} from '#workbench/console/page/questions.ts';
import type { PayerActionProps } from './payer-actions.ts';

type LinkedClient = ClientLinks['clients'][number];
type LinkedDevice = ClientLinks['devices'][number];

/**
 * The payers who share devices and addresses with a payer. The archive is read only when the reader wants
 * it.
 */
export function PayerLinks(acts: PayerActionProps) {
  const [isAsked, setIsAsked] = useState(false);
  const answer = useAnswer(isAsked ? clientLinksQuestion(acts.clientIdKey) : null);
  return html`<section class="card">
    <h2>Linked payers</h2>
    ${
      isAsked
        ? renderAnswer(answer, (links) => h(Linked, { links, ...acts }))
        : html`<button type="button" onClick=${() => setIsAsked(true)}>
            Show who shares devices or addresses
          </button>`
    }
  </section>`;
}

function Linked({ links, session, propose }: PayerActionProps & { links: ClientLinks }) {
  const { clients, devices, cut, complete, from } = links;
  const [chosen, setChosen] = useState(links.proposal.clients);
  const toggle = (one: string) =>
    setChosen(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one]);
  const left = [
    ...(complete ? [] : ['A part of the archive or the journal could not be read.']),
    ...(cut.clients === 0 ? [] : [`${formatCount(cut.clients, 'payer')} with weaker ties are not shown.`]),
    ...(cut.devices === 0 ? [] : [`${formatCount(cut.devices, 'device')} were not followed.`]),
  ];
  const cells = (one: LinkedClient) => renderClientCells(one, chosen.includes(one.clientIdKey), toggle);
  const picked = clients.filter((one) => chosen.includes(one.clientIdKey));
  return html`
    <p class="faint">
      Since ${formatDay(from)}. A tie by one address alone may be a neighbour. Chosen are those who are tied
      more
      closely and paid no more orders than they left unpaid or took back. ${left.join(' ')}
    </p>
    ${renderTable({ name: 'Linked payers', columns: CLIENT_COLUMNS }, clients, cells)}
    ${renderTable({ name: 'Devices and addresses', columns: DEVICE_COLUMNS }, devices, renderDeviceCells)}
    ${isAllowed(session, 'lists') && h(Block, { chosen: picked, propose })}`;
}

const CLIENT_COLUMNS = [
  'list',
  'payer',
  'tied by',
  ...declareNumberColumns('devices', 'paid', 'reversed', 'unpaid', 'turned away', 'unknown'),
  'paid of granted',
  'paid / reversed / unpaid',
  'answers',
];

const TIES = { self: 'the payer', device: 'device', addresses: 'addresses', address: 'one address' } as const;

function renderClientCells(one: LinkedClient, isChosen: boolean, toggle: (clientIdKey: string) => void) {
  const { clientIdKey, tie, orders, money, verdicts, override, lists } = one;
  const sums = Object.entries(money).map(
    ([currency, { paid, reversed, unpaid }]) => `${paid} / ${reversed} / ${unpaid} ${currency}`,
  );
  const answers = VERDICT_STYLES.flatMap(({ name }) =>
    verdicts[name] === 0 ? [] : `${name} ${verdicts[name]}`,
  );
  const { paid, reversed, unpaid, turnedAway, unknown } = orders;
  const granted = paid + reversed + unpaid + unknown;
  return [
    html`<input type="checkbox" aria-label=${`Choose ${formatSafeName(clientIdKey)}`} checked=${isChosen}
      onChange=${() => toggle(clientIdKey)} />`,
    html`<a href=${toPayerPath(clientIdKey)}>${renderSafeName(clientIdKey)}</a>
      ${override && html` ${renderPill(override, chooseGroupTone(override))}`}
      ${lists.map((name) => html` ${renderPill(`on ${name}`, 'note')}`)}`,
    ...[TIES[tie], one.devices.length],
    ...[paid, reversed, unpaid, turnedAway, unknown].map((number) => `${number}${one.cut ? '+' : ''}`),
    granted === 0 ? '–' : `${paid} of ${granted}`,
    ...[sums.join(', ') || '–', answers.join(', ') || '–'],
  ];
}

const DEVICE_COLUMNS = [
  'kind',
  'value for a list',
  ...declareNumberColumns('payers'),
  'first seen',
  'last seen',
  'blocking it refuses',
];

function renderDeviceCells({
  kind,
  value,
  clients,
  firstAt,
  lastAt,
  followed,
  refused,
  lists,
}: LinkedDevice) {
  const unknown = followed
    ? 'more payers than are shown'
    : 'too many payers to be a ring; nobody is linked by it';
  return [
    kind === 'ip' ? 'address' : 'device',
    html`<code>${value}</code>${lists.map((name) => html` ${renderPill(`on ${name}`, 'note')}`)}`,
    ...[
      clients,
      formatDay(firstAt),
      formatDay(lastAt),
      refused === null ? unknown : describeRefused(refused),
    ],
  ];
}

/** Describes the payers whom a block would refuse. */
function describeRefused({ clients, payers, orders, money }: LinkedDevice['refused'] & {}) {
  if (payers === 0) return `${formatCount(clients, 'payer')}, of whom none paid`;
  const sums = Object.entries(money).map(([currency, sum]) => `${sum} ${currency}`);
  const paid = `${formatCount(orders, 'order')}: ${sums.join(', ')}`;
  return `${formatCount(clients, 'payer')}, of whom ${payers} paid ${paid}`;
}

/**
 * Returns how many clients a list with these clients would refuse, how many of them paid, and what. The
 * counts are the same as the service's.
 */
function findRefusedBy(clients: readonly LinkedClient[]) {
  const payers = clients.filter(({ orders }) => orders.paid > 0);
  const money: Record<string, number> = {};
  for (const one of payers)
    for (const [currency, { paid }] of Object.entries(one.money))
      money[currency] = Number(((money[currency] ?? 0) + paid).toPrecision(12));
  const orders = payers.reduce((sum, one) => sum + one.orders.paid, 0);
  return { clients: clients.length, payers: payers.length, orders, money };
}

/** Puts the chosen payers on a list, after it has shown which paying payers the list would refuse. */
function Block({
  chosen,
  propose,
}: {
  chosen: readonly LinkedClient[];
  propose: PayerActionProps['propose'];
}) {
  const { data } = useAnswer(LISTS);
  const lists = data?.lists.filter(({ kind, ofInstallation }) => kind === 'client' && !ofInstallation) ?? [];
  if (chosen.length === 0) return html`<p>Nobody is chosen for a list.</p>`;
  const refuses = `${describeRefused(findRefusedBy(chosen))}.`;
  const payers = chosen.filter(({ orders }) => orders.paid > 0);
  const put = () =>
    propose({
      title: `Put ${formatCount(chosen.length, 'payer')} on a list?`,
      action: 'Put them on the list',
      tone: 'bad',
      act: async ({ list = '', reason, lastDay }) => {
        const { expires } = toExpiryAndWords(lastDay, '');
        for (const { clientIdKey } of chosen)
          await askService('PUT', listEntryQuestion(list, clientIdKey), { reason, ...expires });
        goTo(`#/settings/lists/${list}`);
      },
      children: html`<p>Where rules block who is on it, within 2 seconds this refuses ${refuses}</p>
        ${
          payers.length > 0 &&
          html`<p>They paid: ${renderSafeNames(payers.map((one) => one.clientIdKey))}.</p>`
        }
        ${renderChoice(
          'List',
          lists.map(({ list }) => list),
          { name: 'list' },
        )}
        ${renderField('Reason', { name: 'reason', required: true, maxlength: 500 })}
        ${renderLastDayField('until they are removed')}`,
    });
  return html`<p role="status">A list of those chosen refuses <b>${refuses}</b></p>
    ${
      lists.length === 0
        ? html`<p>There is no list of payers yet: <a href="#/settings/lists">make one</a>.</p>`
        : html`<button type="button" onClick=${put}>
            Put ${formatCount(chosen.length, 'payer')} on a list …
          </button>`
    }`;
}
