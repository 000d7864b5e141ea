import type { Node } from 'yaml';
import { CURRENCY_PATTERN, DECIMAL_PATTERN } from '../../client/amount.ts';
import type { YamlFile } from './yaml-file.ts';

const CURRENCY = new RegExp(CURRENCY_PATTERN);
const DECIMAL = new RegExp(DECIMAL_PATTERN);

/** Whether a text is a currency; reported when it is none. */
export function checkCurrency(file: YamlFile, node: Node | null, text: string): boolean {
  if (CURRENCY.test(text)) return true;
  file.report(node, `currency must be 3 or 4 capital letters or digits, like EUR, not "${text}"`);
  return false;
}

/** Whether a text is a decimal number; reported when it is none. `name` is what messages call it. */
export function checkDecimal(file: YamlFile, node: Node, name: string, text: string): boolean {
  if (DECIMAL.test(text)) return true;
  file.report(node, `${name} must be a decimal text, like "250.00", not "${text}"`);
  return false;
}
