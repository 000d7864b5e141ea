import { CLIENT_GROUPS } from '../client/client-group.ts';
import { type Fact, YES_NO } from './fact.ts';

/** What earlier rules of the same decision concluded. */
export const CONCLUDED_FACTS = {
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
    description: 'Sum of the weights of the bot signals that matched.',
    read: ({ botWeight }) => botWeight,
  },
  isBot: {
    kind: 'concluded',
    from: 'verdicts',
    domain: YES_NO,
    unit: null,
    description: 'The bot signals reached the threshold of bot-signals.yaml.',
    read: ({ isBot }) => isBot,
  },
} as const satisfies Record<string, Fact>;
