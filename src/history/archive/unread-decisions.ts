import { formatCount } from '#base/count-text.ts';
import { Type } from '#base/json-schema.ts';
import {
  count,
  describedChoice,
  epochMs,
  list,
  shape,
  type ValueOf,
  type WithMomentsAsText,
} from '#base/shapes.ts';

/** The reasons why a file of the archive could not be read, for people. */
const WHY_UNREAD = {
  away: 'cannot be fetched now from where the archive is kept',
  damaged: 'cannot be read',
  noRoom:
    'does not fit into the cache of this node beside other requests: raise ARCHIVE_CACHE_MAX, or ask about less',
  tooMany: 'waits to be shipped and is too much for a node to search',
} as const;

export type WhyUnread = keyof typeof WHY_UNREAD;

/** Returns the reason as text that follows "a file of the archive". */
export function explainUnread(why: WhyUnread = 'damaged'): string {
  return WHY_UNREAD[why];
}

export const UnreadDecisionsSchema = shape(
  'Decisions in a file of the archive that could not be read, or in an archive that this node does not have',
  {
    from: epochMs('When the oldest of them was made'),
    to: epochMs('When the newest of them was made'),
    decisions: count(
      'How many they are, of all clients of the platform; 0: this node has no archive to tell it from',
    ),
    why: Type.Optional(describedChoice(WHY_UNREAD, 'Why the file, where it is not damaged')),
  },
);

export type UnreadDecisions = ValueOf<typeof UnreadDecisionsSchema>;

export const UnreadDecisionsListSchema = list(
  UnreadDecisionsSchema,
  'Only when there are such: what they hold is not among these decisions',
);

/**
 * Formats unread decisions for people. Also accepts decisions in the form of the HTTP interface, in which times are
 * text.
 */
export function formatUnread({
  from,
  to,
  decisions,
  why,
}: UnreadDecisions | WithMomentsAsText<UnreadDecisions>): string {
  if (decisions === 0) return 'decisions lie in an archive that this node does not have (ARCHIVE_DIR)';
  const [first, last] = [from, to].map((at) => new Date(at).toISOString());
  return `${formatCount(decisions, 'decision')} from ${first} to ${last} ${decisions === 1 ? 'lies' : 'lie'} in a file of the archive that ${explainUnread(why)}`;
}
