import type { Command } from 'commander';
import {
  type AccessKey,
  AccessKeys,
  grantable,
  INSTALLATION,
  isInstallation,
  KEY_DAYS_MAX,
  KeyRefused,
  keyStatus,
  OPERATIONS,
  type Operation,
} from '#checkout/access/access-keys.ts';
import { PLATFORM_NAME_FORM, type PlatformName } from '#decision/payer/client-key.ts';
import { suggest } from '#decision/rules/problem.ts';
import { actorOfUser } from '#workbench/access/actors.ts';
import { Audit } from '#workbench/access/audit.ts';
import { keyNote, keyView } from '#workbench/access/key-views.ts';
import { type ApprovalOption, printProposed, proposedBy, WITHOUT_APPROVAL, whoChanges } from './approval.ts';
import { EXIT, UsageError } from './exit.ts';
import { withOpenStore } from './open-store.ts';
import { parseLifetime, parseWhose } from './options.ts';
import { print, printError, table } from './print.ts';

interface IssueOptions extends ApprovalOption {
  readonly platform: string;
  readonly operations: string;
  readonly expires: string;
  readonly owner?: string;
  readonly json?: true;
}

/** A forgotten key ends by itself. */
const DEFAULT_LIFETIME = '365d';

/** Printable, so that a name can be shown on any terminal. */
const OWNER = /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u;

/** keys issue, list, revoke: who may call, for which platform and operations. */
export function keysCommands(program: Command): void {
  const keys = program.command('keys').description('access keys of platforms');

  keys
    .command('issue')
    .description('issue a key; it is shown once')
    .requiredOption(
      '--platform <name>',
      `the platform, ${PLATFORM_NAME_FORM}; "*" for keys of the whole installation`,
    )
    .requiredOption(
      '--operations <list>',
      `comma-separated: ${OPERATIONS.join(', ')}; operate only with "*"; approve needs an owner`,
    )
    .option(
      '--expires <duration>',
      `lifetime, like 90d, ${KEY_DAYS_MAX} days at most; "never" for a key of "*" that does not expire`,
      DEFAULT_LIFETIME,
    )
    .option(
      '--owner <name>',
      'the person or team that answers for the key, for the history, the audit and approvals; person:SUB where that person signs in, too',
    )
    .option(...WITHOUT_APPROVAL)
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

async function issue(options: IssueOptions): Promise<void> {
  const { platform, operations, expires, owner, json } = options;
  const whose = parseWhose(platform);
  const granted = parseOperations(operations, whose);
  const lifetimeMs = expires === 'never' ? null : parseLifetime(expires);
  const answersForIt = owner === undefined ? undefined : parseOwner(owner);
  const { key, record } = await withOpenStore(async ({ documents }, clock) => {
    const keys = new AccessKeys(documents, clock);
    return orUsageError(async () => {
      await keys.requirePlace(whose);
      return keys.make(whose, granted, lifetimeMs, answersForIt);
    });
  });
  const proposal = await proposedBy(INSTALLATION, { what: 'key', record }, options);
  if (proposal === null) {
    await withOpenStore(async (store, clock) => {
      await orUsageError(() => new AccessKeys(store.documents, clock).keep(record));
      const note = { ...keyNote('key issued', null, record, clock()), who: whoChanges(options) };
      await new Audit(store.auditLog, clock).note(note);
    });
  }
  const { id, expiresAt } = record;
  const waits = proposal === null ? {} : { proposalId: proposal.proposalId };
  if (json === true)
    return print(JSON.stringify({ id, key, platform, operations: record.operations, expiresAt, ...waits }));
  if (proposal !== null) printProposed(INSTALLATION, proposal, false);
  print(
    `Key ${id} for ${inWords(record)}: ${record.operations.join(', ')}; ${expiresAt === null ? 'does not expire' : `expires ${expiresAt}`}.`,
  );
  print(
    `Keep it as a secret; it is shown only now${proposal === null ? '' : ', and works once it is approved'}:`,
  );
  print(key);
}

async function orUsageError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof KeyRefused ? new UsageError(error.message) : error;
  }
}

async function list(json: boolean): Promise<void> {
  const { records, now } = await withOpenStore(async (store, clock) => ({
    records: await new AccessKeys(store.documents, clock).list(),
    now: clock(),
  }));
  if (json) return print(JSON.stringify(records.map((record) => keyView(record, now))));
  if (records.length === 0)
    return print('There is no key yet. Issue one: keys issue --platform <name> --operations score,verdict');
  const rows = records.map((record) => [
    record.id,
    record.platform,
    record.owner ?? '',
    record.operations.join(','),
    keyStatus(record, now),
    record.issuedAt,
    record.expiresAt ?? 'NEVER',
  ]);
  print(table(['ID', 'PLATFORM', 'OWNER', 'OPERATIONS', 'STATUS', 'ISSUED', 'EXPIRES'], rows));
}

async function revoke(id: string, json: boolean): Promise<void> {
  const { record, now } = await withOpenStore(async (store, clock) => {
    const keys = new AccessKeys(store.documents, clock);
    const before = await keys.find(id);
    const revoked = await keys.revoke(id);
    if (revoked !== null) {
      const note = { ...keyNote('key revoked', before, revoked, clock()), who: actorOfUser() };
      await new Audit(store.auditLog, clock).note(note);
    }
    return { record: revoked, now: clock() };
  });
  if (record === null) {
    printError(`There is no key "${id}"; "keys list" shows the ids.`);
    process.exitCode = EXIT.findings;
    return;
  }
  if (json) print(JSON.stringify(keyView(record, now)));
  else print(`Key ${record.id} of ${inWords(record)} is revoked.`);
}

function inWords({ platform, owner }: AccessKey): string {
  const whose = isInstallation(platform) ? 'the whole installation' : `platform "${platform}"`;
  return owner === undefined ? whose : `${whose}, owner ${owner}`;
}

function parseOwner(text: string): string {
  if (OWNER.test(text)) return text;
  throw new UsageError(`--owner must be 1 to 64 printable characters, not ${JSON.stringify(text)}`);
}

function parseOperations(list: string, whose: PlatformName): readonly Operation[] {
  return list.split(',').map((text) => {
    const name = text.trim();
    const operation = OPERATIONS.find((candidate) => candidate === name);
    if (operation === undefined)
      throw new UsageError(`unknown operation "${name}"${suggest(name, OPERATIONS)}`);
    if (!grantable(whose).includes(operation)) {
      throw new UsageError(
        isInstallation(whose)
          ? `keys of the whole installation may have ${grantable(whose).join(', ')}; issue a key of a platform for "${name}"`
          : `"${name}" concerns every platform; it is granted to keys of the whole installation alone: --platform '*'`,
      );
    }
    return operation;
  });
}
