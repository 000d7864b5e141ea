import { askService, type Refusal, useHealing } from '#workbench/console/page/api.ts';
import { useEffect, useRef, useState } from '#workbench/console/page/html.ts';
import type { CheckedDraft, Draft, OpenedRuleFolder } from '#workbench/console/page/questions.ts';
import { CHECK_DRAFT, keptDraftQuestion } from '#workbench/console/page/questions.ts';

export type Constant = OpenedRuleFolder['constants'][number];

/** A rule set that somebody works on, as the page has it. */
export interface WorkingCopy {
  readonly version: string;
  /** The version that it began with. */
  readonly from: string;
  /** Texts by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Of the draft that it was made on; null: there is none yet. */
  readonly revision: number | null;
}

/**
 * Keeps it as the platform's draft. Throws Refusal, of status 412 when somebody else changed that meanwhile.
 */
export function saveDraft({ version, from, files, revision }: WorkingCopy) {
  return askService('PUT', keptDraftQuestion(version, revision), { from, files });
}

export function toWorkingCopy({ version, from, files, revision }: Draft): WorkingCopy {
  return { version, from, files, revision };
}

/** A new draft with the files of a version. */
export function startDraft({ version: from, files }: OpenedRuleFolder, version: string): WorkingCopy {
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  return renameDraft({ version: from, from, files: texts, revision: null }, version);
}

/** The draft under another name, also inside ruleset.yaml. */
export function renameDraft(copy: WorkingCopy, version: string): WorkingCopy {
  const before = copy.files['ruleset.yaml'] ?? '';
  const text = before.replace(
    /^(\s*\{?\s*["']?ruleVersion["']?\s*:\s*["']?)p\d+\.v\d+(?:-[a-z][a-z0-9]*)?/m,
    (_, start) => start + version,
  );
  const files = before === '' ? copy.files : { ...copy.files, 'ruleset.yaml': text };
  return copy.version === version ? { ...copy, files } : { ...copy, version, files, revision: null };
}

export function withFile(copy: WorkingCopy, path: string, text: string): WorkingCopy {
  return { ...copy, files: { ...copy.files, [path]: text } };
}

/**
 * The draft with other values of constants, by their paths; all else stays as it is. Whatever a value is, it
 * stays one value of the file, so that the check tells what is wrong with it.
 */
export function withValues(
  copy: WorkingCopy,
  constants: readonly Constant[],
  values: Readonly<Record<string, string>>,
) {
  // From the end to the beginning, so that no replacement moves the place of the next.
  return constants
    .filter(({ path }) => values[path] !== undefined)
    .toSorted((a, b) => b.from - a.from)
    .reduce((edited, { path, allowed, at: { file }, from, to }) => {
      const text = edited.files[file] ?? '';
      return withFile(
        edited,
        file,
        text.slice(0, from) + formatYaml(values[path] ?? '', allowed) + text.slice(to),
      );
    }, copy);
}

/** Words that YAML takes for something else. */
const PLAIN_TEXT = /^(?!(?:true|false|null)$)[a-z][\w-]*$/i;
const PLAIN = /^-?\w[\w.+-]*$/;

function formatYaml(value: string, { type }: Constant['allowed']) {
  return (type === 'text' ? PLAIN_TEXT : PLAIN).test(value) ? value : JSON.stringify(value);
}

export function removeFile(copy: WorkingCopy, path: string): WorkingCopy {
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

/** Its files in the order in which people look for them. */
export function listPaths({ files }: WorkingCopy) {
  const rank = (path: string) => (ORDER.includes(path) ? ORDER.indexOf(path) : ORDER.length);
  return Object.keys(files).toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

/** Long enough for a word to be typed to its end. */
const TYPING_MS = 300;

/**
 * What the service says of a draft, asked again whenever its text has not changed for a moment; one question
 * at a time. What was said before stays until the next answer. A service that has no time now is asked again
 * when it said. `copy`: `current` is null when what was said is of an older text.
 */
export function useCheck({ version, from, files }: WorkingCopy): {
  checked: CheckedDraft | null;
  current: CheckedDraft | null;
  checking: boolean;
  error: Refusal | null;
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

interface Said {
  /** Asked about last. */
  readonly files: WorkingCopy['files'] | null;
  /** The texts that `checked` is about. */
  readonly of: WorkingCopy['files'] | null;
  readonly checked: CheckedDraft | null;
  readonly error: Refusal | null;
}

/** The problems because of which files of cases cannot be read. */
export function listUnreadCases({ problems }: CheckedDraft) {
  return problems.filter(({ at }) => at.file.startsWith('cases/'));
}
