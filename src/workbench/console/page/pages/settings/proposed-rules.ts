import { estimateShare } from '#history/statistics/intervals.ts';
import { askService, isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { type Html, h, html, useEffect, useState } from '#workbench/console/page/html.ts';
import { ChangedSince, DraftDifferences } from '#workbench/console/page/parts/differences.ts';
import { formatInterval, renderNotes, useFollowedJob } from '#workbench/console/page/parts/evidence.ts';
import { formatCount, formatDateTime, groupDigits } from '#workbench/console/page/parts/format.ts';
import { toConsolePath, toVersionPath } from '#workbench/console/page/parts/links.ts';
import { RefusalNotice, renderAnswer } from '#workbench/console/page/parts/notice.ts';
import { renderPill } from '#workbench/console/page/parts/verdict.ts';
import {
  CHECK_DRAFT,
  type CheckedDraft,
  type Draft,
  EVIDENCE_JOBS,
  EVIDENCE_QUESTION,
  type OpenedRuleFolder,
  type Proposal,
  proposedDraftAsReleasedQuestion,
  ROLLOUT_STATUS,
  ruleFolderQuestion,
  type Session,
} from '#workbench/console/page/questions.ts';

/** The version that decides now, and the proposed one. */
interface Versions {
  readonly before: string;
  readonly after: string;
}

interface ProposedRulesProps {
  readonly proposal: Proposal;
  readonly versions: Versions;
  readonly session: Session;
}

/**
 * The things that an approver looks at first: the changes of a version, the results of its cases, its
 * figures on trial, and the answers that it would have given.
 */
export function ProposedVersionReview({
  proposal: { draft, subject, state },
  versions,
  session,
}: ProposedRulesProps) {
  const { before, after } = versions;
  if (state !== 'open') return draft === null ? h(ChangedSince, versions) : null;
  if (draft === null) return h(ProposedVersion, { ...versions, session });
  if (draft.platform === session.platform)
    return html`<p>
      See <a href=${toVersionPath(subject, 'changes', { before })}>what it changes</a>,
      ${' '}<a href=${toVersionPath(subject)}>its files and cases</a>, and
      ${' '}<a href=${toBacktestPath(versions)}>what it would have decided</a>.
    </p>`;
  return isAllowed(session, 'rules') && h(DraftAsReleased, { platform: draft.platform, before, after });
}

function renderPart(title: string, content: Html) {
  return html`<div><dt>${title}</dt><dd>${content}</dd></div>`;
}

/** What an approver sees of a version that lies in RULES_DIR. */
function ProposedVersion({ before, after, session }: Versions & { readonly session: Session }) {
  const folder = useAnswer(ruleFolderQuestion(after));
  return html`<dl class="evidence">
    ${renderPart('Difference', h(ChangedSince, { before, after }))}
    ${renderPart(
      'Cases',
      renderAnswer(
        folder,
        ({ coverage }) => html`${renderCasesInShort(coverage)}
          ${' '}<a href=${toVersionPath(after)}>Its files and cases</a>.`,
      ),
    )}
    ${renderPart('On trial', h(TrialInShort, { version: after }))}
    ${
      isAllowed(session, 'rules') &&
      renderPart('Backtest', h(BacktestInShort, { before, after, digest: folder.data?.digest ?? null }))
    }
  </dl>`;
}

/** What an approver sees of a platform's draft as it would be released. No folder has it yet. */
function DraftAsReleased({ platform, before, after }: Versions & { readonly platform: string }) {
  return renderAnswer(useAnswer(proposedDraftAsReleasedQuestion(after, platform)), (draft) =>
    h(CheckedAsReleased, { key: draft.revision, draft, before }),
  );
}

function CheckedAsReleased({ draft, before }: { readonly draft: Draft; readonly before: string }) {
  const { version, files } = draft;
  const [checked, setChecked] = useState<CheckedDraft | null>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    askService('POST', CHECK_DRAFT, { version, files }).then(setChecked, setError);
  }, []);
  return html`<dl class="evidence">
    ${renderPart('Difference', h(DraftDifferences, { version, files, before }))}
    ${renderPart(
      'Cases',
      html`<div role="status">
        ${error && h(RefusalNotice, { error })}
        ${!error && (checked === null ? 'Running …' : renderCasesInShort(checked.coverage))}
      </div>`,
    )}
    ${
      checked &&
      renderPart('Backtest', h(BacktestInShort, { before, after: version, digest: checked.digest }))
    }
    ${renderPart('Files', renderFiles(files))}
  </dl>`;
}

function renderFiles(files: Draft['files']) {
  const paths = Object.keys(files);
  return html`<details>
    <summary>${formatCount(paths.length, 'file')} as they would be released</summary>
    ${Object.entries(files).map(
      ([path, text]) => html`<details>
        <summary><code>${path}</code></summary>
        <pre class="scroll" tabindex="0">${text}</pre>
      </details>`,
    )}
  </details>`;
}

function renderCasesInShort(coverage: OpenedRuleFolder['coverage']) {
  if (coverage === null) return 'They cannot be run.';
  const { passed, failed } = coverage;
  const { rules, conditions } = coverage.coverage;
  const pill = failed > 0 ? renderPill(`${failed} failed`, 'bad') : renderPill(`${passed} passed`, 'good');
  return html`${pill} ${rules.tested} of ${rules.total} rules decided in a case; ${conditions.tested} of
    ${' '}${conditions.total} conditions were seen both true and false.`;
}

/**
 * What a version on trial does: its share of the clients, or how often its verdicts differ from those of
 * the active version.
 */
function TrialInShort({ version }: { readonly version: string }) {
  return renderAnswer(useAnswer(ROLLOUT_STATUS), ({ rollout, trials }) => {
    const candidate = rollout?.candidates.find((one) => one.version === version);
    const shadow = trials.find((one) => one.version === version)?.shadow;
    if (candidate === undefined) return 'It is not on trial, so nothing was compared yet.';
    const link = html`<a href=${toConsolePath('rollouts')}>Its trial</a>.`;
    const since = `since ${formatDateTime(candidate.since)}`;
    if (candidate.mode === 'canary')
      return html`It decides for ${candidate.percent} % of the clients ${since}. ${link}`;
    const { compared = 0, different = 0 } = shadow ?? {};
    if (compared === 0) return html`It is a shadow ${since}; nothing was compared yet. ${link}`;
    const share = formatInterval(estimateShare(different, compared));
    return html`
      ${groupDigits(different)} of ${groupDigits(compared)} verdicts differ ${since}: ${share}. ${link}`;
  });
}

interface BacktestInShortProps extends Versions {
  /** The digest of the files that would be released. Null if it is not known yet. */
  readonly digest: string | null;
}

/** The newest backtest of these files, in its own words, or a link to run one. */
function BacktestInShort({ digest, ...versions }: BacktestInShortProps) {
  const { data } = useAnswer(EVIDENCE_JOBS);
  const job = data?.jobs.find(
    ({ kind, state, options, ruleSets }) =>
      kind === 'backtest' &&
      state === 'done' &&
      options['version'] === versions.after &&
      ruleSets.some((one) => one.digest === digest),
  );
  const result = useFollowedJob(job?.jobId ?? null, EVIDENCE_QUESTION).data?.result ?? null;
  const href = toBacktestPath(versions);
  if (result === null) return html`<a href=${href}>Run it</a>, to see what it would have decided.`;
  const heads = [`${versions.after}: `, `${versions.after} opens `];
  const told = result.notes.filter((note) => heads.some((head) => note.startsWith(head)));
  return html`${renderNotes(told)} <a href=${href}>All of it</a>.`;
}

function toBacktestPath({ before, after }: Versions) {
  return toVersionPath(after, 'results', { kind: 'backtest', against: before });
}
