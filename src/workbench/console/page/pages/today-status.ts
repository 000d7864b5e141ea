import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, html, useMemo } from '#workbench/console/page/html.ts';
import {
  formatCount,
  formatDateTime,
  formatDuration,
  formatPercent,
  groupDigits,
} from '#workbench/console/page/parts/format.ts';
import { toThisPageWithParameters } from '#workbench/console/page/parts/time-span.ts';
import {
  compareWithUsualShares,
  toUsualHoursQuery,
  type UnusualVerdictShare,
} from '#workbench/console/page/parts/unusual-share.ts';
import {
  explorationQuestion,
  OPEN_PROPOSALS,
  type Reporting,
  type RolloutStatus,
  type Session,
} from '#workbench/console/page/questions.ts';
import { renderNodeTrouble } from './today-versions.ts';
import type { ExploredCounts } from './today-view.ts';

const EVERY_MINUTE_MS = 60_000;

interface StateProps {
  session: Session;
  found: ExploredCounts | null;
  reporting: Reporting | null;
  status: RolloutStatus | null;
}

/** Says in one sentence that all is well, or shows the troubles, each with what to do about it. */
export function TodayStatus({ session, found, reporting, status }: StateProps) {
  // Proposals are requested only after the figures.
  const isAsked = found !== null || !isAllowed(session, 'figures');
  const asks = isAllowed(session, 'approve') && isAsked;
  const open = useAnswer(asks ? OPEN_PROPOSALS : null, EVERY_MINUTE_MS).data?.proposals ?? [];
  const waiting = open.filter(({ proposedBy }) => proposedBy !== session.who);
  const query = useMemo(() => toUsualHoursQuery(Date.now()), [Math.floor(Date.now() / EVERY_MINUTE_MS)]);
  const hours = useAnswer(found === null ? null : explorationQuestion(query), EVERY_MINUTE_MS).data
    ?.exploration;
  const compared = hours === undefined ? null : compareWithUsualShares(hours);
  const unusual = compared?.unusual ?? null;
  const cause = useCause(unusual);
  const wrong = [
    unusual && renderUnusualShare(unusual, cause),
    ...listOutcomeFaults(reporting),
    ...listVersionFaults(status),
    ...listCountFaults(found),
  ].filter(Boolean);
  const proposals = waiting.length > 0 && renderProposalsNote(waiting.length);
  if (wrong.length > 0)
    return html`<section class="notice notice-bad" role="alert">
      <h2 class="only-read">What is wrong</h2>
      ${wrong}${proposals}
    </section>`;
  const known = [
    compared !== null && 'the shares of verdicts are as usual at this time of day',
    reporting !== null && reporting.newestAt !== null && 'outcomes arrive',
    describeFollowing(status),
  ].filter((words) => typeof words === 'string');
  return html`${
    known.length > 0 && html`<p class="all-well" role="status"><b>All well</b>: ${joinSentence(known)}.</p>`
  }
  ${proposals && html`<section class="notice notice-note">${proposals}</section>`}`;
}

function describeFollowing(status: RolloutStatus | null) {
  if (!status?.nodes) return null;
  return status.nodes.length === 1 ? 'the node follows the rollout' : 'all nodes follow the rollout';
}

function joinSentence(parts: readonly string[]) {
  return parts.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/**
 * Finds what contributes most to a share that left its usual range, compared with the same hours a day
 * earlier.
 */
function useCause(unusual: UnusualVerdictShare | null) {
  const query = useMemo(() => {
    if (unusual === null) return null;
    const { verdict, from } = unusual;
    const at = (ms: number) => new Date(ms).toISOString();
    const [to, agoMs] = [Date.now(), 86_400_000];
    return new URLSearchParams({
      verdict,
      ...{ from: at(from), to: at(to), againstFrom: at(from - agoMs), againstTo: at(to - agoMs) },
    });
  }, [unusual?.verdict, unusual?.from]);
  const { data } = useAnswer(query === null ? null : explorationQuestion(query));
  const contributions = data?.exploration.change?.contributions ?? [];
  return contributions.find(({ dimension }) => dimension === 'rule') ?? contributions[0] ?? null;
}

function renderUnusualShare(
  { verdict, share, usual }: UnusualVerdictShare,
  cause: { readonly dimension: string; readonly value: string } | null,
) {
  const points = Math.abs(share - usual).toFixed(1);
  const where = share > usual ? 'above' : 'below';
  const way = toThisPageWithParameters({ verdict, by: cause?.dimension ?? 'rule', span: 'day' });
  return html`<p>
    <b>${verdict} is ${formatPercent(share)} of the verdicts, ${points} points ${where} the same hours of the
    last eight days.</b>${' '}
    ${cause && html`Most of it comes from the ${cause.dimension} <b>${cause.value}</b>. `}
    <a href=${way}>See what changed</a>, and take the version back if it is the cause.
  </p>`;
}

function renderProposalsNote(proposals: number): Html {
  return html`<p>
    <a href="#/settings/audit">${formatCount(proposals, 'proposal')}</a> for you to decide.
  </p>`;
}

function listVersionFaults(status: RolloutStatus | null): readonly Html[] {
  if (status === null) return [];
  return [
    ...renderNodeTrouble(status),
    ...status.trials.map(
      ({ version, breach }) =>
        breach && html`<p><b>${version} does harm</b>: ${breach}. <a href="#/rollouts">Take it back</a>.</p>`,
    ),
  ];
}

function listCountFaults(found: ExploredCounts | null): readonly Html[] {
  if (found === null) return [];
  return [
    ...found.gaps.map(
      ({ from, to, entries }) => html`<p>
        About ${groupDigits(entries)} entries between
        ${` ${formatDateTime(from)}`} and ${formatDateTime(to)} are lost.
      </p>`,
    ),
    ...found.unreadable.map(
      ({ from, to, decisions }) => html`<p>
        ${formatCount(decisions, 'decision')} between
        ${` ${formatDateTime(from)}`} and ${formatDateTime(to)} are not
        counted: their file cannot be read now.
      </p>`,
    ),
    found.upTo && html`<p>Decisions since ${formatDateTime(found.upTo)} are not counted yet.</p>`,
  ];
}

function listOutcomeFaults(reporting: Reporting | null): readonly Html[] {
  if (reporting === null) return [];
  return [reporting.stopped && renderStoppedReports(reporting), ...renderEmptyHints(reporting.hints)];
}

/** If a field was sent in fewer requests, nothing is said about its values. */
const SENT_MIN = 20;

const WHY_EMPTY = {
  placeholder: 'a text that stands for no value',
  notAnAddress: 'no address',
  notPublic: 'an address of a network inside, like that of a proxy',
} as const;

const WHY_UNKNOWN = {
  type: 'of another type than declared',
  length: 'texts that are longer than declared',
  oneOf: 'none of the texts that are declared',
  range: 'numbers too large to be told apart',
} as const;

/** Describes the fields in which callers send values that say nothing about payers. */
function renderEmptyHints({ ip, fingerprint, requests, placeholderClients, attributes }: Reporting['hints']) {
  const empty = [
    ['ip', ip],
    ['fingerprint', fingerprint],
  ] as const;
  return [
    ...empty.map(
      ([name, { sent, absent, why }]) =>
        why !== null &&
        sent >= SENT_MIN &&
        2 * absent > sent &&
        html`<p>
          <b>The ${name} of scores says nothing about payers.</b> In the last 24 hours
          ${` ${groupDigits(absent)}`} of ${groupDigits(sent)} were ${WHY_EMPTY[why]}. Rules about shared
          ${name === 'ip' ? ' addresses' : ' devices'} do not see these payers: send the payer's own.
        </p>`,
    ),
    placeholderClients > 0 &&
      html`<p>
        <b>Payers without an account are one payer to the rules.</b> In the last 24 hours
        ${` ${groupDigits(placeholderClients)}`} of ${groupDigits(requests)} requests had a clientIdKey
        like guest or undefined. Send one of its own for each payer.
      </p>`,
    ...attributes.map(
      ({ name, sent, unknown, why }) =>
        why !== null &&
        html`<p>
          <b>Values of the attribute ${name} are not known to the rules.</b> In the last 24 hours
          ${` ${groupDigits(unknown)}`} of ${groupDigits(sent)} were ${WHY_UNKNOWN[why]}. Rules that ask for
          it do not see these payers: send what ruleset.yaml declares.
        </p>`,
    ),
  ];
}

function renderStoppedReports({ newestAt, awaited, awaitedSince, usualMs }: Reporting) {
  return html`<p>
    <b>Outcomes of orders are not reported any more.</b> The newest report came at
    ${` ${formatDateTime(newestAt ?? 0)}`}. Nothing is known
    of the ${groupDigits(awaited)} orders that were granted since
    ${` ${formatDateTime(awaitedSince ?? 0)}`}, and 95 % of the reports usually come within
    ${` ${formatDuration(usualMs ?? 0)}`}. Customers who paid will be told to wait. Look at what sends reports
    to POST /v1/platform/outcomes.
  </p>`;
}
