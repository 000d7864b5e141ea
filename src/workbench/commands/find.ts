import type { Command } from 'commander';
import { formatCount } from '#base/count-text.ts';
import type { WithMomentsAsText } from '#base/shapes.ts';
import { formatCallerText, quoteText } from '#decision/rules/condition-text.ts';
import type { FoundKind, FoundRecords } from '#workbench/payers/find-records.ts';
import { findByPart } from '#workbench/platform/find.ts';
import { EXIT_CODES } from './exit.ts';
import { explainUnreadDecisions } from './open-archive.ts';
import { addOperationCommand, type CommandContext } from './operation-command.ts';
import { formatTable, printError } from './print.ts';

type Found = WithMomentsAsText<FoundRecords>;

/** Adds `find`, which finds payers, orders, decisions, devices and list entries by a part of an id. */
export function addFindCommand(program: Command): void {
  addOperationCommand<Found>(program, {
    operation: findByPart,
    platform: 'named',
    needs: { lists: true, archive: true },
    formatAnswer: formatFound,
    jsonHelp: 'print what GET /v1/platform/find answers',
    afterPrint: endOfFind,
  });
}

function formatFound(found: Found): string {
  const rows = listRows(found);
  return rows.length === 0 ? '' : formatTable(['KIND', 'NAME', 'PAYER', 'LAST', 'ABOUT'], rows);
}

function listRows({ payers, orders, decisions, devices, listEntries }: Found): readonly string[][] {
  return [
    ...payers.map(({ clientIdKey, lastAt }) => ['payer', formatCallerText(clientIdKey), '', lastAt, '']),
    ...orders.map(({ orderRef, clientIdKey, lastAt, verdict }) => [
      'order',
      formatCallerText(orderRef),
      formatCallerText(clientIdKey),
      lastAt,
      verdict ?? 'only reported',
    ]),
    ...decisions.map(({ decisionId, requestId, clientIdKey, orderRef, verdict, at }) => [
      'decision',
      decisionId,
      formatCallerText(clientIdKey),
      at,
      `${verdict}, order ${formatCallerText(orderRef)}, request ${requestId}`,
    ]),
    ...devices.flatMap(({ kind, value, clients, payers: seen }) =>
      seen.map(({ clientIdKey, lastAt }) => [
        kind,
        value,
        formatCallerText(clientIdKey),
        lastAt,
        formatCount(clients, 'payer'),
      ]),
    ),
    ...listEntries.map(({ list, value, reason, hasEnded }) => [
      'list entry',
      formatCallerText(value),
      '',
      '',
      `${list}: ${reason}${hasEnded ? ' (has ended)' : ''}`,
    ]),
  ];
}

const KIND_NAMES: Readonly<Record<FoundKind, string>> = {
  payers: 'payers',
  orders: 'orders',
  decisions: 'decisions',
  devices: 'devices',
  listEntries: 'list entries',
};

function endOfFind(found: Found, { options, platform }: CommandContext): void {
  const { cut, lookedAt } = found;
  const text = quoteText(String(options['text']));
  const isNothing = listRows(found).length === 0;
  if (options['json'] !== true) {
    if (isNothing) printError(`Nothing of ${platform} has ${text} in its name.`);
    if (cut.length > 0)
      printError(`There are more ${cut.map((kind) => KIND_NAMES[kind]).join(', ')}; --limit N shows more.`);
    printError(describeLookedAt(lookedAt));
  }
  for (const one of lookedAt.unread ?? []) printError(explainUnreadDecisions(`What else has ${text}`, one));
  if (isNothing || !lookedAt.complete) process.exitCode = EXIT_CODES.findings;
}

function describeLookedAt({ backTo, hasOlder, upTo }: Found['lookedAt']): string {
  if (backTo === null) return 'Nothing is kept.';
  const older = hasOlder
    ? `Searched back to ${backTo}; older records were not.`
    : `Searched back to ${backTo}, the oldest that is kept.`;
  return upTo === undefined ? older : `${older} What came since ${upTo} was not read yet.`;
}
