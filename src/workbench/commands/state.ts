import type { Command } from 'commander';
import { readExactClock } from '#base/clock.ts';
import { formatCount } from '#base/count-text.ts';
import { Fleet } from '#checkout/rollout/fleet.ts';
import { recallRollout } from '#checkout/rollout/rollout-memory.ts';
import { readConfig } from '#config.ts';
import type { ClientKey } from '#decision/payer/client-key.ts';
import { HEAD_REGISTER } from '#history/archive/s3/bucket-home.ts';
import { ARCHIVE_REGISTER } from '#state/archive-register.ts';
import { SALT_REGISTER } from '#state/client-salt.ts';
import { createStoreClock } from '#state/clock-offset.ts';
import { STORE_ACCEPTED_REGISTER } from '#state/documents.ts';
import { formatOsUserActor } from '#workbench/access/actors.ts';
import { Audit, type AuditAction } from '#workbench/access/audit.ts';
import { findUnreadableTexts, rebuildClient, type UnreadableText } from '#workbench/payers/rebuild.ts';
import { makeNodesFollowStoreRollout } from '#workbench/rollout/restore-rollout.ts';
import { SECRET_REGISTER } from '#workbench/upkeep/signal-secret.ts';
import { EXIT_CODES, FindingsError } from './exit.ts';
import { withDecisionLookup } from './open-archive.ts';
import { withOpenStore } from './open-store.ts';
import { parsePlatform, parseReason } from './options.ts';
import { formatTable, print } from './print.ts';

/**
 * Adds `state check`, `rebuild`, `accept-empty`, `forget-secret` and `forget-archive`, which find and repair stored
 * data that cannot be read or was lost.
 */
export function addStateCommands(program: Command): void {
  const state = program.command('state').description('find stored data that cannot be read, and repair it');
  state
    .command('check')
    .description('read every stored state, document and register; exit code 1 when one cannot be read')
    .option('--json', 'print one JSON object')
    .action(({ json }: { json?: true }) => check(json === true));
  state
    .command('rebuild')
    .description('rebuild the state of a client that cannot be read, from its recorded entries')
    .requiredOption('--platform <name>', 'the platform of the client')
    .requiredOption('--client <clientIdKey>', 'the client')
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--json', 'print one JSON object')
    .action(rebuild);
  state
    .command('accept-empty')
    .description(
      'accept a store that came back empty or as an older backup: nodes serve from it again, and what it lacks is lost',
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--json', 'print {installation, revision}')
    .action(({ reason, json }: { reason: string; json?: true }) =>
      accept(parseReason(reason), json === true),
    );
  addForgetCommand(
    state,
    'forget-secret',
    'forget the SIGNAL_SECRET of the store when the secret is lost: counts of shared devices start again with the next one',
    SECRET,
  );
  addForgetCommand(
    state,
    'forget-archive',
    'forget the archive of the store when that archive is lost: the next node that ships begins a new one',
    ARCHIVE,
  );
}

async function check(json: boolean): Promise<void> {
  let lookedAt = 0;
  const onLook = () => {
    lookedAt += 1;
  };
  const unreadable = await withDecisionLookup((decisions, store) =>
    Array.fromAsync(findUnreadableTexts(store, onLook), async (one): Promise<DamagedText> => {
      return { ...one, client: one.kind === 'client' ? await decisions.findClient(one.name) : null };
    }),
  );
  if (unreadable.length > 0) process.exitCode = EXIT_CODES.findings;
  const rows = unreadable.map((one) => ({
    ...one,
    name: `${one.kind}/${one.name}`,
    remedy: describeRemedy(one),
  }));
  if (json) {
    const told = rows.map(({ name, client, why, remedy }) => ({
      name,
      platform: client?.platform ?? null,
      clientIdKey: client?.clientIdKey ?? null,
      why,
      remedy,
    }));
    print(JSON.stringify({ lookedAt, unreadable: told }));
  } else if (rows.length === 0)
    print(`Nothing is damaged: ${formatCount(lookedAt, 'stored text')} can be read.`);
  else {
    print(
      formatTable(
        ['NAME', 'WHY', 'WHAT TO DO'],
        rows.map(({ name, why, remedy }) => [name, why, remedy]),
      ),
    );
    print(`${rows.length} of ${formatCount(lookedAt, 'stored text')} cannot be read.`);
  }
}

interface DamagedText extends UnreadableText {
  /** The client whose state the text is. Null if the text is not a state, or if no record names the client any more. */
  readonly client: ClientKey | null;
}

function describeRemedy({ kind, name, client }: DamagedText): string {
  if (kind === 'client')
    return client === null
      ? 'no record names the client; restore a backup, or run state rebuild if the log says who it is'
      : `state rebuild --platform ${client.platform} --client ${client.clientIdKey} --reason TEXT`;
  if (kind === 'document') return 'remove it from the store, see "When something fails" in OPERATING.md';
  if (name === SECRET_REGISTER) return 'state forget-secret --reason TEXT';
  if (name === SALT_REGISTER) return 'restore it from a backup, see "When something fails" in OPERATING.md';
  return name === ARCHIVE_REGISTER ? 'state forget-archive --reason TEXT' : 'rules rollback --reason TEXT';
}

async function accept(reason: string, json: boolean): Promise<void> {
  const accepted = await withOpenStore(async (store, clock) => {
    const who = formatOsUserActor();
    const change = { who, at: clock(), reason };
    const installation = store.installation.id;
    const remembered = recallRollout(readConfig().dataDir);
    const isOurs = remembered?.installation === installation;
    const { registers, auditLog, name } = store;
    const rollout = await makeNodesFollowStoreRollout(
      new Fleet(store),
      isOurs ? remembered.rollout : null,
      change,
    );
    const before = await registers.read(STORE_ACCEPTED_REGISTER);
    await registers.compareAndSet(STORE_ACCEPTED_REGISTER, before, JSON.stringify(change));
    const revision = rollout?.revision ?? null;
    const after = { installation, revision };
    await new Audit(auditLog, clock).note({ who, action: 'store accepted', after, reason });
    return { name, installation, revision };
  }, true);
  const { name, installation, revision } = accepted;
  if (json) return print(JSON.stringify({ installation, revision }));
  const rollout =
    revision === null
      ? 'It has no rollout; the next node that starts creates one.'
      : `Nodes follow revision ${revision} of the rollout.`;
  print(
    `The store ${name} is accepted as installation ${installation}. ${rollout} Access keys that it lacks are refused from now on; issue new ones. Start nodes that have ended, and on SQLite the service, again.`,
  );
}

interface RebuildOptions {
  readonly platform: string;
  readonly client: string;
  readonly reason: string;
  readonly json?: true;
}

async function rebuild(options: RebuildOptions): Promise<void> {
  const platform = parsePlatform(options.platform);
  const reason = parseReason(options.reason);
  const rebuilt = await withDecisionLookup((decisions, store) => {
    const audit = new Audit(store.auditLog, createStoreClock(readExactClock, store));
    const client = store.clientKeys.of(platform, options.client);
    return rebuildClient({ store, decisions, audit }, client, formatOsUserActor(), reason);
  });
  if (rebuilt === null)
    throw new FindingsError(
      `${options.client} has no state, or its state can be read; "state check" lists states that cannot`,
    );
  const { why, entries, complete } = rebuilt;
  const since = rebuilt.since === null ? null : new Date(rebuilt.since).toISOString();
  if (options.json === true) print(JSON.stringify({ why, entries, since, complete }));
  else {
    print(`It could not be read: ${why}`);
    print(`It is rebuilt from ${formatCount(entries, 'recorded entry', 'recorded entries')}.`);
    if (!complete)
      print(
        `What happened before ${since ?? 'now'} is no longer recorded and no longer counts: check bindings and overrides.`,
      );
  }
}

/** A register (a named value) that a store writes once. Afterwards the store accepts no other value in it. */
interface WriteOnceRegister {
  readonly register: string;
  readonly also?: string;
  readonly action: AuditAction;
  readonly absent: string;
  readonly forgotten: string;
}

const SECRET: WriteOnceRegister = {
  register: SECRET_REGISTER,
  action: 'secret forgotten',
  absent: 'no SIGNAL_SECRET is noted in this store',
  forgotten:
    'The next node that starts notes its own SIGNAL_SECRET. Nodes that run go on with theirs: restart them with it.',
};

const ARCHIVE: WriteOnceRegister = {
  register: ARCHIVE_REGISTER,
  also: HEAD_REGISTER,
  action: 'archive forgotten',
  absent: 'no archive is noted in this store',
  forgotten:
    'The next node that ships makes its ARCHIVE_DIR the archive of this store, with what the journal still holds. What only the lost archive held is no longer found.',
};

function addForgetCommand(state: Command, name: string, description: string, noted: WriteOnceRegister): void {
  state
    .command(name)
    .description(description)
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--json', 'print {forgotten}')
    .action(async ({ reason, json }: { reason: string; json?: true }) => {
      await forget(noted, parseReason(reason));
      print(json === true ? JSON.stringify({ forgotten: noted.register }) : noted.forgotten);
    });
}

async function forget({ register, also, action, absent }: WriteOnceRegister, reason: string): Promise<void> {
  await withOpenStore(async (store, clock) => {
    const place = { kind: 'register', name: register } as const;
    const found = await store.texts.read(place);
    if (found === null || !(await store.texts.replace(place, found.stamp, null)))
      throw new FindingsError(absent);
    const other = also === undefined ? null : ({ kind: 'register', name: also } as const);
    const held = other === null ? null : await store.texts.read(other);
    if (other !== null && held !== null) await store.texts.replace(other, held.stamp, null);
    await new Audit(store.auditLog, clock).note({ who: formatOsUserActor(), action, reason });
  });
}
