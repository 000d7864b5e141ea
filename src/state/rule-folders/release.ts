import { isJsonObject, parseJsonObjectOrNull } from '#base/files/json-object.ts';
import type { RuleFiles } from '#decision/rules/parse/parse.ts';
import type { RuleProblem } from '#decision/rules/problem.ts';
import { hasDraftName, isRuleVersion, type RuleVersion } from '#decision/rules/rule-set.ts';
import { computeDigest, computeFileDigests } from '#decision/rules/text/draft-text.ts';

/** The content of `release.json`. A version with this file never changes. */
export interface Release {
  readonly ruleVersion: string;
  readonly releasedAt: string;
  /** sha256 of each file, hex, by its path inside the folder. */
  readonly files: Readonly<Record<string, string>>;
  readonly digest: string;
}

/** Explains that a version with a draft's name is never released, and what to do instead. */
export function explainUnreleasableDraft(version: RuleVersion): string {
  const copy = version.slice(0, version.indexOf('-'));
  return `${version} has a draft's name, which is never released; release a copy of it: rules new ${copy} --from ${version}`;
}

export function createRelease(ruleVersion: string, files: RuleFiles, releasedAt: Date): Release {
  return {
    ruleVersion,
    releasedAt: releasedAt.toISOString(),
    files: computeFileDigests(files),
    digest: computeDigest(files),
  };
}

/** Lists every difference between a release and the present files. */
export function listReleaseDifferences(
  releaseText: string,
  folder: string,
  files: RuleFiles,
): readonly RuleProblem[] {
  if (isRuleVersion(folder) && hasDraftName(folder))
    return [createProblem('release.json', explainUnreleasableDraft(folder))];
  const release: unknown = parseJsonObjectOrNull(releaseText);
  if (!isRelease(release))
    return [createProblem('release.json', 'the file is damaged; restore it from version control')];
  const wayOn = `${folder} is released and never changes; restore it, or start a new version: rules new <version> --from ${folder}`;
  const now = computeFileDigests(files);
  const problems: RuleProblem[] = [];
  for (const path of new Set([...Object.keys(release.files), ...Object.keys(now)])) {
    if (now[path] === release.files[path]) continue;
    const change =
      now[path] === undefined
        ? 'is missing'
        : release.files[path] === undefined
          ? 'was added'
          : 'was changed';
    problems.push(createProblem(path, `the file ${change} after the release; ${wayOn}`));
  }
  if (problems.length === 0 && release.digest !== computeDigest(files)) {
    problems.push(createProblem('release.json', `the digest does not fit the files; ${wayOn}`));
  }
  return problems;
}

function isRelease(value: unknown): value is Release {
  if (!isJsonObject(value)) return false;
  const { files, digest } = value;
  return typeof files === 'object' && files !== null && typeof digest === 'string';
}

function createProblem(file: string, message: string): RuleProblem {
  return { at: { file, line: 1, column: 1 }, message };
}
