import { CLIENT_GROUPS } from '#decision/decision-words.ts';
import { BOOLEAN_DOMAIN, type Fact } from './fact.ts';
import { COOLDOWN_FACTS, HISTORY_FACTS, ORDER_FACTS, VELOCITY_FACTS } from './history.ts';
import { KNOWN_DEVICE_FACTS } from './known-devices.ts';
import {
  ATTRIBUTE_COUNT_FACTS,
  ATTRIBUTE_FACTS,
  CALENDAR_FACTS,
  LISTED_FACTS,
  RECENT_SCORE_HINT_FACTS,
  REQUEST_FACTS,
  SHARING_FACTS,
} from './request.ts';

/** The conclusions of earlier rules of the same decision. */
const CONCLUDED_FACTS = {
  clientGroup: {
    kind: 'concluded',
    from: 'bot-signals',
    domain: { type: 'enum', values: CLIENT_GROUPS },
    unit: null,
    description: 'The group that groups.yaml gave.',
    read: ({ clientGroup }) => clientGroup,
  },
  botWeight: {
    kind: 'concluded',
    from: 'verdicts',
    domain: { type: 'number', integer: false, min: 0, max: 1e6 },
    unit: 'weight',
    description:
      'Sum of the weights of the bot signals that matched; of several about one thing only the heaviest counts.',
    read: ({ botWeight }) => botWeight,
  },
  isBot: {
    kind: 'concluded',
    from: 'verdicts',
    domain: BOOLEAN_DOMAIN,
    unit: null,
    description: 'The bot signals reached the threshold of bot-signals.yaml.',
    read: ({ isBot }) => isBot,
  },
} as const satisfies Record<string, Fact>;

/**
 * Every fact that a rule may use, by theme. `questions.ts` lists the facts by an analyst's question. Rule files are
 * checked against this list. The rule schema, the guide and the console are made from it.
 */
const FACT_THEMES = {
  history: HISTORY_FACTS,
  orders: ORDER_FACTS,
  cooldown: COOLDOWN_FACTS,
  velocity: VELOCITY_FACTS,
  sharing: SHARING_FACTS,
  hints: RECENT_SCORE_HINT_FACTS,
  'known devices': KNOWN_DEVICE_FACTS,
  request: REQUEST_FACTS,
  calendar: CALENDAR_FACTS,
  'shared lists': LISTED_FACTS,
  attributes: { ...ATTRIBUTE_FACTS, ...ATTRIBUTE_COUNT_FACTS },
  conclusions: CONCLUDED_FACTS,
} as const satisfies Record<string, Readonly<Record<string, Fact>>>;

type NameIn<Facts> = Facts extends unknown ? Extract<keyof Facts, string> : never;

export type FactName = NameIn<(typeof FACT_THEMES)[keyof typeof FACT_THEMES]>;

export const FACTS: ReadonlyMap<string, Fact> = new Map(
  Object.values(FACT_THEMES).flatMap((theme) => Object.entries<Fact>(theme)),
);
