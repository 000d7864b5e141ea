import { rateKey } from '../keys.ts';
import { type Admission, type BucketSettings, LocalRateBuckets, type RateBuckets } from '../rate-buckets.ts';
import type { RunCall } from '../run-call.ts';
import type { RedisCommands } from './connection/connection.ts';
import { wholeOf } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const takeToken = new RedisScript('take-token-1.lua');

const ADMITTED_AT_ONCE: Admission = { admitted: true, delayMs: 0 };

/** Buckets shared by the fleet; each node's own while Redis is away, so that a limit always holds. */
export function redisRateBuckets(commands: RedisCommands, runOn: (key: string) => RunCall): RateBuckets {
  const local = new LocalRateBuckets(() => performance.now());
  return {
    isFree: (bucket, settings) => local.isFree(bucket, settings),
    take: async (bucket, settings) => {
      const ofThisNode = local.takeNow(bucket, settings);
      const key = rateKey(bucket);
      try {
        const delayMs = await runOn(key)(async () =>
          wholeOf('take-token-1.lua', await takeToken.run(commands, [key], limits(settings))),
        );
        if (delayMs === 0) return ADMITTED_AT_ONCE;
        const admitted = delayMs > 0;
        local.learnDelay(bucket, settings, admitted ? delayMs : settings.delayMsMax);
        return admitted ? { admitted, delayMs } : { admitted };
      } catch {
        // The calls that need the store report StoreUnavailable; this one does not.
        return ofThisNode;
      }
    },
  };
}

function limits({ ratePerSecond, burst, delayMsMax }: BucketSettings): readonly string[] {
  return [String(ratePerSecond), String(burst), String(delayMsMax)];
}
