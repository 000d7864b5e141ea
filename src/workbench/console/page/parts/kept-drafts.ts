import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { DRAFTS, type Session } from '#workbench/console/page/questions.ts';

/**
 * The drafts of the platform. A version may be a draft, or lie on the node, while `isAwaited`.
 * A session that may not see drafts waits for none.
 */
export function useDrafts(session: Session) {
  const maySee = isAllowed(session, 'rules');
  const { data, error } = useAnswer(maySee ? DRAFTS : null);
  const isDraft = (version: string) => data?.drafts.some((one) => one.version === version) === true;
  return { data, isDraft, isAwaited: maySee && data === null && error === null };
}
