import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { DRAFTS, type Session } from '#workbench/console/page/questions.ts';

/**
 * Returns the drafts of the platform. While `isAwaited` is true, it is not known whether a version is a
 * draft or lies on the node. A session that may not see drafts waits for none.
 */
export function useDrafts(session: Session) {
  const maySee = isAllowed(session, 'rules');
  const { data, error } = useAnswer(maySee ? DRAFTS : null);
  const isDraft = (version: string) => data?.drafts.some((one) => one.version === version) === true;
  return { data, isDraft, isAwaited: maySee && data === null && error === null };
}
