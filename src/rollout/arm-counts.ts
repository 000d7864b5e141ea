import { markStage, type StageMark } from '../client/client-state.ts';
import { count, type Shape, shape } from '../shapes.ts';

/**
 * The clients of one arm, each counted once for whatever it was answered since the trial decides for this share of
 * the clients. The verdicts of a client depend on each other, so only clients can be compared statistically.
 */
const ClientCountsSchema = shape(
  'By client, each counted once by all of its verdicts since the canary has this percent',
  {
    seen: count('All'),
    blocked: count('Answered BLOCK at least once'),
    waited: count('Answered WAIT at least once'),
    bots: count('isBot true at least once'),
    paid: count('Of those who asked since then: paid an order, and that was not taken back'),
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

/** The counts of one client whose fate changed. */
export function countsOfFate(before: ClientFate, after: ClientFate): ArmCounts {
  if (before === after) return NO_COUNTS;
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

/** What a verdict shows of its client for the first time in the stage that began at `since`. */
export function countsOfClient(mark: StageMark | null, since: number, answered: Answered): ArmCounts {
  const before = mark?.since === since ? mark : null;
  const after = markStage(before, since, answered);
  const isNew = (what: 'blocked' | 'waited' | 'bot') => (after[what] && before?.[what] !== true ? 1 : 0);
  const clients = { blocked: isNew('blocked'), waited: isNew('waited'), bots: isNew('bot') };
  return { ...NO_COUNTS, clients: { ...NO_CLIENTS, seen: before === null ? 1 : 0, ...clients } };
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
