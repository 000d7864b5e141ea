/**
 * A cell of RFC 4180. A text that a spreadsheet would run as a formula begins with an apostrophe, numbers never do, and
 * some spreadsheets take a semicolon for the end of a cell.
 */
export function formatCsvCell(value: unknown, text = String(value ?? '')): string {
  const harmless = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
