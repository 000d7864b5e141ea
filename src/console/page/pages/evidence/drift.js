import { html } from '../../html.js';
import { EvidenceTables, Notes } from '../../parts/evidence/shown.js';
import { useEvidence, WorkedOut } from '../../parts/evidence/worked.js';
import { DRIFT } from '../../questions.js';

/**
 * @import { Drift } from '../../answers.d.ts'
 * @import { EvidenceTime } from '../../parts/evidence/span.js'
 * @import { Evidence } from '../../parts/evidence/worked.js'
 */

/**
 * What has changed between two parts of the time: answers, outcomes, calibration and facts.
 * @param {{ version: string, time: EvidenceTime }} props
 */
export function DriftOf({ version, time }) {
  /** @type {Evidence<Drift>} */
  const evidence = useEvidence(DRIFT, { version, ...time.span });
  const shown = (/** @type {Drift} */ { notes, tables }) =>
    html`<${Notes} notes=${notes} /><${EvidenceTables} tables=${tables} />`;
  return html`<h2>Drift of the decisions of ${version}</h2>
    <${WorkedOut} evidence=${evidence}>${shown}<//>`;
}
