import { count, type Shape, shape } from '../shapes.ts';

/**
 * The clients of one arm, each counted once: by its first verdict since the trial decides for this share of
 * the clients. The verdicts of a client hang together, so only clients can be compared by chance.
 */
const ClientCountsSchema = shape(
  'By client, each counted once by its first verdict since the canary has this percent',
  {
    seen: count('All'),
    blocked: count('Answered BLOCK'),
    waited: count('Answered WAIT'),
    bots: count('isBot true'),
    paid: count('Of those who asked since then: paid an order'),
    unpaid: count('Of the same: paid none, and an order ended unpaid; of the others nothing is known'),
  },
);

export type ClientCounts = Shape<typeof ClientCountsSchema>;

export const ArmCountsSchema = shape('What one version answered', {
  verdicts: count('All'),
  blocks: count('BLOCK'),
  waits: count('WAIT'),
  bots: count('isBot true'),
  clients: ClientCountsSchema,
});

export type ArmCounts = Shape<typeof ArmCountsSchema>;

/** What became of a client's orders since a trial began. */
export type ClientFate = 'paid' | 'unpaid' | 'unknown';

const NO_CLIENTS: ClientCounts = { seen: 0, blocked: 0, waited: 0, bots: 0, paid: 0, unpaid: 0 };

export const NO_COUNTS: ArmCounts = { verdicts: 0, blocks: 0, waits: 0, bots: 0, clients: NO_CLIENTS };

/** The counts of one client whose fate changed. Who paid stays a payer, whatever is taken back. */
export function countsOfFate(before: ClientFate, after: ClientFate): ArmCounts {
  if (before === after || before === 'paid') return NO_COUNTS;
  const change = (fate: ClientFate) => (after === fate ? 1 : 0) - (before === fate ? 1 : 0);
  return { ...NO_COUNTS, clients: { ...NO_CLIENTS, paid: change('paid'), unpaid: change('unpaid') } };
}

interface Answered {
  readonly verdict: string;
  readonly isBot: boolean;
}

/** The counts of one verdict, without its client. */
export function countsOf({ verdict, isBot }: Answered): ArmCounts {
  const is = (what: string) => (verdict === what ? 1 : 0);
  return { ...NO_COUNTS, verdicts: 1, blocks: is('BLOCK'), waits: is('WAIT'), bots: isBot ? 1 : 0 };
}

/** The counts of a client by its first verdict. */
export function countsOfClient(first: Answered): ArmCounts {
  const { blocks, waits, bots } = countsOf(first);
  return { ...NO_COUNTS, clients: { ...NO_CLIENTS, seen: 1, blocked: blocks, waited: waits, bots } };
}

export function addCounts(a: ArmCounts, b: ArmCounts): ArmCounts {
  return {
    verdicts: a.verdicts + b.verdicts,
    blocks: a.blocks + b.blocks,
    waits: a.waits + b.waits,
    bots: a.bots + b.bots,
    clients: {
      seen: a.clients.seen + b.clients.seen,
      blocked: a.clients.blocked + b.clients.blocked,
      waited: a.clients.waited + b.clients.waited,
      bots: a.clients.bots + b.clients.bots,
      paid: a.clients.paid + b.clients.paid,
      unpaid: a.clients.unpaid + b.clients.unpaid,
    },
  };
}
