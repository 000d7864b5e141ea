import { isJsonObject } from '#base/files/json-object.ts';
import type { DeclaredOperation } from '#checkout/http/operation/operation.ts';
import { formatTime, toEpochMs } from '#decision/payer/instant.ts';
import type { RuleParts } from '#workbench/platform/parts.ts';
import { formatTable } from './print.ts';

/**
 * Formats the items that an operation lists as a table with the columns of its command. `missing` has the text that
 * is shown for a member that is null, by the member's name.
 */
export function formatItemTable(
  { command }: DeclaredOperation<RuleParts>,
  items: readonly object[],
  missing: Readonly<Record<string, string>> = {},
): string {
  const columns = Object.entries(command?.columns ?? {});
  const rows = items.map((item) =>
    columns.map(([, member]) => formatCell(item, member, missing[member] ?? '')),
  );
  const isNumber = (member: string) => items.some((item) => typeof Reflect.get(item, member) === 'number');
  const right = columns.flatMap(([, member], place) => (isNumber(member) ? [place] : []));
  return formatTable(
    columns.map(([heading]) => heading),
    rows,
    { right },
  );
}

function formatCell(item: object, member: string, missing: string): string {
  const value: unknown = Reflect.get(item, member);
  if (value === null || value === undefined) return missing;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.join(',');
  if (isJsonObject(value)) return JSON.stringify(value);
  return typeof value === 'string' ? formatMoment(value) : String(value);
}

/** Matches a moment in the form of answers. Other texts are shown unchanged. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function formatMoment(value: string): string {
  const at = MOMENT.test(value) ? toEpochMs(value) : null;
  return at === null ? value : formatTime(at);
}
