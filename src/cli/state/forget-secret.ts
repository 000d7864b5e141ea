import type { Command } from 'commander';
import { actorOfUser } from '../../access/actor.ts';
import { Audit } from '../../access/audit.ts';
import { SECRET_REGISTER } from '../../service/signal-secret.ts';
import { FindingsError } from '../exit.ts';
import { withOpenStore } from '../open-store.ts';
import { print } from '../print.ts';
import { parseReason } from './reason.ts';

const PLACE = { kind: 'register', name: SECRET_REGISTER } as const;

/** state forget-secret: for whoever lost the SIGNAL_SECRET that the store was begun with. */
export function forgetSecretCommand(state: Command): void {
  state
    .command('forget-secret')
    .description(
      'forget which SIGNAL_SECRET the store was begun with, when it is lost: sharing counts start afresh with the next one',
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .action((options: { reason: string }) => forgetSecret(parseReason(options.reason)));
}

async function forgetSecret(reason: string): Promise<void> {
  await withOpenStore(async (store, clock) => {
    const found = await store.texts.read(PLACE);
    if (found === null || !(await store.texts.replace(PLACE, found.stamp, null)))
      throw new FindingsError('no SIGNAL_SECRET is noted in this store');
    await new Audit(store.auditLog, clock).note({
      who: actorOfUser(),
      action: 'secret forgotten',
      platform: null,
      subject: null,
      before: null,
      after: null,
      reason,
    });
  });
  print(
    'The next node that starts notes its own SIGNAL_SECRET. Nodes that run go on with theirs: restart them with it.',
  );
}
