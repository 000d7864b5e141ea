import { rateKey } from '../keys.ts';
import { type Admission, type BucketSettings, localRateBuckets, type RateBuckets } from '../rate-buckets.ts';
import type { RunCall } from '../run-call.ts';
import type { RedisCommands } from './connection/connection.ts';
import { RedisScript } from './script.ts';

const takeToken = new RedisScript('take-token-1.lua');

/** Buckets shared by the fleet; each node's own while Redis is away, so that a limit always holds. */
export function redisRateBuckets(commands: RedisCommands, runOn: (key: string) => RunCall): RateBuckets {
  const local = localRateBuckets(() => performance.now());
  return {
    take: async (bucket, settings) => {
      const key = rateKey(bucket);
      try {
        const delayMs = await runOn(key)(() => takeToken.run(commands, [key], limits(settings)));
        return admission(delayMs);
      } catch {
        // StoreUnavailable is told by the calls that need the store; this one does not.
        return local.take(bucket, settings);
      }
    },
  };
}

function limits({ ratePerSecond, burst, delayMsMax }: BucketSettings): readonly string[] {
  return [String(ratePerSecond), String(burst), String(delayMsMax)];
}

function admission(delayMs: unknown): Admission {
  if (typeof delayMs !== 'number' || delayMs < 0) return { admitted: false };
  return { admitted: true, delayMs };
}
