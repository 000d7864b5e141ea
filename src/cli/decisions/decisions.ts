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
import { withDecisions } from '../with-decisions.ts';
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
    .description('the decisions about an order, newest first')
    .requiredOption('--order <ref>', "the caller's orderRef")
    .option('--platform <name>', 'only of this platform; without it all that have a key')
    .option('--json', 'print a JSON array of decision records')
    .action((options: FindOptions) => find(options));
  explainCommand(decisions);
}

async function find({ order, platform, json }: FindOptions): Promise<void> {
  const wanted = platform === undefined ? null : parsePlatform(platform);
  const found = await withDecisions(async (decisions, store) => {
    const platforms = wanted === null ? await platformsWithKeys(store) : [wanted];
    const lists = await Promise.all(platforms.map((name) => decisions.ofOrder(name, order)));
    return lists.flat().toSorted((a, b) => b.at - a.at || b.seq - a.seq);
  });
  if (json === true) print(JSON.stringify(found));
  else if (found.length === 0) printError(`No decision about order ${quoted(order)} is kept.`);
  else print(describe(found));
  if (found.length === 0) process.exitCode = EXIT.findings;
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
