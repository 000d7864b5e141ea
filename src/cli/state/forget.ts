import type { Command } from 'commander';
import { actorOfUser } from '../../access/actor.ts';
import { Audit, type AuditAction } from '../../access/audit.ts';
import { ARCHIVE_REGISTER } from '../../archive/ship/claim.ts';
import { SECRET_REGISTER } from '../../service/signal-secret.ts';
import { FindingsError } from '../exit.ts';
import { withOpenStore } from '../open-store.ts';
import { print } from '../print.ts';
import { parseReason } from './reason.ts';

/** What a store notes once and holds on to, so that nothing else is taken for it. */
interface Noted {
  readonly register: string;
  readonly action: AuditAction;
  readonly absent: string;
  readonly forgotten: string;
}

const SECRET: Noted = {
  register: SECRET_REGISTER,
  action: 'secret forgotten',
  absent: 'no SIGNAL_SECRET is noted in this store',
  forgotten:
    'The next node that starts notes its own SIGNAL_SECRET. Nodes that run go on with theirs: restart them with it.',
};

const ARCHIVE: Noted = {
  register: ARCHIVE_REGISTER,
  action: 'archive forgotten',
  absent: 'no archive is noted in this store',
  forgotten:
    'The next node that ships makes its ARCHIVE_DIR the archive of this store, with what the journal still holds. What only the archive before held is not found any more.',
};

/** state forget-secret, state forget-archive: for when what the store was started with is lost. */
export function forgetCommands(state: Command): void {
  forgetCommand(
    state,
    'forget-secret',
    'forget which SIGNAL_SECRET the store was begun with, when it is lost: sharing counts start afresh with the next one',
    SECRET,
  );
  forgetCommand(
    state,
    'forget-archive',
    'forget which folder is the archive of the store, when it is lost: the next node that ships begins one anew',
    ARCHIVE,
  );
}

function forgetCommand(state: Command, name: string, description: string, noted: Noted): void {
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

async function forget({ register, action, absent }: Noted, reason: string): Promise<void> {
  await withOpenStore(async (store, clock) => {
    const place = { kind: 'register', name: register } as const;
    const found = await store.texts.read(place);
    if (found === null || !(await store.texts.replace(place, found.stamp, null)))
      throw new FindingsError(absent);
    await new Audit(store.auditLog, clock).note({
      who: actorOfUser(),
      action,
      platform: null,
      subject: null,
      before: null,
      after: null,
      reason,
    });
  });
}
