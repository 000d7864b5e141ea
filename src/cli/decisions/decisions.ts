import type { Command } from 'commander';
import { AccessKeys } from '../../access/access-keys.ts';
import type { PlatformName } from '../../client/client-key.ts';
import { exactSystemClock } from '../../clock.ts';
import type { Decision } from '../../decision/decision.ts';
import { nameText, quoted } from '../../rules/condition-text.ts';
import { storeClock } from '../../state/clock-offset.ts';
import type { Store } from '../../state/store.ts';
import { EXIT } from '../exit.ts';
import { parsePlatform } from '../platform-option.ts';
import { print, printError } from '../print.ts';
import { table } from '../table.ts';
import { unreadHere, withDecisions } from '../with-decisions.ts';
import { explainCommand } from './explain.ts';

interface FindOptions {
  readonly order: string;
  readonly platform?: string;
  readonly json?: true;
}

/** decisions ...: what was decided and why, for people who answer a dispute. */
export function decisionsCommands(program: Command): void {
  const decisions = program.command('decisions').description('recorded decisions');
  decisions
    .command('find')
    .description(
      'the decisions about an order, newest first; exit code 1 when there is none, or files cannot be read',
    )
    .requiredOption('--order <ref>', "the caller's orderRef")
    .option('--platform <name>', 'only of this platform; without it all that have a key')
    .option('--json', 'print a JSON array of decision records')
    .action((options: FindOptions) => find(options));
  explainCommand(decisions);
}

async function find({ order, platform, json }: FindOptions): Promise<void> {
  const wanted = platform === undefined ? null : parsePlatform(platform);
  const lists = await withDecisions(async (decisions, store) => {
    const platforms = wanted === null ? await platformsWithKeys(store) : [wanted];
    return Promise.all(platforms.map((name) => decisions.ofOrder(name, order)));
  });
  const unread = lists.flatMap((list) => list.unread);
  const found = lists.flatMap((list) => list.decisions).toSorted((a, b) => b.at - a.at || b.seq - a.seq);
  if (json === true) print(JSON.stringify(found));
  else if (found.length > 0) print(describe(found));
  else if (unread.length === 0) printError(`No decision about order ${quoted(order)} is kept.`);
  const others = `Whether there are ${found.length === 0 ? 'any' : 'others'} about order ${quoted(order)}`;
  for (const one of unread) printError(unreadHere(others, one));
  if (found.length === 0 || unread.length > 0) process.exitCode = EXIT.findings;
}

function describe(decisions: readonly Decision[]): string {
  const rows = decisions.map((decision) => [
    new Date(decision.at).toISOString(),
    decision.platform,
    nameText(decision.clientIdKey),
    decision.waitSeconds === undefined ? decision.verdict : `${decision.verdict} ${decision.waitSeconds} s`,
    decision.rule,
    decision.ruleVersion,
    decision.clientGroup,
    decision.isBot ? `yes: ${decision.signals.join(', ')}` : 'no',
    decision.decisionId,
  ]);
  return table(
    ['AT', 'PLATFORM', 'CLIENT', 'VERDICT', 'RULE', 'RULE VERSION', 'GROUP', 'BOT', 'DECISION ID'],
    rows,
  );
}

async function platformsWithKeys(store: Store): Promise<readonly PlatformName[]> {
  const keys = await new AccessKeys(store.documents, storeClock(exactSystemClock, store)).list();
  return [...new Set(keys.map(({ platform }) => platform))];
}
