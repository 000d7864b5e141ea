/**
 * Formats a cell as RFC 4180 demands. A text that a spreadsheet would run as a formula gets an apostrophe at its
 * beginning. A number never gets one. A cell with a semicolon is quoted, because some spreadsheets end a cell there.
 */
export function formatCsvCell(value: unknown, text = String(value ?? '')): string {
  const harmless = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
