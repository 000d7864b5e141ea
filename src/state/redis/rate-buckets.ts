import { rateKey } from '../keys.ts';
import { type Admission, type BucketSettings, LocalRateBuckets, type RateBuckets } from '../rate-buckets.ts';
import type { RunCall } from '../run-call.ts';
import { TokenLeases } from '../token-leases.ts';
import type { RedisCommands } from './connection/connection.ts';
import { itemsOf, wholeOf } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const SCRIPT = 'take-token-1.lua';
const takeToken = new RedisScript(SCRIPT);

const ADMITTED_AT_ONCE: Admission = { admitted: true, delayMs: 0 };
const AT_ONCE = Promise.resolve(ADMITTED_AT_ONCE);

/** Buckets shared by the fleet; each node's own while Redis is away, so that a limit always holds. */
export function redisRateBuckets(commands: RedisCommands, runOn: (key: string) => RunCall): RateBuckets {
  const monotonicMs = () => performance.now();
  const local = new LocalRateBuckets(monotonicMs);
  const leases = new TokenLeases(monotonicMs);
  const shared = async (bucket: string, settings: BucketSettings, wanted: number): Promise<Admission> => {
    const key = rateKey(bucket);
    const askedMs = monotonicMs();
    let leased = 0;
    try {
      const args = limits(settings, wanted);
      const [delayMs = -1, more = 0] = await runOn(key)(async () =>
        itemsOf(SCRIPT, await takeToken.run(commands, [key], args)).map((item) => wholeOf(SCRIPT, item)),
      );
      leased = more;
      if (delayMs === 0) return ADMITTED_AT_ONCE;
      const admitted = delayMs > 0;
      local.learnDelay(bucket, settings, admitted ? delayMs : settings.delayMsMax);
      return admitted ? { admitted, delayMs } : { admitted };
    } finally {
      if (wanted > 0) leases.grant(bucket, leased, askedMs);
    }
  };
  return {
    isFree: (bucket, settings) => local.isFree(bucket, settings),
    take: (bucket, settings) => {
      const ofThisNode = local.takeNow(bucket, settings);
      const wanted = leases.ask(bucket, settings);
      if (wanted === 'leased') return AT_ONCE;
      // The calls that need the store report StoreUnavailable; this one does not.
      return shared(bucket, settings, wanted).catch(() => ofThisNode);
    },
  };
}

function limits({ ratePerSecond, burst, delayMsMax }: BucketSettings, wanted: number): readonly string[] {
  return [String(ratePerSecond), String(burst), String(Math.floor(delayMsMax)), String(wanted)];
}
