import { ask, useHealing } from '../api.js';
import { useEffect, useRef, useState } from '../html.js';
import { CHECK_DRAFT, keptDraft } from '../questions.js';

/**
 * @import { CheckedDraft, Draft, OpenedRuleFolder } from '../answers.d.ts'
 * @import { Refusal } from '../api.js'
 */

/** @typedef {OpenedRuleFolder['constants'][number]} Constant */

/**
 * A rule set that somebody works on, as the page has it.
 * @typedef {object} WorkingCopy
 * @property {string} version
 * @property {string} from the version that it began with
 * @property {Readonly<Record<string, string>>} files texts by path
 * @property {string | null} replaces digest of the files in RULES_DIR that it replaces; null: none
 * @property {boolean} saved whether RULES_DIR holds the same texts
 * @property {number | null} revision of the draft that it was made on; null: there is none yet
 */

/**
 * Keeps it as the platform's draft. Throws Refusal, of status 412 when somebody else changed that meanwhile.
 * @param {WorkingCopy} copy
 */
export function keep({ version, from, files, replaces, revision }) {
  return ask('PUT', keptDraft(version, revision), { from, files, ...(replaces !== null && { replaces }) });
}

/** @param {Draft} draft @returns {WorkingCopy} */
export function keptCopyOf({ version, from, files, replaces, saved, revision }) {
  return { version, from, files, replaces, saved, revision };
}

/**
 * A new draft with the files of a version.
 * @param {OpenedRuleFolder} folder
 * @param {string} version
 * @returns {WorkingCopy}
 */
export function copyOf({ version: from, files }, version) {
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  const made = { version: from, from, files: texts, replaces: null, saved: false, revision: null };
  return renamedCopy(made, version);
}

/**
 * A draft as RULES_DIR has it.
 * @param {OpenedRuleFolder} folder
 * @returns {WorkingCopy}
 */
export function savedCopyOf(folder) {
  return { ...copyOf(folder, folder.version), replaces: folder.filesDigest, saved: true };
}

/**
 * The draft under another name, also inside ruleset.yaml.
 * @param {WorkingCopy} copy
 * @param {string} version
 * @returns {WorkingCopy}
 */
export function renamedCopy(copy, version) {
  const before = copy.files['ruleset.yaml'] ?? '';
  const text = before.replace(
    /^(\s*\{?\s*["']?ruleVersion["']?\s*:\s*["']?)p\d+\.v\d+(?:-[a-z][a-z0-9]*)?/m,
    (_, start) => start + version,
  );
  const files = before === '' ? copy.files : { ...copy.files, 'ruleset.yaml': text };
  return copy.version === version
    ? { ...copy, files }
    : { ...copy, version, files, replaces: null, saved: false, revision: null };
}

/**
 * @param {WorkingCopy} copy
 * @param {string} path
 * @param {string} text
 * @returns {WorkingCopy}
 */
export function withFile(copy, path, text) {
  return { ...copy, files: { ...copy.files, [path]: text }, saved: false };
}

/**
 * The draft with other values of constants, by their paths; all else stays as it is. Whatever a value is, it
 * stays one value of the file, so that the check tells what is wrong with it.
 * @param {WorkingCopy} copy
 * @param {readonly Constant[]} constants
 * @param {Readonly<Record<string, string>>} values
 */
export function withValues(copy, constants, values) {
  // From the end to the beginning, so that no replacement moves the place of the next.
  return constants
    .filter(({ path }) => values[path] !== undefined)
    .toSorted((a, b) => b.from - a.from)
    .reduce((edited, { path, allowed, at: { file }, from, to }) => {
      const text = edited.files[file] ?? '';
      return withFile(
        edited,
        file,
        text.slice(0, from) + yamlText(values[path] ?? '', allowed) + text.slice(to),
      );
    }, copy);
}

/** Words that YAML takes for something else. */
const PLAIN_TEXT = /^(?!(?:true|false|null)$)[a-z][\w-]*$/i;
const PLAIN = /^-?\w[\w.+-]*$/;

/** @param {string} value @param {Constant['allowed']} allowed */
function yamlText(value, { type }) {
  return (type === 'text' ? PLAIN_TEXT : PLAIN).test(value) ? value : JSON.stringify(value);
}

/**
 * @param {WorkingCopy} copy
 * @param {string} path
 * @returns {WorkingCopy}
 */
export function withoutFile(copy, path) {
  const { [path]: _, ...files } = copy.files;
  return { ...copy, files, saved: false };
}

const ORDER = [
  'verdicts.yaml',
  'groups.yaml',
  'bot-signals.yaml',
  'ladder.yaml',
  'limits.yaml',
  'ruleset.yaml',
];

/** Its files in the order in which people look for them. @param {WorkingCopy} copy */
export function pathsOf({ files }) {
  const rank = (/** @type {string} */ path) => (ORDER.includes(path) ? ORDER.indexOf(path) : ORDER.length);
  return Object.keys(files).toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

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
  const [known, setKnown] = useState(
    /** @returns {Said} */ () => ({ files: null, of: null, checked: null, error: null }),
  );
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
