import { isAllowed, useAnswer } from '#workbench/console/page/api.ts';
import { DRAFTS, type Session } from '#workbench/console/page/questions.ts';

/**
 * Returns the drafts of the platform. While `isAwaited` is true, it is not known yet whether a version is a
 * draft of the platform or a folder of the node. For a session that may not see drafts, `isAwaited` is false.
 * The drafts are looked up again every `everyMs`, and only once if it is 0.
 */
export function useDrafts(session: Session, everyMs = 0) {
  const maySee = isAllowed(session, 'rules');
  const { data, error } = useAnswer(maySee ? DRAFTS : null, everyMs);
  const isDraft = (version: string) => data?.drafts.some((one) => one.version === version) === true;
  return { data, isDraft, isAwaited: maySee && data === null && error === null };
}
