import type { Caller } from '../../../../access/caller.ts';
import {
  DRAFTS_AT_HAND_MAX,
  PLATFORM_DRAFTS_MAX,
  type RuleDesk,
} from '../../../../authoring/desk/rule-desk.ts';
import { TooManyTurns } from '../../../../work/turns.ts';
import { refusal, unavailable } from '../../../request/problems.ts';

export const DESK_FULL = refusal(
  'deskFull',
  'The node has as many drafts at hand, of all platforms or of this one, as it takes.',
  () =>
    unavailable(
      `This node takes ${DRAFTS_AT_HAND_MAX} drafts at once, ${PLATFORM_DRAFTS_MAX} of them of one platform, and has as many at hand already. Try again in a moment.`,
    ),
);

/** Works on a draft when its turn at the desk has come; 503 when too many wait already. */
export async function atDesk<T>(desk: RuleDesk, { platform }: Caller, work: () => Promise<T>): Promise<T> {
  try {
    return await desk.atHand(platform, work);
  } catch (error) {
    throw error instanceof TooManyTurns ? DESK_FULL.problem() : error;
  }
}
