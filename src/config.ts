import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve, sep } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { formatCount } from './base/count-text.ts';
import { DURATION_FORM, parseDuration } from './base/duration.ts';
import { createFileOnce } from './base/files/atomic-file.ts';
import { makeOwnFolder } from './base/files/folders.ts';
import { NamedError } from './base/named-error.ts';
import type { CertificateFiles } from './checkout/http/server/certificate.ts';
import type { ListenAddress } from './checkout/http/server/listener.ts';
import { isRuleVersion, RULE_VERSION_FORM, type RuleVersion } from './decision/rules/rule-set.ts';
import type { S3Place } from './history/archive/s3/bucket.ts';
import { parseRedisUrl, type RedisSecurity } from './state/redis/connection/url.ts';
import { RETENTION } from './state/retention.ts';
import type { ProviderSettings } from './workbench/access/identity-provider.ts';
import { parseRoleMappings, type RoleMapping } from './workbench/access/roles.ts';

/** All settings, checked. */
export interface Config {
  readonly caller: ListenAddress;
  readonly platform: ListenAddress;
  /** The console's address for people. Null if it is not set. */
  readonly consoleUrl: URL | null;
  /** The identity provider. Null if people sign in by keys only. */
  readonly provider: ProviderSettings | null;
  /** The path before every caller path: empty, or a path like `/scoring`. */
  readonly basePath: string;
  readonly dataDir: string;
  /** The URL of Redis. Null for SQLite under `dataDir`. */
  readonly redisUrl: string | null;
  readonly redisSecurity: RedisSecurity;
  readonly rulesDir: string;
  /** The version with which the first node of an empty store starts. Null means the newest released version. */
  readonly ruleVersion: RuleVersion | null;
  /** The number of proxies in front of the service that append to X-Forwarded-For. */
  readonly trustedProxies: number;
  /** The allowed requests a second for each caller. 0 switches the limit off. */
  readonly rateLimitPerSecond: number;
  readonly rateLimitBurst: number;
  /** The secret of pseudonyms. Null if none is set. `getOrCreateSignalSecret` then returns the node's own secret. */
  readonly signalSecret: string | null;
  /** The previous signalSecret, which still recognises earlier devices. Null if the secret was not changed. */
  readonly signalSecretPrevious: string | null;
  readonly logLevel: LogLevel;
  /** The folder of the archive, or of this machine's cache of the archive. Null if nothing is archived. */
  readonly archiveDir: string | null;
  /** A file outside every backup that says which payers were erased. Null if there is none. */
  readonly erasureLedger: string | null;
  /** The bucket that holds the archive. Null if the archive is in a folder. */
  readonly archiveS3: S3Place | null;
  /** Whether this node may ship the journal to the archive. */
  readonly archiveShips: boolean;
  /** How long the archive keeps decisions, ms. */
  readonly archiveKeepMs: number;
  /** How long a node keeps serving after it was told to end, so that proxies see that it is not ready. */
  readonly drainGraceMs: number;
  /** How long the store keeps decisions that the archive has, ms. */
  readonly decisionsHotMs: number;
  /** Whether somebody else has to approve changes that reach most payers. */
  readonly requiresApproval: boolean;
  /** Whether the service runs in production. It then issues no key for trying the service out. */
  readonly isProduction: boolean;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

type LogLevel = (typeof LOG_LEVELS)[number];

/** A setting is wrong. The message says which, what is allowed, and what to do. */
export class ConfigError extends NamedError {}

const SIGNAL_SECRET_CHARS_MIN = 32;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads all settings. No other code reads the environment. A secret's `_FILE` variant names a file with its value. */
export function readConfig(env: Environment = process.env): Config {
  requireOneProcess(env);
  const dataDir = resolve(readSetting(env, 'DATA_DIR') ?? 'data');
  return {
    ...readAddresses(env),
    consoleUrl: readConsoleUrl(env),
    provider: readProvider(env),
    basePath: readBasePath(env),
    dataDir,
    ...readRedis(env),
    rulesDir: resolve(readSetting(env, 'RULES_DIR') ?? join(import.meta.dirname, '..', 'rules')),
    ruleVersion: readRuleVersion(env),
    trustedProxies: readWholeNumber(env, 'TRUSTED_PROXIES', 0, 0, 32),
    rateLimitPerSecond: readWholeNumber(env, 'RATE_LIMIT_PER_SECOND', 20, 0, 1_000_000),
    rateLimitBurst: readWholeNumber(env, 'RATE_LIMIT_BURST', 20, 1, 1_000_000),
    signalSecret: readSignalSecret(env, 'SIGNAL_SECRET'),
    signalSecretPrevious: readSignalSecret(env, 'SIGNAL_SECRET_PREVIOUS'),
    logLevel: readLogLevel(env),
    ...readArchive(env, dataDir),
    erasureLedger: readErasureLedger(env, dataDir),
    archiveShips: readOnOff(env, 'ARCHIVE_SHIP', 'on'),
    archiveKeepMs: readDuration(env, 'ARCHIVE_KEEP', '400d'),
    requiresApproval: readApprovals(env),
    isProduction: readSetting(env, 'NODE_ENV') === 'production',
    drainGraceMs: readDrainGrace(env),
    decisionsHotMs: readDecisionsHot(env),
  };
}

/** Refuses the setting with which former guides started several processes. */
function requireOneProcess(env: Environment): void {
  if (readSetting(env, 'WORKERS') === null) return;
  throw new ConfigError(
    'WORKERS is set, but a node is one process; start several of them on one Redis, each with a PORT and a PLATFORM_PORT of its own behind the proxy (packaging/OPERATING.md, Processes), and leave WORKERS out',
  );
}

function readAddresses(env: Environment): Pick<Config, 'caller' | 'platform'> {
  const caller = readAddress(env, '', '0.0.0.0', 8080);
  const platform = readAddress(env, 'PLATFORM_', '127.0.0.1', 8081);
  const [one, other] = [caller.host, platform.host];
  const areApart =
    one !== other && [one, other].every((host) => isIP(host) > 0 && !/^(0\.0\.0\.0|::)$/.test(host));
  if (caller.port !== platform.port || caller.port === 0 || areApart) return { caller, platform };
  throw new ConfigError(
    `PORT and PLATFORM_PORT are both ${caller.port}; callers and the platform have a port each, so set one of them to another`,
  );
}

function readAddress(env: Environment, prefix: '' | 'PLATFORM_', host: string, port: number): ListenAddress {
  const tls = readCertificateFiles(env, `${prefix}TLS_CERT`, `${prefix}TLS_KEY`);
  return {
    host: readSetting(env, `${prefix}HOST`) ?? host,
    port: readWholeNumber(env, `${prefix}PORT`, port, 0, 65_535),
    ...(tls === null ? {} : { tls }),
  };
}

function readCertificateFiles(env: Environment, certificate: Setting, key: Setting): CertificateFiles | null {
  const certificateFile = readSetting(env, certificate);
  const keyFile = readSetting(env, key);
  if (certificateFile === null && keyFile === null) return null;
  if (certificateFile !== null && keyFile !== null)
    return { certificateFile: resolve(certificateFile), keyFile: resolve(keyFile) };
  const [given, missing] = certificateFile === null ? [key, certificate] : [certificate, key];
  throw new ConfigError(`${given} is set without ${missing}; set both, or neither for HTTP without TLS`);
}

/** Parses a place in S3, written as in ARCHIVE_DIR. It may be the place of a backup or of another installation. */
export function parseS3Place(given: string): S3Place | null {
  return readArchive({ ...process.env, ARCHIVE_DIR: given }, '').archiveS3;
}

/** The smallest allowed size of the cache. A cache of this size has room for two merges of the largest segments. */
const CACHE_BYTES_MIN = 500e6;

function readArchive(env: Environment, dataDir: string): Pick<Config, 'archiveDir' | 'archiveS3'> {
  const given = readSetting(env, 'ARCHIVE_DIR');
  if (given === 'off') return { archiveDir: null, archiveS3: null };
  if (given?.startsWith('s3:') !== true)
    return { archiveDir: resolve(given ?? join(dataDir, 'archive')), archiveS3: null };
  const [, bucket, path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*))?$/.exec(given) ?? [];
  if (bucket === undefined || path.split('/').includes('..'))
    throw new ConfigError(
      `ARCHIVE_DIR is "${given}"; in a store that speaks S3 it must be s3://BUCKET or s3://BUCKET/PREFIX`,
    );
  const prefix = path === '' ? '' : `${path.replace(/\/+$/, '')}/`;
  const cache = resolve(dataDir, 'archive-cache');
  const pathStyle = readOnOff(env, 'ARCHIVE_S3_PATH_STYLE', 'off');
  const cacheBytesMax = readBytes(env, 'ARCHIVE_CACHE_MAX', '10GB');
  if (cacheBytesMax < CACHE_BYTES_MIN)
    throw new ConfigError(
      'ARCHIVE_CACHE_MAX must be at least 500MB: a merge of the archive has to fit into it',
    );
  const forSdk = ([name, value]: [string, string | undefined]) =>
    value !== undefined && (name === 'HOME' || name.startsWith('AWS_')) ? [[name, value] as const] : [];
  const environment = Object.fromEntries(Object.entries(env).flatMap(forSdk));
  // Each bucket has a folder of its own in the cache.
  return {
    archiveDir: join(cache, bucket, prefix),
    archiveS3: { bucket, prefix, pathStyle, cacheBytesMax, environment },
  };
}

/** Reads the path of the erasure ledger. A ledger that is restored with a backup would not know the later erasures. */
function readErasureLedger(env: Environment, dataDir: string): string | null {
  const given = readSetting(env, 'ERASURE_LEDGER');
  if (given === null) return null;
  for (const folder of [dataDir, readArchive(env, dataDir).archiveDir])
    if (folder !== null && resolve(given).startsWith(`${folder}${sep}`))
      throw new ConfigError(
        `ERASURE_LEDGER is ${given}, which is inside ${folder}; name a file that no backup of the store or the archive brings back`,
      );
  return resolve(given);
}

const BYTES_IN = { MB: 1e6, GB: 1e9, TB: 1e12 } as const;

function readBytes(env: Environment, name: Setting, fallback: string): number {
  const text = readSetting(env, name) ?? fallback;
  const [, number, unit] = /^(\d+)(MB|GB|TB)$/.exec(text) ?? [];
  const times = unit === 'MB' || unit === 'GB' || unit === 'TB' ? BYTES_IN[unit] : 0;
  const found = Number(number) * times;
  if (found > 0) return found;
  throw new ConfigError(`${name} is "${text}"; it must be a number with MB, GB or TB, like 10GB`);
}

function readOnOff(env: Environment, name: Setting, fallback: 'on' | 'off'): boolean {
  const given = readSetting(env, name) ?? fallback;
  if (given === 'on' || given === 'off') return given === 'on';
  throw new ConfigError(`${name} is "${given}"; it must be on or off`);
}

function readApprovals(env: Environment): boolean {
  const given = readSetting(env, 'APPROVALS') ?? 'off';
  if (given === 'required' || given === 'off') return given === 'required';
  throw new ConfigError(`APPROVALS is "${given}"; it must be off or required`);
}

function readDuration(env: Environment, name: Setting, fallback: string, orElse = ''): number {
  const text = readSetting(env, name) ?? fallback;
  const ms = parseDuration(text);
  if (ms === null) throw new ConfigError(`${name} is "${text}"; it must be ${orElse}${DURATION_FORM}`);
  return ms;
}

/** The limit of DRAIN_GRACE. The runtime's timers fire at once if they are set for longer than 24 days. */
const DRAIN_GRACE_MS_MAX = 24 * 3_600_000;

function readDrainGrace(env: Environment): number {
  const text = readSetting(env, 'DRAIN_GRACE');
  const ms = text === '0' || text === '0s' ? 0 : readDuration(env, 'DRAIN_GRACE', '5s', '0, or ');
  if (ms <= DRAIN_GRACE_MS_MAX) return ms;
  throw new ConfigError(`DRAIN_GRACE is "${text}"; it must be at most 1d`);
}

/** An answer under an Idempotency-Key is rebuilt from its decision, so the decision is kept for at least a day. */
function readDecisionsHot(env: Environment): number {
  const text = readSetting(env, 'DECISIONS_HOT') ?? '1d';
  const ms = parseDuration(text);
  if (ms !== null && ms >= RETENTION.idempotencyMs && ms <= RETENTION.decisionMs) return ms;
  throw new ConfigError(
    `DECISIONS_HOT is "${text}"; it must be a whole number of d or h, like 7d or 36h: at least 1d, because verdicts under an Idempotency-Key are repeated for a day, and at most 90d`,
  );
}

const SETTINGS = [
  ...['HOST', 'PLATFORM_HOST', 'PORT', 'PLATFORM_PORT', 'PLATFORM_TLS_CERT', 'PLATFORM_TLS_KEY', 'TLS_CERT'],
  ...['APPROVALS', 'BASE_PATH', 'DATA_DIR', 'DECISIONS_HOT', 'DRAIN_GRACE', 'ERASURE_LEDGER', 'LOG_LEVEL'],
  ...['ARCHIVE_CACHE_MAX', 'ARCHIVE_DIR', 'ARCHIVE_KEEP', 'ARCHIVE_S3_PATH_STYLE'],
  ...['ARCHIVE_SHIP', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ISSUER', 'OIDC_ROLES', 'PLATFORM_URL'],
  ...['RATE_LIMIT_BURST', 'RATE_LIMIT_PER_SECOND', 'REDIS_CA', 'REDIS_CERT', 'REDIS_KEY', 'REDIS_URL'],
  ...['REDIS_SENTINEL_PASSWORD', 'RULES_DIR', 'RULE_VERSION', 'SIGNAL_SECRET', 'SIGNAL_SECRET_PREVIOUS'],
  ...['NODE_ENV', 'TLS_KEY', 'TRUSTED_PROXIES', 'WORKERS'],
] as const;
type Setting = (typeof SETTINGS)[number];

/**
 * Lists names in the environment that are one letter away from a setting and so have no effect. Names of up to five
 * letters are left out, because names of other programs come that near by chance.
 */
export function listMistypedSettings(env: Environment = process.env): readonly string[] {
  const known = SETTINGS.flatMap((name): string[] => [name, `${name}_FILE`]);
  const others = Object.keys(env).filter((one) => one.length > 5 && !known.includes(one));
  return others.flatMap((name) => {
    const meant = known.find((one) => distance(name, one) === 1);
    return meant === undefined ? [] : [`${name} is no setting and has no effect; did you mean ${meant}?`];
  });
}

/** An empty setting counts as not set, because compose files and CI write it so. */
function readSetting(env: Environment, name: Setting | `${Setting}_FILE`): string | null {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? null : value;
}

function readSecret(env: Environment, name: Setting): string | null {
  const path = readSetting(env, `${name}_FILE`);
  if (path === null) return readSetting(env, name);
  if (readSetting(env, name) !== null)
    throw new ConfigError(`${name} and ${name}_FILE are both set; keep one of them`);
  const text = readNamedFile(`${name}_FILE`, path);
  if (text !== '') return text;
  throw new ConfigError(`${name}_FILE names ${path}, which is empty; put the secret into it`);
}

/** Reads a secret under which fingerprints and IPs are hashed. A short secret could be guessed. */
function readSignalSecret(env: Environment, name: Setting): string | null {
  const text = readSecret(env, name);
  if (text === null || text.length >= SIGNAL_SECRET_CHARS_MIN) return text;
  throw new ConfigError(
    `${name} has ${formatCount(text.length, 'character')}; it must have ${SIGNAL_SECRET_CHARS_MIN} or more, like what "openssl rand -base64 32" prints`,
  );
}

function readNamedFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new ConfigError(`${name} names ${path}, which cannot be read; check the path and its permissions`, {
      cause,
    });
  }
}

function readWholeNumber(
  env: Environment,
  name: Setting,
  fallback: number,
  min: number,
  max: number,
): number {
  const text = readSetting(env, name);
  if (text === null) return fallback;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
}

function readBasePath(env: Environment): string {
  const text = readSetting(env, 'BASE_PATH');
  if (text === null || text === '/') return '';
  if (/^(\/[A-Za-z0-9._~-]+)+$/.test(text)) return text;
  throw new ConfigError(`BASE_PATH must be a path like /scoring, without a slash at its end, not "${text}"`);
}

function readConsoleUrl(env: Environment): URL | null {
  const text = readSetting(env, 'PLATFORM_URL');
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url !== null && `${url.search}${url.hash}${url.username}` === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return url;
  throw new ConfigError(
    `PLATFORM_URL must be the address that people open the console at, like https://scoring.example.com, not "${text}"`,
  );
}

function readProvider(env: Environment): ProviderSettings | null {
  const issuer = readSetting(env, 'OIDC_ISSUER');
  if (issuer === null) return null;
  const required = (name: Setting, value = readSetting(env, name)) => {
    if (value !== null) return value;
    throw new ConfigError(`OIDC_ISSUER is set without ${name}; people sign in only when both are`);
  };
  required('PLATFORM_URL');
  return {
    issuer: parseIssuerUrl(issuer),
    clientId: required('OIDC_CLIENT_ID'),
    clientSecret: required('OIDC_CLIENT_SECRET', readSecret(env, 'OIDC_CLIENT_SECRET')),
    roles: parseRoleGrants(required('OIDC_ROLES')),
  };
}

function parseIssuerUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url?.hostname ?? '');
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere)) return url;
  throw new ConfigError(
    `OIDC_ISSUER must be the https address of the identity provider, as its issuer, not "${text}"`,
  );
}

function parseRoleGrants(text: string): readonly RoleMapping[] {
  const grants = parseRoleMappings(text);
  if (typeof grants !== 'string') return grants;
  throw new ConfigError(`OIDC_ROLES ${grants}`);
}

function readRedis(env: Environment): Pick<Config, 'redisUrl' | 'redisSecurity'> {
  const url = readSecret(env, 'REDIS_URL');
  if (url !== null) parseRedisUrl(url);
  const sentinelPassword = readSecret(env, 'REDIS_SENTINEL_PASSWORD');
  const ca = readFileSetting(env, 'REDIS_CA');
  const cert = readFileSetting(env, 'REDIS_CERT');
  const key = readFileSetting(env, 'REDIS_KEY');
  if ((cert === null) !== (key === null))
    throw new ConfigError('REDIS_CERT and REDIS_KEY belong together; set both or neither');
  if ((ca ?? cert) !== null && !url?.startsWith('rediss'))
    throw new ConfigError(
      'REDIS_CA and REDIS_CERT are for TLS, but REDIS_URL asks for none; begin it with rediss:// or rediss-sentinel://',
    );
  return {
    redisUrl: url,
    redisSecurity: {
      ...(ca === null ? {} : { ca }),
      ...(cert === null || key === null ? {} : { cert, key }),
      ...(sentinelPassword === null ? {} : { sentinelPassword }),
    },
  };
}

function readFileSetting(env: Environment, name: Setting): string | null {
  const path = readSetting(env, name);
  return path === null ? null : readNamedFile(name, path);
}

function readRuleVersion(env: Environment): RuleVersion | null {
  const text = readSetting(env, 'RULE_VERSION');
  if (text === null || isRuleVersion(text)) return text;
  throw new ConfigError(`RULE_VERSION "${text}" must be ${RULE_VERSION_FORM}`);
}

function readLogLevel(env: Environment): LogLevel {
  const text = readSetting(env, 'LOG_LEVEL') ?? 'info';
  const level = LOG_LEVELS.find((candidate) => candidate === text);
  if (level !== undefined) return level;
  throw new ConfigError(`LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}, not "${text}"`);
}

/**
 * Returns the secret that is set, or otherwise the node's own. The node's own secret is made and stored when it is
 * first needed, so that devices are recognised after a restart. It is not made earlier, so that a mere check of rules
 * leaves no file behind.
 */
export function getOrCreateSignalSecret({
  signalSecret,
  dataDir,
}: Pick<Config, 'signalSecret' | 'dataDir'>): string {
  if (signalSecret !== null) return signalSecret;
  const path = join(dataDir, SECRET_FILE);
  const text = readOrMakeSecret(dataDir, path);
  if (text !== '') return text;
  throw new ConfigError(`${path} is empty; restore it from a backup, or remove it to have a new one made`);
}

/** Lists the secrets that exist: the present one, and then the previous one. No secret is made. */
export function listSignalSecrets({
  signalSecret,
  signalSecretPrevious,
  dataDir,
}: Pick<Config, 'signalSecret' | 'signalSecretPrevious' | 'dataDir'>): readonly string[] {
  const isMade = signalSecret !== null || existsSync(join(dataDir, SECRET_FILE));
  const present = isMade ? [getOrCreateSignalSecret({ signalSecret, dataDir })] : [];
  return signalSecretPrevious === null ? present : [...present, signalSecretPrevious];
}

const SECRET_FILE = 'signal-secret';

function readOrMakeSecret(dataDir: string, path: string): string {
  try {
    makeOwnFolder(dataDir);
    // If two processes start together, one is faster, and both read its secret.
    if (!existsSync(path)) createFileOnce(path, `${randomBytes(32).toString('base64url')}\n`);
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new ConfigError(
      `DATA_DIR is ${dataDir}, where the file signal-secret cannot be kept; make the folder writable or set another DATA_DIR`,
      { cause },
    );
  }
}
