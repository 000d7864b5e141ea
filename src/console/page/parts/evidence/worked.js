import { ask, useAnswer, useHealing } from '../../api.js';
import { html, useEffect, useState } from '../../html.js';
import { evidenceJob } from '../../questions.js';
import { count, share } from '../format.js';
import { Loading, Trouble } from '../notice.js';

/**
 * @import { EvidenceJob, Worked } from '../../answers.d.ts'
 * @import { Answer, Question, Refusal } from '../../api.js'
 * @import { Html } from '../../html.js'
 */

const FOLLOW_MS = 1000;

/**
 * What was asked for and how far it is; `again` asks once more.
 * @template Result
 * @typedef {{ answer: Answer<Worked<Result>>, refusal: Refusal | null, again: () => void }} Evidence
 */

/**
 * Evidence for a body, asked for whenever the body changes and followed until it is there. Null asks nothing.
 * @template Result
 * @param {Question<EvidenceJob>} question
 * @param {object | null} body
 * @returns {Evidence<Result>}
 */
export function useEvidence(question, body) {
  const wanted = body === null ? null : JSON.stringify(body);
  const [asked, setAsked] = useState(() => nothingAsked());
  const [round, setRound] = useState(0);
  const again = () => setRound((number) => number + 1);
  useEffect(() => {
    if (wanted === null) return undefined;
    let left = false;
    ask('POST', question, JSON.parse(wanted)).then(
      ({ jobId }) => left || setAsked({ wanted, jobId, refusal: null }),
      (refusal) => left || setAsked({ wanted, jobId: null, refusal }),
    );
    return () => {
      left = true;
    };
  }, [wanted, round]);
  const { jobId, refusal } = asked.wanted === wanted ? asked : nothingAsked();
  useHealing(refusal, again);
  return { answer: useJob(jobId), refusal, again };
}

/** @returns {{ wanted: string | null, jobId: string | null, refusal: Refusal | null }} */
function nothingAsked() {
  return { wanted: null, jobId: null, refusal: null };
}

/**
 * A job by its id, followed until it is over.
 * @template Result
 * @param {string | null} jobId
 * @returns {Answer<Worked<Result>>}
 */
export function useJob(jobId) {
  const [isOver, setOver] = useState(false);
  /** @type {Answer<Worked<Result>>} */
  const asked = useAnswer(jobId === null ? null : evidenceJob(jobId), isOver ? 0 : FOLLOW_MS);
  const answer = cancelledIfGone(asked);
  const job = answer.data?.job;
  useEffect(() => setOver(job !== undefined && !isUnderWay(job)), [job?.state]);
  return answer;
}

/**
 * Who cancels a job at the moment at which it ends has the service forget it: it was under way when
 * it was last shown, and is not known any more.
 * @template Result
 * @param {Answer<Worked<Result>>} answer
 * @returns {Answer<Worked<Result>>}
 */
function cancelledIfGone(answer) {
  const { data, error } = answer;
  if (data === null || error?.status !== 404 || !isUnderWay(data.job)) return answer;
  return { ...answer, data: { ...data, job: { ...data.job, state: 'cancelled' } } };
}

/** @param {EvidenceJob} job */
function isUnderWay({ state }) {
  return state === 'waiting' || state === 'running';
}

/**
 * The result of a job once it is there; until then, how far it is and what can be done.
 * @template Result
 * @param {{ evidence: Evidence<Result>, children: (result: Result, job: EvidenceJob) => Html }} props
 */
export function WorkedOut({ evidence: { answer, refusal, again }, children }) {
  const { data, error } = answer;
  if (refusal) return html`<${Trouble} error=${refusal} retry=${again} />`;
  if (data === null) return error ? html`<${Trouble} error=${error} retry=${again} />` : html`<${Loading} />`;
  const { job, result } = data;
  if (result !== null) return html`${children(result, job)}`;
  switch (job.state) {
    case 'waiting':
    case 'running':
      return html`<${UnderWay} job=${job} />`;
    case 'failed':
      return html`<${Ended} title="This could not be worked out" again=${again}>${job.trouble}<//>`;
    case 'cancelled':
      return html`<${Ended} title="Cancelled" again=${again}>Nothing came of it.<//>`;
    default:
      return html`<${Ended} title="Not kept any more" again=${again}>The result is gone.<//>`;
  }
}

/** @param {{ title: string, again: () => void, children: string | null }} props */
function Ended({ title, again, children }) {
  return html`<div class="notice" role="status">
    <strong>${title}</strong>
    <p>${children}</p>
    <button type="button" onClick=${again}>Ask again</button>
  </div>`;
}

/** @param {{ job: EvidenceJob }} props */
function UnderWay({ job }) {
  const [error, setError] = useState(/** @type {Refusal | null} */ (null));
  const cancel = () => ask('DELETE', evidenceJob(job.jobId)).catch(setError);
  const { done, of } = job.progress ?? { done: 0, of: 0 };
  return html`<div class="notice" role="status">
    <label class="under-way">
      <span class="num">${howFar(job.state, done, of)}</span>
      <progress max=${Math.max(of, 1)} value=${of === 0 ? undefined : done}></progress>
    </label>
    <button type="button" onClick=${cancel}>Cancel</button>
    ${error && html`<${Trouble} error=${error} />`}
  </div>`;
}

/**
 * @param {EvidenceJob['state']} state
 * @param {number} done decisions
 * @param {number} of decisions; 0 before they were counted
 */
function howFar(state, done, of) {
  if (state === 'waiting') return 'Waiting: a node works on one thing at a time.';
  if (of === 0) return 'Working: the decisions are being counted.';
  return `Working: ${count(done)} of ${count(of)} decisions, ${share(done, of)}`;
}
