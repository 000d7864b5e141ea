import type { StoreWarning } from '../health/store-health.ts';

/** The oldest Redis whose scripts, options and replies the service was written for. */
const MAJOR_VERSION_MIN = 7;

/** Beyond this share of its memory a server should get more, while there is time. */
const MEMORY_SHARE_MAX = 0.85;

/** Why a server cannot be used at all, or null; told from its INFO. */
export function tooOld(server: string, info: string): string | null {
  const version = fieldOf(info, 'redis_version');
  if (version === null || Number.parseInt(version, 10) >= MAJOR_VERSION_MIN) return null;
  return `${server} is version ${version}, and ${MAJOR_VERSION_MIN}.0 or newer is needed; upgrade it, or set REDIS_URL to another`;
}

/** What a server's INFO tells about the promises that need its settings; null when INFO could not be had. */
export function brokenPromises(server: string, info: string | null): readonly StoreWarning[] {
  const field = (name: string) => (info === null ? null : fieldOf(info, name));
  const policy = field('maxmemory_policy');
  const appendOnly = field('aof_enabled');
  const old = info === null ? null : tooOld(server, info);
  return [
    ...(old === null ? [] : [{ kind: 'version', text: `${old}.` } as const]),
    ...evictionWarning(server, policy),
    ...appendOnlyWarning(server, appendOnly),
    ...memoryWarning(server, info),
    ...uncheckedWarning(server, {
      'its version': field('redis_version'),
      'maxmemory-policy': policy,
      appendonly: appendOnly,
    }),
  ];
}

function evictionWarning(server: string, policy: string | null): readonly StoreWarning[] {
  if (policy === null || policy === 'noeviction') return [];
  const text = `${server} has maxmemory-policy ${policy}: short of memory it forgets payers, who then look new; set noeviction.`;
  return [{ kind: 'eviction', text }];
}

function appendOnlyWarning(server: string, enabled: string | null): readonly StoreWarning[] {
  if (enabled === null || enabled === '1') return [];
  const text = `${server} keeps no append-only file: a restart loses acknowledged verdicts; set appendonly yes.`;
  return [{ kind: 'append-only', text }];
}

/** How much of its maxmemory a server uses, 0 to 1; null when it has no such bound or does not tell. */
export function memoryUsedShare(info: string | null): number | null {
  const [used, bound] = ['used_memory', 'maxmemory'].map((name) => Number(info && fieldOf(info, name)));
  return used && bound ? used / bound : null;
}

function memoryWarning(server: string, info: string | null): readonly StoreWarning[] {
  if ((memoryUsedShare(info) ?? 0) <= MEMORY_SHARE_MAX) return [];
  const text = `${server} has used more than ${100 * MEMORY_SHARE_MAX} % of its maxmemory: when it is full every verdict is 503; give it more.`;
  return [{ kind: 'memory', text }];
}

function uncheckedWarning(
  server: string,
  fields: Readonly<Record<string, string | null>>,
): readonly StoreWarning[] {
  const unknown = Object.entries(fields)
    .filter(([, value]) => value === null)
    .map(([name]) => name);
  if (unknown.length === 0) return [];
  const text = `${server} does not tell ${unknown.join(', ')}: whether it keeps the promises could not be checked; allow INFO, or look yourself.`;
  return [{ kind: 'unchecked', text }];
}

function fieldOf(info: string, name: string): string | null {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null;
}
