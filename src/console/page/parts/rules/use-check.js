import { ask, useHealing } from '../../api.js';
import { useEffect, useRef, useState } from '../../html.js';
import { CHECK_DRAFT } from '../../questions.js';

/**
 * @import { CheckedDraft } from '../../answers.d.ts'
 * @import { Refusal } from '../../api.js'
 * @import { WorkingCopy } from './working-copy.js'
 */

/** Long enough for a word to be typed to its end. */
const TYPING_MS = 300;

/**
 * What the service says of a draft, asked again whenever its text has not changed for a moment; one question
 * at a time. What was said before stays until the next answer. A service that has no time now is asked again
 * when it said.
 * @param {WorkingCopy} copy
 * `current` is null when what was said is of an older text.
 * @returns {{
 *   checked: CheckedDraft | null, current: CheckedDraft | null, checking: boolean, error: Refusal | null,
 * }}
 */
export function useCheck({ version, files }) {
  const [known, setKnown] = useState(() => nothingSaid());
  const [answered, setAnswered] = useState(0);
  const underWay = useRef(false);
  useEffect(() => {
    if (known.files === files || underWay.current) return undefined;
    const timer = setTimeout(() => {
      underWay.current = true;
      ask('POST', CHECK_DRAFT, { version, files })
        .then(
          (checked) => setKnown({ files, of: files, checked, error: null }),
          (error) => setKnown((before) => ({ ...before, files, error })),
        )
        .finally(() => {
          underWay.current = false;
          // What was typed meanwhile is asked about now.
          setAnswered((number) => number + 1);
        });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [files, known, answered]);
  const { checked, error } = known;
  useHealing(error, () => setKnown((before) => ({ ...before, files: null })));
  const current = known.of === files ? checked : null;
  return { checked, current, checking: known.files !== files, error };
}

/**
 * @typedef {object} Said
 * @property {WorkingCopy['files'] | null} files asked about last
 * @property {WorkingCopy['files'] | null} of the texts that `checked` is about
 * @property {CheckedDraft | null} checked
 * @property {Refusal | null} error
 */

/** @returns {Said} */
function nothingSaid() {
  return { files: null, of: null, checked: null, error: null };
}
