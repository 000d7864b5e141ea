import { Type } from 'typebox';
import type { AccessKey } from '../../../../access/access-keys.ts';
import {
  DESK_TURNS_MAX,
  DeskBusy,
  type DraftText,
  PLATFORM_TURNS_MAX,
  type RuleDesk,
} from '../../../../analysis/desk/rule-desk.ts';
import { isRuleVersion, RULE_VERSION_FORM, type RuleVersion } from '../../../../rules/rule-set.ts';
import { text } from '../../../../shapes.ts';
import { malformed, malformedAt } from '../../../operation/request-body.ts';
import { refusal, unavailable } from '../../../request/problems.ts';

/** Twice what a version's files may come to when they are opened, for what JSON adds. */
export const DRAFT_BYTES_MAX = 1024 * 1024;

/** A name of 100 characters below one of the folders comes to less. */
const PATH_CHARACTERS_MAX = 120;

export const DRAFT_FILES = Type.Record(
  Type.String({ maxLength: PATH_CHARACTERS_MAX }),
  Type.String({ wellFormed: true }),
  { description: 'Texts by path, like verdicts.yaml or cases/ladder.yaml' },
);

/** A rule set that somebody is at work on, as a body brings it along. */
export const DRAFT_MEMBERS = {
  version: text(32, 'What the draft is called, like p2.v11'),
  files: DRAFT_FILES,
} as const;

export const DRAFT_EXAMPLE = {
  version: 'p2.v11',
  files: { 'ladder.yaml': 'levels: [40s, 5m, 30m]\nresetAfter: 24h\n' },
} as const;

const VERSION_FORM_DETAIL = `must be ${RULE_VERSION_FORM}`;

export const BAD_DRAFT_NAME = malformed('/version', VERSION_FORM_DETAIL);

/** Throws 400 when the draft is not called as versions are. */
export function draftText({
  version,
  files,
}: {
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
}): DraftText {
  return { version: versionAt('/version', version), files: Object.entries(files) };
}

export function versionAt(pointer: string, version: string): RuleVersion {
  if (isRuleVersion(version)) return version;
  throw malformedAt(pointer, VERSION_FORM_DETAIL);
}

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
