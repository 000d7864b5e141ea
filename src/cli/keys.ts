import type { Command } from 'commander';
import { type AccessKey, AccessKeys, keyStatus, OPERATIONS, type Operation } from '../access/access-keys.ts';
import { PLATFORM_NAME_FORM } from '../client/client-key.ts';
import { systemClock } from '../clock.ts';
import { DURATION_FORM, parseDuration } from '../rules/duration.ts';
import { suggest } from '../rules/problem.ts';
import { EXIT, UsageError } from './exit.ts';
import { parsePlatform } from './platform-option.ts';
import { table } from './table.ts';
import { withStore } from './with-store.ts';

interface IssueOptions {
  readonly platform: string;
  readonly operations: string;
  readonly expires?: string;
  readonly json?: true;
}

/** keys issue, list, revoke: who may call, for which platform and operations. */
export function keysCommands(program: Command): void {
  const keys = program.command('keys').description('access keys of platforms');

  keys
    .command('issue')
    .description('issue a key; it is shown once')
    .requiredOption('--platform <name>', `the platform: ${PLATFORM_NAME_FORM}`)
    .requiredOption('--operations <list>', `comma-separated: ${OPERATIONS.join(', ')}`)
    .option('--expires <duration>', 'lifetime, like 90d; without it the key does not expire')
    .option('--json', 'print one JSON object')
    .action((options: IssueOptions) => issue(options));

  keys
    .command('list')
    .description('all keys, without their secrets')
    .option('--json', 'print a JSON array')
    .action((options: { json?: true }) => list(options.json === true));

  keys
    .command('revoke <id>')
    .description('refuse a key from now on, on every node within a second')
    .option('--json', 'print one JSON object')
    .action((id: string, options: { json?: true }) => revoke(id, options.json === true));
}

async function issue({ platform, operations, expires, json }: IssueOptions): Promise<void> {
  const granted = parseOperations(operations);
  const lifetimeMs = expires === undefined ? null : parseLifetime(expires);
  const owner = parsePlatform(platform);
  const { key, record } = await withStore((store) =>
    new AccessKeys(store.documents, systemClock).issue(owner, granted, lifetimeMs),
  );
  const { id, expiresAt } = record;
  if (json === true) {
    console.log(JSON.stringify({ id, key, platform, operations: record.operations, expiresAt }));
    return;
  }
  console.log(
    `Key ${id} for platform "${platform}": ${record.operations.join(', ')}; ${expiresAt === null ? 'does not expire' : `expires ${expiresAt}`}.`,
  );
  console.log('Keep it as a secret; it is shown only now:');
  console.log(key);
}

async function list(json: boolean): Promise<void> {
  const records = await withStore((store) => new AccessKeys(store.documents, systemClock).list());
  const now = systemClock();
  if (json) {
    console.log(JSON.stringify(records.map((record) => publicRecord(record, now))));
    return;
  }
  if (records.length === 0) {
    console.log('There is no key yet. Issue one: keys issue --platform <name> --operations score,verdict');
    return;
  }
  const rows = records.map((record) => [
    record.id,
    record.platform,
    record.operations.join(','),
    keyStatus(record, now),
    record.issuedAt,
    record.expiresAt ?? 'never',
  ]);
  console.log(table(['ID', 'PLATFORM', 'OPERATIONS', 'STATUS', 'ISSUED', 'EXPIRES'], rows));
}

async function revoke(id: string, json: boolean): Promise<void> {
  const record = await withStore((store) => new AccessKeys(store.documents, systemClock).revoke(id));
  if (record === null) {
    console.error(`There is no key "${id}"; "keys list" shows the ids.`);
    process.exitCode = EXIT.findings;
    return;
  }
  if (json) console.log(JSON.stringify(publicRecord(record, systemClock())));
  else console.log(`Key ${record.id} of platform "${record.platform}" is revoked.`);
}

function publicRecord(record: AccessKey, now: number) {
  const { id, platform, operations, issuedAt, expiresAt, revokedAt } = record;
  return { id, platform, operations, status: keyStatus(record, now), issuedAt, expiresAt, revokedAt };
}

function parseOperations(list: string): readonly Operation[] {
  return list.split(',').map((text) => {
    const name = text.trim();
    const operation = OPERATIONS.find((candidate) => candidate === name);
    if (operation === undefined)
      throw new UsageError(`unknown operation "${name}"${suggest(name, OPERATIONS)}`);
    return operation;
  });
}

function parseLifetime(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new UsageError(`--expires must be ${DURATION_FORM}, not "${text}"`);
  return ms;
}
