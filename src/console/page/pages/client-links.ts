import type { ClientLinks, Session } from '../answers.ts';
import { ask, may, useAnswer } from '../api.ts';
import { html, useState } from '../html.ts';
import type { Proposal } from '../parts/confirm.ts';
import { endAfter, Field, goTo, LastDay, sent } from '../parts/form.ts';
import { counted, dateTime, day } from '../parts/format.ts';
import { toClient } from '../parts/links.ts';
import { answered } from '../parts/notice.ts';
import { numbers, Table } from '../parts/table.ts';
import { inUtc, knownAt, MinuteField } from '../parts/time-span.ts';
import { groupTone, Pill, VERDICTS } from '../parts/verdict.ts';
import { clientLinks, listEntry } from '../questions.ts';

type LinkedClient = ClientLinks['clients'][number];

type LinkedDevice = ClientLinks['devices'][number];

type Propose = (change: Proposal<unknown>) => void;

interface LinksProps {
  clientIdKey: string;
  session: Session;
  propose: Propose;
}

/** Who shares devices and addresses with a client; the archive is asked only when somebody wants it. */
export function Links(props: LinksProps) {
  const [asked, setAsked] = useState<{ readonly asOf?: number } | null>(null);
  const show = sent((values) => setAsked(knownAt(inUtc(values)['asOf'])));
  return html`<section class="card">
    <h2>Links</h2>
    <form class="fields" onSubmit=${show}>
      <${MinuteField} label="as known at (empty: now)" name="asOf" minute=${null} />
      <button type="submit">Show who shares its devices</button>
    </form>
    ${asked && html`<${AskedLinks} key=${asked.asOf ?? 'now'} asOf=${asked.asOf} ...${props} />`}
  </section>`;
}

function AskedLinks({ clientIdKey, asOf, ...rest }: LinksProps & { asOf: number | undefined }) {
  const answer = useAnswer(clientLinks(clientIdKey, asOf));
  return answered(answer, (links) => html`<${ShownLinks} links=${links} ...${rest} />`);
}

function ShownLinks({ links, session, propose }: { links: ClientLinks; session: Session; propose: Propose }) {
  const { clients, devices, cut, complete, from, asOf } = links;
  const [chosen, setChosen] = useState(links.proposal.clients);
  const toggle = (one: string) =>
    setChosen(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one]);
  const left = [
    ...(asOf === undefined ? [] : [`As known at ${dateTime(asOf.at)}; lists are those of now.`]),
    ...(asOf?.erasedPayers ? [`${counted(asOf.erasedPayers, 'payer')} erased since were known then.`] : []),
    ...(complete ? [] : ['A part of the archive or the journal could not be read.']),
    ...(cut.clients === 0 ? [] : [`${counted(cut.clients, 'client')} with weaker ties are not shown.`]),
    ...(cut.devices === 0 ? [] : [`${counted(cut.devices, 'device')} were not followed.`]),
  ];
  const picked = clients.filter((one) => chosen.includes(one.clientIdKey));
  return html`
    <p class="faint">
      Since ${day(from)}. A tie by one address alone may be a neighbour. Chosen are those who are tied more
      closely and paid no more orders than they left unpaid or took back. ${left.join(' ')}
    </p>
    <${Table} name="Linked clients" columns=${CLIENT_COLUMNS}
      rows=${clients.map((one) => clientCells(one, chosen.includes(one.clientIdKey), toggle))} />
    <${Table} name="Devices and addresses" columns=${DEVICE_COLUMNS} rows=${devices.map(deviceCells)} />
    ${may(session, 'lists') && html`<${BlockForm} chosen=${picked} propose=${propose} />`}`;
}

const CLIENT_COLUMNS = [
  'list',
  'client',
  'tied by',
  ...numbers('devices', 'paid', 'reversed', 'unpaid', 'turned away', 'unknown'),
  'paid of granted',
  'paid / reversed / unpaid',
  'answers',
];

const TIES = {
  self: 'the client',
  device: 'device',
  addresses: 'addresses',
  address: 'one address',
} as const;

function clientCells(one: LinkedClient, isChosen: boolean, toggle: (clientIdKey: string) => void) {
  const { clientIdKey, tie, orders, money, verdicts, override, lists } = one;
  const sums = Object.entries(money).map(
    ([currency, { paid, reversed, unpaid }]) => `${paid} / ${reversed} / ${unpaid} ${currency}`,
  );
  const answers = VERDICTS.flatMap(({ name }) => (verdicts[name] === 0 ? [] : `${name} ${verdicts[name]}`));
  const { paid, reversed, unpaid, turnedAway, unknown } = orders;
  const granted = paid + reversed + unpaid + unknown;
  return [
    html`<input type="checkbox" aria-label=${`Choose ${clientIdKey}`} checked=${isChosen}
      onChange=${() => toggle(clientIdKey)} />`,
    html`<a href=${toClient(clientIdKey)}>${clientIdKey}</a>
      ${override && html` <${Pill} tone=${groupTone(override)}>${override}<//>`}
      ${lists.map((name) => html` <${Pill} tone="note">on ${name}<//>`)}`,
    ...[TIES[tie], one.devices.length],
    ...[paid, reversed, unpaid, turnedAway, unknown].map((number) => `${number}${one.cut ? '+' : ''}`),
    granted === 0 ? '–' : `${paid} of ${granted}`,
    ...[sums.join(', ') || '–', answers.join(', ') || '–'],
  ];
}

const DEVICE_COLUMNS = [
  'kind',
  'value for a list',
  ...numbers('clients'),
  'first seen',
  'last seen',
  'blocking it refuses',
];

function deviceCells({ kind, value, clients, firstAt, lastAt, followed, refused, lists }: LinkedDevice) {
  const unknown = followed
    ? 'more clients than are shown'
    : 'too many clients to be a ring; nobody is linked by it';
  return [
    kind === 'ip' ? 'address' : 'device',
    html`<code>${value}</code>${lists.map((name) => html` <${Pill} tone="note">on ${name}<//>`)}`,
    ...[clients, day(firstAt), day(lastAt), refused === null ? unknown : refusedText(refused)],
  ];
}

/** Which payers a block hits. */
function refusedText({ clients, payers, orders, money }: LinkedDevice['refused'] & {}) {
  if (payers === 0) return `${counted(clients, 'client')}, of whom none paid`;
  const sums = Object.entries(money).map(([currency, sum]) => `${sum} ${currency}`);
  const paid = `${counted(orders, 'order')}: ${sums.join(', ')}`;
  return `${counted(clients, 'client')}, of whom ${payers} paid ${paid}`;
}

/** Paying clients whom a list of these would refuse, in the service's words. */
function refusedBy(clients: readonly LinkedClient[]) {
  const payers = clients.filter(({ orders }) => orders.paid > 0);
  const money: Record<string, number> = {};
  for (const one of payers)
    for (const [currency, { paid }] of Object.entries(one.money))
      money[currency] = Number(((money[currency] ?? 0) + paid).toPrecision(12));
  const orders = payers.reduce((sum, one) => sum + one.orders.paid, 0);
  return { clients: clients.length, payers: payers.length, orders, money };
}

/** Puts the chosen clients on a list, and first shows which payers that would hit. */
function BlockForm({ chosen, propose }: { chosen: readonly LinkedClient[]; propose: Propose }) {
  const refuses = `${refusedText(refusedBy(chosen))}.`;
  const put = sent(({ list = '', reason = '', lastDay }) => {
    const { expires, howLong } = endAfter(lastDay, 'until somebody removes them');
    const payers = chosen.filter(({ orders }) => orders.paid > 0);
    propose({
      title: `Put ${counted(chosen.length, 'client')} on ${list}?`,
      action: 'Put them on the list',
      tone: 'bad',
      act: async () => {
        for (const { clientIdKey } of chosen)
          await ask('PUT', listEntry(list, clientIdKey), { reason, ...expires });
        goTo(`#/settings/lists/${list}`);
      },
      children: html`
        <p>Where rules block who is on ${list}, within 2 seconds this refuses ${refuses}</p>
        ${payers.length > 0 && html`<p>They paid: ${payers.map((one) => one.clientIdKey).join(', ')}.</p>`}
        <p>They stay on it${howLong}. Reason: ${reason}</p>
      `,
    });
  });
  if (chosen.length === 0) return html`<p>Nobody is chosen for a list.</p>`;
  return html`<form onSubmit=${put}>
    <p role="status">A list of those chosen refuses <b>${refuses}</b></p>
    <div class="fields">
      <${Field} label="List" hint="Of clients; the name that rules use">
        <input name="list" required maxlength="64" pattern="[a-z][a-z0-9]*(-[a-z0-9]+)*" />
      <//>
      <${Field} label="Reason"><input name="reason" required maxlength="500" /><//>
      <${LastDay} otherwise="until they are removed" />
    </div>
    <button type="submit" class="button-accent">Put ${counted(chosen.length, 'client')} on a list …</button>
  </form>`;
}
