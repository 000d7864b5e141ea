import { whoDrafts } from '../../api.js';

/** @import { OpenedRuleFolder } from '../../answers.d.ts' */

/** @typedef {OpenedRuleFolder['constants'][number]} Constant */

/**
 * A rule set that somebody works on in this browser. It is kept there with every change, and nowhere else
 * until it is saved.
 * @typedef {object} WorkingCopy
 * @property {string} version
 * @property {string} from the version that it began with
 * @property {Readonly<Record<string, string>>} files texts by path
 * @property {string | null} replaces the digest of the files in RULES_DIR whose place it takes; null: none
 * @property {boolean} saved whether what lies there is what is here
 * @property {number} editedAt epoch ms
 */

/** Below it lie the drafts of whoever is signed in; those of another person or platform never show. */
function prefix() {
  return `draft ${whoDrafts()} `;
}

/**
 * Where the browser keeps a draft.
 * @param {string} version
 */
export function keyOfCopy(version) {
  return prefix() + version;
}

/** The names of all that is worked on in this browser. @returns {readonly WorkingCopy[]} */
export function keptCopies() {
  const start = prefix();
  const keys = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? '');
  return keys
    .filter((key) => key.startsWith(start))
    .flatMap((key) => keptCopy(key.slice(start.length)) ?? [])
    .toSorted((a, b) => b.editedAt - a.editedAt);
}

/**
 * @param {string} version
 * @returns {WorkingCopy | null}
 */
export function keptCopy(version) {
  try {
    const text = localStorage.getItem(keyOfCopy(version));
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * What is here and nowhere else of a version.
 * @param {string} version
 */
export function unsavedCopy(version) {
  const copy = keptCopy(version);
  return copy === null || copy.saved ? null : copy;
}

export const FULL = new Error(
  'The storage of this browser is full, so what you type is in this tab only. Save it, or download it.',
);

/**
 * Whether the browser keeps it: its storage may be full.
 * @param {WorkingCopy} copy
 */
export function keepCopy(copy) {
  try {
    localStorage.setItem(keyOfCopy(copy.version), JSON.stringify(copy));
    return true;
  } catch {
    return false;
  }
}

/** @param {string} version */
export function forgetCopy(version) {
  localStorage.removeItem(keyOfCopy(version));
}

/**
 * A new draft with the files of a version.
 * @param {OpenedRuleFolder} folder
 * @param {string} version
 * @returns {WorkingCopy}
 */
export function copyOf({ version: from, files }, version) {
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  const made = { version: from, from, files: texts, replaces: null, saved: false, editedAt: Date.now() };
  return renamedCopy(made, version);
}

/**
 * A draft as it lies in RULES_DIR.
 * @param {OpenedRuleFolder} folder
 * @returns {WorkingCopy}
 */
export function savedCopyOf(folder) {
  return { ...copyOf(folder, folder.version), replaces: folder.filesDigest, saved: true };
}

/**
 * The draft under another name, which stands in ruleset.yaml, too.
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
  return { ...copy, version, files, replaces: copy.version === version ? copy.replaces : null };
}

/**
 * @param {WorkingCopy} copy
 * @param {string} path
 * @param {string} text
 * @returns {WorkingCopy}
 */
export function withFile(copy, path, text) {
  return { ...copy, files: { ...copy.files, [path]: text }, saved: false, editedAt: Date.now() };
}

/**
 * The draft with other values of constants, by their paths; all else stays as it is.
 * @param {WorkingCopy} copy
 * @param {readonly Constant[]} constants
 * @param {Readonly<Record<string, string>>} values
 */
export function withValues(copy, constants, values) {
  // From the end to the beginning, so that no replacement moves the place of the next.
  return constants
    .filter(({ path }) => values[path] !== undefined)
    .toSorted((a, b) => b.from - a.from)
    .reduce((edited, { path, file, from, to }) => {
      const text = edited.files[file] ?? '';
      return withFile(edited, file, text.slice(0, from) + values[path] + text.slice(to));
    }, copy);
}

/**
 * @param {WorkingCopy} copy
 * @param {string} path
 * @returns {WorkingCopy}
 */
export function withoutFile(copy, path) {
  const { [path]: _, ...files } = copy.files;
  return { ...copy, files, saved: false, editedAt: Date.now() };
}

const ORDER = [
  'verdicts.yaml',
  'groups.yaml',
  'bot-signals.yaml',
  'ladder.yaml',
  'limits.yaml',
  'ruleset.yaml',
];

/**
 * Its files in the order in which people look for them.
 * @param {WorkingCopy} copy
 */
export function pathsOf({ files }) {
  const rank = (/** @type {string} */ path) => (ORDER.includes(path) ? ORDER.indexOf(path) : ORDER.length);
  return Object.keys(files).toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}
