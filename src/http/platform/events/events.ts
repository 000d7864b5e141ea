import type { EventFeed } from '../../../archive/read/event-feed.ts';
import type { PlatformName } from '../../../client/client-key.ts';
import { list, named, nullable, shape, word } from '../../../shapes.ts';
import { UnknownCursor } from '../../../state/store-errors.ts';
import type { Shares } from '../../../work/turns.ts';
import { AT_EXAMPLE, DECISION_EXAMPLE } from '../../openapi/decision-shapes.ts';
import { type Asked, jsonAnswer, jsonInSteps, operation } from '../../operation/operation.ts';
import {
  BAD_PARAMETER,
  badParameter,
  queryCount,
  queryLimit,
  queryPattern,
} from '../../operation/parameters.ts';
import { GrantWatch } from '../../request/grant-watch.ts';
import { TOO_MANY_AT_ONCE, UNKNOWN_KEY } from '../../request/refusals.ts';
import { eventsOf, PlatformEventSchema } from './event-view.ts';

/** Less than proxies wait for an answer. */
const WAIT_SECONDS_MAX = 20;

/** Requests of one key that wait at once: each reader has one, and a second when its connection broke. */
const WAITING_MAX = 8;

const AFTER = queryPattern(
  'after',
  /^([0-9]{1,15}|1(\.([0-9a-z]{1,8}(-[0-9a-z]{1,4})?)?){64})$/,
  'The `next` of the page before; absent: from the oldest event that is kept',
  'the `next` of an earlier answer of this installation, unchanged',
);
const LIMIT = queryLimit({ default: 100, max: 500 });
const WAIT = queryCount('wait', WAIT_SECONDS_MAX, 'Seconds to wait while there is no event');

const PageSchema = named(
  'EventPage',
  shape('What happened to the clients of a platform', {
    events: list(
      PlatformEventSchema,
      'Oldest first, at most about `limit`; it may be empty although more follows',
    ),
    next: nullable(word('Where to read on, also behind no events; null before the first of all')),
  }),
);

export const readEvents = operation({
  method: 'get',
  path: '/v1/platform/events',
  operationId: 'readEvents',
  summary: 'What happened, oldest first',
  description: `Verdicts, outcomes, bindings, overrides and erasures, for keeping a copy elsewhere. Ask again with \`next\`,
which stays valid while the archive keeps its rows. Each event comes at least once, and the events of a payer in
their order; the \`id\` of an event never changes, so that what was seen before can be dropped. What was lost before
it could be told is an event of the type \`gap\`. With \`wait\` an answer without events comes after that time, or when the
node shuts down.`,
  tag: 'Events',
  grant: 'events',
  parameters: [AFTER, LIMIT, WAIT],
  answers: jsonAnswer('A page of events', PageSchema, {
    events: [
      {
        specversion: '1.0',
        id: 'shop.0.0.1.m7v1k0',
        source: 'client-scoring/shop',
        type: 'verdict',
        subject: '4611686018427387904',
        time: new Date(AT_EXAMPLE).toISOString(),
        datacontenttype: 'application/json',
        data: { clientIdKey: 'ann', kind: 'verdict', at: AT_EXAMPLE, decision: DECISION_EXAMPLE },
      },
    ],
    next: '1',
  }),
  refusals: [BAD_PARAMETER],
  answer: async (asked, { feed, waiting }: EventParts) => {
    const { ctx, caller } = asked;
    const question = { after: AFTER.read(ctx), limit: LIMIT.read(ctx) };
    const waitSeconds = WAIT.read(ctx);
    if (waitSeconds > 0 && waiting.of(caller.credential.id) >= WAITING_MAX)
      throw TOO_MANY_AT_ONCE.problem('access key');
    waiting.take(caller.credential.id);
    const end = new WaitEnd(asked, waitSeconds * 1000);
    try {
      const text = await nextPage(asked, feed, question, end);
      ctx.type = 'json';
      return text;
    } catch (error) {
      if (error instanceof UnknownCursor) throw badParameter(UNKNOWN_PLACE);
      throw error;
    } finally {
      end.stop();
      waiting.giveBack(caller.credential.id);
    }
  },
});

const UNKNOWN_PLACE =
  'The parameter after is no place of this installation. It must be the `next` of an earlier answer, unchanged; without it the feed begins with the oldest event that is kept.';

export interface EventParts {
  readonly feed: EventFeed;
  /** Requests under way, by access key. */
  readonly waiting: Shares;
}

/** When a request must not wait any longer: its time is up, its connection closed, or its key ended. */
class WaitEnd {
  readonly came: Promise<void>;
  readonly #grant: GrantWatch;
  readonly #timer: NodeJS.Timeout;
  #hasCome: boolean;

  constructor({ ctx, isGranted }: Asked<never>, waitMs: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.came = promise;
    this.#hasCome = waitMs === 0;
    const come = () => {
      this.#hasCome = true;
      resolve();
    };
    this.#timer = setTimeout(come, waitMs);
    this.#grant = new GrantWatch(isGranted);
    this.#grant.ended.then(come);
    ctx.res.once('close', come);
  }

  get hasCome(): boolean {
    return this.#hasCome;
  }

  /** Throws 401 when the key was revoked or has expired meanwhile. */
  requireGrant(): void {
    if (this.#grant.hasEnded)
      throw UNKNOWN_KEY.problem('The access key was revoked or has expired while its request waited.');
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#grant.stop();
  }
}

/** The JSON of the next page, which has no events only when the waiting time is over; '' when nobody waits for it any more. */
async function nextPage(
  { caller: { platform }, inTurn }: Asked<never>,
  feed: EventFeed,
  { after, limit }: { readonly after: string | null; readonly limit: number },
  end: WaitEnd,
): Promise<string> {
  for (let from = after; ; ) {
    const watch = feed.watch(platform);
    try {
      const page = await inTurn(() => pageText(feed, platform, from, limit), null);
      if (page === null) return '';
      end.requireGrant();
      if (!page.isEmpty || end.hasCome || feed.hasEnded) return page.text;
      from = page.cursor;
      await Promise.race([watch.news(from), end.came]);
    } finally {
      watch.close();
    }
  }
}

async function pageText(feed: EventFeed, platform: PlatformName, after: string | null, limit: number) {
  const { cursor, ended, ...page } = await feed.page(platform, after, limit);
  const events = eventsOf(platform, page, feed.numberOf);
  const text = await jsonInSteps({ events, next: cursor });
  return { text, cursor, isEmpty: ended && events.length === 0 };
}
