import {
  createNotFoundProblem,
  createTooManyRequestsProblem,
  declareRefusal,
  type HttpProblem,
} from '#checkout/http/request/problems.ts';
import { TooManyAuditedChanges } from '#workbench/access/audit.ts';
import { UnknownList } from '#workbench/lists/list-editor.ts';

/** Refusals that several groups of the platform's operations share. */

/** The refusal of an operation on a list that does not exist. */
export const UNKNOWN_LIST = declareRefusal(
  'unknown-list',
  'The list does not exist.',
  (detail: string) => createNotFoundProblem(detail),
  'There is no list "blokced"; did you mean "blocked"? Make the list first, with the kind of its entries: PUT /v1/platform/lists/blokced, or the command lists make.',
);

export const TOO_MANY_AUDITED_CHANGES = declareRefusal(
  'too-many-changes',
  'The key makes more changes than the audit can note one by one.',
  () =>
    createTooManyRequestsProblem(
      'This access key makes more overrides or list changes than the audit can note one by one: 2,000, then 60 an hour. Nothing was changed. Import lists as lines, which count once; blocking and rolling back always work.',
      60,
    ),
);

/** Returns the problem for an error that the platform's operations throw. Returns null for any other error. */
export function toPlatformProblem(error: unknown): HttpProblem | null {
  if (error instanceof UnknownList) return UNKNOWN_LIST.problem(error.message);
  if (error instanceof TooManyAuditedChanges) return TOO_MANY_AUDITED_CHANGES.problem();
  return null;
}
