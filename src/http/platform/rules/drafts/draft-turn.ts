import type { AccessKey } from '../../../../access/access-keys.ts';
import {
  DESK_TURNS_MAX,
  DeskBusy,
  PLATFORM_TURNS_MAX,
  type RuleDesk,
} from '../../../../analysis/desk/rule-desk.ts';
import { refusal, unavailable } from '../../../request/problems.ts';

export const DESK_FULL = refusal(
  'deskFull',
  'The node has as many drafts at hand, of all platforms or of this one, as it takes.',
  () =>
    unavailable(
      `This node takes ${DESK_TURNS_MAX} drafts at once, ${PLATFORM_TURNS_MAX} of them of one platform, and has as many at hand already. Try again in a moment.`,
    ),
);

/** Work on a draft with its turn at the desk; 503 when too many have theirs already. */
export async function atDesk<T>(desk: RuleDesk, { platform }: AccessKey, work: () => Promise<T>): Promise<T> {
  try {
    return await desk.turn(platform, work);
  } catch (error) {
    throw error instanceof DeskBusy ? DESK_FULL.problem() : error;
  }
}
