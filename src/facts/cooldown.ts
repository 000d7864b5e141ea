import { waitRemainingMs } from '../client/ladder.ts';
import { count, type Fact, SECONDS, secondsSince, YES_NO } from './fact.ts';

/** Where the client stands on the cooldown ladder before this request is decided. */
export const COOLDOWN_FACTS = {
  attemptOpen: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A requisite was granted and no payment followed yet.',
    read: ({ ladder }) => ladder.attemptOpen,
  },
  ladderLevel: {
    kind: 'plain',
    domain: count(20),
    unit: 'levels',
    description: 'Level of the last wait; 0 when none was imposed since the last payment or long absence.',
    read: ({ ladder }) => ladder.level,
  },
  waitRemainingSeconds: {
    kind: 'plain',
    domain: SECONDS,
    unit: 'seconds',
    description: 'What is left of the imposed wait, rounded up; 0 when none is due.',
    read: ({ ladder, now }) => Math.ceil(waitRemainingMs(ladder, now) / 1000),
  },
  waitServed: {
    kind: 'plain',
    domain: YES_NO,
    unit: null,
    description: 'A wait was imposed and is over.',
    read: ({ ladder, now }) => ladder.waitUntil !== null && waitRemainingMs(ladder, now) === 0,
  },
  secondsSinceLastVerdict: {
    kind: 'plain',
    domain: SECONDS,
    unit: 'seconds',
    description: 'Since the verdict request before this one; 999999999 when there is none.',
    read: ({ previousVerdictAt, now }) => secondsSince(previousVerdictAt, now),
  },
} as const satisfies Record<string, Fact>;
