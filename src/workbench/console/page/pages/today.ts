import { may, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useMemo } from '#workbench/console/page/html.ts';
import type { PageProps } from '#workbench/console/page/page-props.ts';
import { useProposal } from '#workbench/console/page/parts/confirm.ts';
import { count, counted, dateTime, duration, percent, share } from '#workbench/console/page/parts/format.ts';
import { answered } from '#workbench/console/page/parts/notice.ts';
import type { Time } from '#workbench/console/page/parts/time-span.ts';
import { figureList, VERDICTS } from '#workbench/console/page/parts/verdict.ts';
import type { Reporting, RolloutStatus, Session } from '#workbench/console/page/questions.ts';
import { exploration, OPEN_PROPOSALS, REPORTING, ROLLOUT_STATUS } from '#workbench/console/page/questions.ts';
import { Explored } from './today-chart.ts';
import { deciding, nodesTable, troubleOfNodes } from './today-versions.ts';
import type { Earlier, Exploration, View } from './today-view.ts';
import { exploredQuery, shareOf, sum, toDecisions, useEarlier, viewOf } from './today-view.ts';
import { WhyChanged } from './today-why.ts';

const EVERY_MS = 10_000;
const EVERY_MINUTE_MS = 60_000;

/** What is wrong first; then who decides, figures against earlier, what was decided, and why that changed. */
export function TodayPage({ session, place, time }: PageProps) {
  const view = useMemo(() => viewOf(place.query, time), [place.query.toString()]);
  const everyMs = pollMsOf(time);
  const mayCount = may(session, 'figures') || may(session, 'rules');
  const ofVerdicts = exploredQuery({ ...view, by: 'verdict', verdict: null, measure: 'count' });
  const asked = exploredQuery(view);
  const verdicts = useAnswer(mayCount ? exploration(ofVerdicts) : null, everyMs);
  const isSame = asked.toString() === ofVerdicts.toString();
  const other = useAnswer(mayCount && !isSame ? exploration(asked) : null, everyMs);
  const reporting = useAnswer(may(session, 'figures') ? REPORTING : null, EVERY_MS).data;
  const rollout = useAnswer(may(session, 'rules:read') ? ROLLOUT_STATUS : null, EVERY_MS);
  const status = rollout.data;
  const { propose, dialog } = useProposal(rollout.reload);
  const found = verdicts.data?.exploration ?? null;
  const earlier = useEarlier(found, view);
  return html`
    ${h(Wrong, { session, found, reporting, status })}
    ${status && deciding(status, session, propose)}
    ${mayCount && answered(verdicts, (all) => counts(all.exploration, view, reporting, earlier))}
    ${
      found &&
      answered(isSame ? verdicts : other, (all) => {
        const attributes = (reporting?.hints.attributes ?? []).map(({ name }) => name);
        const props = { found: all.exploration, view, session, status, attributes };
        const why = { ...props, found, earlier, propose };
        return h(Explored, props, h(WhyChanged, why));
      })
    }
    ${status && nodesTable(status)}
    ${dialog}
  `;
}

/** What is over does not change any more. */
function pollMsOf({ name, span }: Time) {
  if (span.to !== undefined || span.asOf !== undefined) return 0;
  return name === 'hour' || name === 'day' ? EVERY_MS : EVERY_MINUTE_MS;
}

interface WrongProps {
  session: Session;
  found: Exploration | null;
  reporting: Reporting | null;
  status: RolloutStatus | null;
}

/** What somebody has to look into before anything else. */
function Wrong({ session, found, reporting, status }: WrongProps) {
  // Figures come first.
  const asks = may(session, 'approve') && (found !== null || !may(session, 'figures'));
  const open = useAnswer(asks ? OPEN_PROPOSALS : null, EVERY_MINUTE_MS).data?.proposals ?? [];
  const waiting = open.filter(({ proposedBy }) => proposedBy !== session.who);
  const items = [
    reporting?.stopped && reportsStopped(reporting),
    ...(reporting === null ? [] : emptyHints(reporting.hints)),
    ...(status === null ? [] : troubleOfNodes(status)),
    ...(status?.trials ?? []).map(
      ({ version, breach }) => breach && html`<p><b>${version} does harm</b>: ${breach}</p>`,
    ),
    ...(found?.gaps ?? []).map(
      ({ from, to, entries }) => html`<p>
        About ${count(entries)} entries between ${dateTime(from)} and ${dateTime(to)} are lost.
      </p>`,
    ),
    ...(found?.unreadable ?? []).map(
      ({ from, to, decisions }) => html`<p>
        Not counted: ${counted(decisions, 'decision')} from ${dateTime(from)} on, to ${dateTime(to)},
        in a file that cannot be read now.
      </p>`,
    ),
    found?.upTo && html`<p>What was decided since ${dateTime(found.upTo)} is not counted yet.</p>`,
    waiting.length > 0 &&
      html`<p>
        <a href="#/settings/audit">${counted(waiting.length, 'proposal')}</a> of others for you to decide.
      </p>`,
  ].filter(Boolean);
  if (items.length === 0) return null;
  return html`<section class="notice notice-bad" role="alert">
    <h2 class="only-read">What is wrong</h2>
    ${items}
  </section>`;
}

/** So few requests say nothing about what a checkout sends. */
const SENT_MIN = 20;

const WHY_EMPTY = {
  placeholder: 'a text that stands for no value',
  notAnAddress: 'no address',
  notPublic: 'an address that many hosts have at the same time, like one of a proxy inside your network',
} as const;

const WHY_UNKNOWN = {
  type: 'of another type than declared',
  length: 'texts that are longer than declared',
  oneOf: 'none of the texts that are declared',
  range: 'numbers too large to be told apart',
} as const;

/** What callers send that says nothing about payers. */
function emptyHints({ ip, fingerprint, requests, placeholderClients, attributes }: Reporting['hints']) {
  const empty = [
    ['ip', ip],
    ['fingerprint', fingerprint],
  ] as const;
  return [
    ...empty.map(
      ([field, { sent, absent, why }]) =>
        why !== null &&
        sent >= SENT_MIN &&
        2 * absent > sent &&
        html`<p>
          <b>The ${field} of scores says nothing about payers.</b> In the last 24 hours ${count(absent)} of
          ${` ${count(sent)}`} were ${WHY_EMPTY[why]}, and count as absent: rules about shared ${
            field === 'ip' ? 'addresses' : 'devices'
          } do not see these payers.
        </p>`,
    ),
    placeholderClients > 0 &&
      html`<p>
        <b>Payers without an account are one payer to the rules.</b> In the last 24 hours
        ${` ${count(placeholderClients)}`} of ${count(requests)} requests had a clientIdKey like guest or
        undefined: send one of its own for each payer.
      </p>`,
    ...attributes.map(
      ({ name, sent, unknown, why }) =>
        why !== null &&
        html`<p>
          <b>Values of the attribute ${name} are not known to the rules.</b> In the last 24 hours
          ${` ${count(unknown)}`} of ${count(sent)} were ${WHY_UNKNOWN[why]}: rules that ask for it do not see
          these payers. Send what ruleset.yaml declares.
        </p>`,
    ),
  ];
}

function reportsStopped({ newestAt, awaited, awaitedSince, usualMs }: Reporting) {
  return html`<p>
    <b>Nothing is reported any more of what becomes of the orders.</b> The newest report came at
    ${` ${dateTime(newestAt ?? 0)}`}. Of the ${count(awaited)} orders that were granted since
    ${` ${dateTime(awaitedSince ?? 0)}`} nothing is known, and usually 95 % of the reports come within
    ${` ${duration(usualMs ?? 0)}`}. Until reports come again, the next orders of customers who paid are told
    to wait: look at what sends them to POST /v1/platform/outcomes.
  </p>`;
}

/** The figures of a time against the same time a day and a week earlier, each leading to its decisions. */
function counts(found: Exploration, view: View, reporting: Reporting | null, { day, week }: Earlier) {
  const decisions = sum(found.all);
  if (decisions === 0)
    return html`<p class="notice">
      No verdict in this time. When a checkout calls POST /v1/client/verdict, the figures fill; npm run demo
      shows a made-up day.
    </p>`;
  const items = VERDICTS.map(({ name }) => {
    const to = toDecisions(view, found, { verdict: name });
    const value = html`<a href=${to}>${percent(shareOf(found, name))}</a>`;
    const compared = [pointsSince(found, day, name, 'day'), pointsSince(found, week, name, 'week')];
    return [name, value, compared.filter(Boolean).join(', ')] as const;
  });
  const more = [timesSince(found, day, 'day'), timesSince(found, week, 'week')].filter(Boolean).join(', ');
  const unreported = reporting?.unreportedShare ?? null;
  return figureList([
    ['verdicts', html`<a href=${toDecisions(view, found, {})}>${count(decisions)}</a>`, more],
    ...items,
    ...(unreported === null
      ? []
      : [['unreported', percent(100 * unreported), 'of the orders of a week'] as const]),
  ]);
}

function pointsSince(found: Exploration, earlier: Exploration | null, verdict: string, ago: string) {
  if (earlier === null || sum(earlier.all) === 0) return null;
  const points = shareOf(found, verdict) - shareOf(earlier, verdict);
  return `${points < 0 ? '−' : '+'}${Math.abs(points).toFixed(1)} on a ${ago} ago`;
}

function timesSince(found: Exploration, earlier: Exploration | null, ago: string) {
  const before = earlier === null ? 0 : sum(earlier.all);
  return before === 0 ? null : `${share(sum(found.all), before)} of a ${ago} ago`;
}
