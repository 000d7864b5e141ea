import { askService, useAnswer } from '#workbench/console/page/api.ts';
import { h, html, useEffect, useState } from '#workbench/console/page/html.ts';
import type {
  Draft,
  OpenedRuleFolder,
  RewrittenCases,
  RuleDiff,
  Session,
} from '#workbench/console/page/questions.ts';
import { DRAFT_DIFF, REWRITE_CASES, ruleDiffQuestion } from '#workbench/console/page/questions.ts';
import { formatCount, formatFact } from './format.ts';
import { toVersionPath } from './links.ts';
import { Loading, RefusalNotice, renderAnswer, useAction } from './notice.ts';
import { renderPill, type Tone } from './verdict.ts';
import { replaceFileText, type WorkingCopy } from './working-copy.ts';

type Example = RuleDiff['examples'][number];

const LISTED_AT_FIRST = 4;

/** The differences between a version and the one before it, in a few lines. */
export function ChangedSince({ before, after }: { before: string; after: string }) {
  return renderAnswer(useAnswer(ruleDiffQuestion(before, after)), ({ differences }) => {
    if (differences.length === 0) return html`<span class="faint">decides like ${before}</span>`;
    const more = differences.length - LISTED_AT_FIRST;
    const all = toVersionPath(after, 'changes', { before });
    return html`<ul class="plain">
        ${differences.slice(0, LISTED_AT_FIRST).map(({ text }) => html`<li>${renderArrows(text)}</li>`)}
      </ul>
      <span class="faint">since ${before}${more > 0 && html`, and <a href=${all}>${more} more</a>`}</span>`;
  });
}

/** The differences between a draft and a version, with payers to whom the two give different answers. */
export function DraftDifferences({ version, files, before, isOutdated = false }: ComparedDraftProps) {
  const [known, setKnown] = useState((): Compared => ({ files: null, diff: null, error: null }));
  useEffect(() => {
    let left = false;
    askService('POST', DRAFT_DIFF, { version, files, before }).then(
      (diff) => left || setKnown({ files, diff, error: null }),
      (error) => left || setKnown((former) => ({ ...former, files, error })),
    );
    return () => {
      left = true;
    };
  }, [files]);
  const { diff, error } = known;
  if (diff === null) return error ? h(RefusalNotice, { error }) : h(Loading, {});
  const isStale = isOutdated || error !== null || known.files !== files;
  return html`${error && h(RefusalNotice, { error })}
    <div class=${isStale ? 'stale' : undefined}>
      ${isStale && html`<p class="faint" role="status">${error ? FORMER : STALE}</p>`}
      ${renderDifferences(diff)}
    </div>`;
}

const FORMER = 'Differences of the draft before its last change.';
const STALE = `${FORMER.slice(0, -1)}; the new ones are on their way.`;

interface ComparedDraftProps extends Pick<Draft, 'version' | 'files'> {
  readonly before: string;
  /** Whether the draft was changed and its new files are on their way. */
  readonly isOutdated?: boolean;
}

interface Compared {
  /** The texts that were compared last. */
  readonly files: Draft['files'] | null;
  readonly diff: RuleDiff | null;
  readonly error: Error | null;
}

/** The differences between two versions, with payers to whom the two give different answers. */
export function renderDifferences({ before, after, differences, examples, note }: RuleDiff) {
  const parts = Map.groupBy(differences, ({ part }) => part);
  return html`<div role="status" class="answers">
    ${[...parts].map(
      ([part, ofPart]) => html`<h3>${part}</h3>
        <ul class="plain">
          ${ofPart.map(
            ({ kind, text }) => html`<li>
              ${renderPill(kind, TONES[kind] ?? 'note')} ${renderArrows(text)}
            </li>`,
          )}
        </ul>`,
    )}
    ${differences.length > 0 && html`<h3>Payers</h3>`}
    <p>${note}</p>
    <ol class="examples">
      ${examples.map(
        ({ facts, before: was, after: is }) => html`<li>
          <p>${renderFacts(facts)}</p>
          <p class="compared">
            <b>${before}</b> <span>${was.text}</span>
            <b>${after}</b> <span>${is.text}</span>
          </p>
        </li>`,
      )}
    </ol>
  </div>`;
}

function renderArrows(text: string) {
  return text.replaceAll(' -> ', ' → ');
}

const TONES: Readonly<Record<string, Tone>> = { added: 'good', removed: 'bad' };

function renderFacts(facts: Example['facts']) {
  const named = Object.entries(facts);
  if (named.length === 0) return 'an ordinary first request';
  return named.map(([label, value]) => html`<code class="fact">${label} = ${formatFact(value)}</code>${' '}`);
}

type CasesRun = NonNullable<OpenedRuleFolder['coverage']>;

interface CasesOfDraft {
  copy: WorkingCopy;
  change: (copy: WorkingCopy) => void;
}

/**
 * The results of a version's cases: failed ones first, then what the cases leave untested. `draft` lets
 * the person rewrite the cases of a draft.
 */
export function renderCaseResults(
  { passed, failed, failures, coverage }: CasesRun,
  { platform }: Session,
  draft: CasesOfDraft | null = null,
) {
  const { rules, conditions, untestedRules, oneSidedConditions } = coverage;
  return html`<section class="card">
    <h2>Cases ${renderCasesPill(passed, failed)}</h2>
    ${platform !== '*' && html`<p class="faint">Cases of other platforms are not shown or counted.</p>`}
    ${failures.map(renderFailure)}
    ${failed > 0 && draft && h(NewLengths, { key: draft.copy.files, ...draft })}
    ${failed > failures.length && html`<p class="faint">And ${failed - failures.length} more.</p>`}
    <div class="two">
      ${renderCoverage('rules that decided in a case', rules)}
      ${renderCoverage('conditions seen both true and false', conditions)}
    </div>
    ${renderFolded(
      `${formatCount(untestedRules.length, 'rule')} without a test`,
      untestedRules.map(({ name, at }) => html`<li>${name} <code>${at.file}:${at.line}</code></li>`),
    )}
    ${renderFolded(
      `${formatCount(oneSidedConditions.length, 'condition')} tested one way only`,
      oneSidedConditions.map(
        ({ rule, condition, missing }) => html`<li>${rule}: <code>${condition}</code> never ${missing}</li>`,
      ),
    )}
  </section>`;
}

function renderFolded(title: string, lines: readonly unknown[]) {
  if (lines.length === 0) return null;
  return html`<details><summary>${title}</summary><ul class="plain">${lines}</ul></details>`;
}

function renderCasesPill(passed: number, failed: number) {
  if (passed + failed === 0)
    return html`<span class="faint">There is no cases/*.yaml in this version.</span>`;
  if (failed === 0) return renderPill(`${passed} passed`, 'good');
  return html`${renderPill(`${failed} failed`, 'bad')} ${passed} passed`;
}

function renderCoverage(name: string, { tested, total, percent }: CasesRun['coverage']['rules']) {
  return html`<p class="coverage">
    <span>${name}</span>
    <span class="bar"><i style=${{ width: `${percent}%` }}></i></span>
    <b class="num">${tested} of ${total}</b>
  </p>`;
}

function renderFailure({ caseName, at, lines }: CasesRun['failures'][number]) {
  return html`<details>
    <summary><span class="bad">✗</span> ${caseName} <code>${at.file}:${at.line}</code></summary>
    <pre class="scroll" tabindex="0">${lines.join('\n')}</pre>
  </details>`;
}

/**
 * Writes the draft's answers into cases that fail only by the length of a wait, after a person has seen
 * them.
 */
function NewLengths({ copy, change }: CasesOfDraft) {
  const [found, setFound] = useState<RewrittenCases | null>(null);
  const { attempt, trouble } = useAction();
  const { version, files } = copy;
  const look = () => attempt(() => askService('POST', REWRITE_CASES, { version, files }).then(setFound));
  const write = () =>
    change(
      Object.entries(found?.files ?? {}).reduce(
        (all, [path, text]) => replaceFileText(all, path, text),
        copy,
      ),
    );
  return html`<div class="buttons">
      <button type="button" onClick=${look}>Show new lengths of waits</button>
      ${
        found &&
        found.lines.length > 0 &&
        html`<button type="button" class="button-accent" onClick=${write}>
          Write ${formatCount(found.lines.length, 'line')} into the cases
        </button>`
      }
    </div>
    ${trouble}
    <div role="status">${found && renderRewritten(found)}</div>`;
}

function renderRewritten({ lines, left }: RewrittenCases) {
  return html`${lines.length === 0 && html`<p>No case fails by the length of a wait alone.</p>`}
    ${
      lines.length > 0 &&
      html`<pre class="scroll" tabindex="0">
${lines.map(renderRewrittenLine).join('')}</pre
      >`
    }
    ${
      left > 0 &&
      html`<p class="faint">Failing by more than that, and left: ${formatCount(left, 'case')}.</p>`
    }`;
}

function renderRewrittenLine({ file, line, before, after }: RewrittenCases['lines'][number]) {
  return `${file}:${line}\n- ${before.trim()}\n+ ${after.trim()}\n`;
}
