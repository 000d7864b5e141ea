import { CALENDAR_FACTS } from './calendar.ts';
import { CONCLUDED_FACTS } from './conclusions.ts';
import { COOLDOWN_FACTS } from './cooldown.ts';
import type { Fact } from './fact.ts';
import { HINT_FACTS } from './hints.ts';
import { HISTORY_FACTS } from './history.ts';
import { LISTED_FACTS } from './listed.ts';
import { ORDER_FACTS } from './orders.ts';
import { REQUEST_FACTS } from './request.ts';
import { SHARING_FACTS } from './sharing.ts';
import { VELOCITY_FACTS } from './velocity.ts';

/**
 * Every fact that a rule may name, by theme. The one list: rule files are checked against it, and the
 * rule schema, the guide and the console are made from it.
 */
export const FACT_THEMES = {
  history: HISTORY_FACTS,
  orders: ORDER_FACTS,
  cooldown: COOLDOWN_FACTS,
  velocity: VELOCITY_FACTS,
  sharing: SHARING_FACTS,
  hints: HINT_FACTS,
  request: REQUEST_FACTS,
  calendar: CALENDAR_FACTS,
  'shared lists': LISTED_FACTS,
  conclusions: CONCLUDED_FACTS,
} as const satisfies Record<string, Readonly<Record<string, Fact>>>;

/** Every fact by its name. */
export const FACTS: ReadonlyMap<string, Fact> = new Map(
  Object.values(FACT_THEMES).flatMap((theme) => Object.entries<Fact>(theme)),
);
