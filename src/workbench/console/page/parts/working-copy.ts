import { askService, type ServiceRefusal, useRetryAfterRefusal } from '#workbench/console/page/api.ts';
import { useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import type { CheckedDraft, Draft, OpenedRuleFolder } from '#workbench/console/page/questions.ts';
import { CHECK_DRAFT, keptDraftQuestion } from '#workbench/console/page/questions.ts';

export type WrittenConstant = OpenedRuleFolder['constants'][number];

/** A rule set on which somebody works, as the page has it. */
export interface WorkingCopy {
  readonly version: string;
  /** The version with whose files the draft began. */
  readonly from: string;
  /** The texts of the files, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** The revision of the draft on which it is based. Null if there is no draft yet. */
  readonly revision: number | null;
}

/**
 * Keeps the text as the platform's draft. Throws ServiceRefusal. The status is 412 if somebody else changed
 * the draft in the meantime.
 */
export function saveDraft({ version, from, files, revision }: WorkingCopy) {
  return askService('PUT', keptDraftQuestion(version, revision), { from, files });
}

export function toWorkingCopy({ version, from, files, revision }: Draft): WorkingCopy {
  return { version, from, files, revision };
}

/** Starts a new draft with the files of a version. */
export function createWorkingCopy({ version: from, files }: OpenedRuleFolder, version: string): WorkingCopy {
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  return replaceDraftName({ version: from, from, files: texts, revision: null }, version);
}

/** Gives the draft another name, also inside ruleset.yaml. */
export function replaceDraftName(copy: WorkingCopy, version: string): WorkingCopy {
  const before = copy.files['ruleset.yaml'] ?? '';
  const text = before.replace(
    /^(\s*\{?\s*["']?ruleVersion["']?\s*:\s*["']?)p\d+\.v\d+(?:-[a-z][a-z0-9]*)?/m,
    (_, start) => start + version,
  );
  const files = before === '' ? copy.files : { ...copy.files, 'ruleset.yaml': text };
  return copy.version === version ? { ...copy, files } : { ...copy, version, files, revision: null };
}

export function replaceFileText(copy: WorkingCopy, path: string, text: string): WorkingCopy {
  return { ...copy, files: { ...copy.files, [path]: text } };
}

/**
 * Returns the draft with other values of constants, by their paths. Everything else stays unchanged.
 * Whatever a value is, it stays one value of the file, so that the check finds what is wrong with it.
 */
export function replaceConstantValues(
  copy: WorkingCopy,
  constants: readonly WrittenConstant[],
  values: Readonly<Record<string, string>>,
) {
  // The replacements run from the end to the beginning, so that none moves the position of the next one.
  return constants
    .filter(({ path }) => values[path] !== undefined)
    .toSorted((a, b) => b.from - a.from)
    .reduce((edited, { path, allowed, at: { file }, from, to }) => {
      const text = edited.files[file] ?? '';
      return replaceFileText(
        edited,
        file,
        text.slice(0, from) + formatYaml(values[path] ?? '', allowed) + text.slice(to),
      );
    }, copy);
}

/** Matches a text that YAML reads as a text without quotes. */
const PLAIN_TEXT = /^(?!(?:true|false|null)$)[a-z][\w-]*$/i;
const PLAIN = /^-?\w[\w.+-]*$/;

function formatYaml(value: string, { type }: WrittenConstant['allowed']) {
  return (type === 'text' ? PLAIN_TEXT : PLAIN).test(value) ? value : JSON.stringify(value);
}

export function excludeFile(copy: WorkingCopy, path: string): WorkingCopy {
  const { [path]: _, ...files } = copy.files;
  return { ...copy, files };
}

const ORDER = [
  'verdicts.yaml',
  'groups.yaml',
  'bot-signals.yaml',
  'flags.yaml',
  'ladder.yaml',
  'limits.yaml',
  'ruleset.yaml',
];

/** Lists the files in the sequence in which people look for them. */
export function listPaths({ files }: WorkingCopy) {
  const rank = (path: string) => (ORDER.includes(path) ? ORDER.indexOf(path) : ORDER.length);
  return Object.keys(files).toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

/** The pause in ms after which a typed word is taken to be complete. */
const TYPING_MS = 300;

/**
 * Checks a draft at the service whenever its text has not changed for a moment, one request at a time. The
 * last result stays until the next one. If the service has no time, the request is repeated after the pause
 * that the service names. `current` is null if the last result is about an older text.
 */
export function useDraftCheck({ version, from, files }: WorkingCopy): {
  checked: CheckedDraft | null;
  current: CheckedDraft | null;
  checking: boolean;
  error: ServiceRefusal | null;
} {
  const [known, setKnown] = useState((): Said => ({ files: null, of: null, checked: null, error: null }));
  const [answered, setAnswered] = useState(0);
  const underWay = useRef(false);
  useEffect(() => {
    if (known.files === files || underWay.current) return undefined;
    const timer = setTimeout(() => {
      underWay.current = true;
      askService('POST', CHECK_DRAFT, { version, from, files })
        .then(
          (checked) => setKnown({ files, of: files, checked, error: null }),
          (error) => setKnown((before) => ({ ...before, files, error })),
        )
        .finally(() => {
          underWay.current = false;
          // Text that was typed in the meantime is checked now.
          setAnswered((number) => number + 1);
        });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [files, known, answered]);
  const { checked, error } = known;
  useRetryAfterRefusal(error, () => setKnown((before) => ({ ...before, files: null })));
  const current = known.of === files ? checked : null;
  return { checked, current, checking: known.files !== files, error };
}

interface Said {
  /** The texts that were checked last, or whose check failed. */
  readonly files: WorkingCopy['files'] | null;
  /** The texts that `checked` is about. */
  readonly of: WorkingCopy['files'] | null;
  readonly checked: CheckedDraft | null;
  readonly error: ServiceRefusal | null;
}

/** Lists the problems because of which files of cases cannot be read. */
export function listCaseFileProblems({ problems }: CheckedDraft) {
  return problems.filter(({ at }) => at.file.startsWith('cases/'));
}
