/**
 * Gives somebody a file to keep, as a download.
 * @param {string} name
 * @param {string} type
 * @param {BlobPart} content
 */
export function saveFile(name, type, content) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Rows as CSV, the names of the columns first. @param {readonly (readonly unknown[])[]} rows */
export function csvText(rows) {
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

/**
 * A cell of RFC 4180. A text that a spreadsheet would run as a formula begins with an apostrophe, and some
 * spreadsheets take a semicolon for the end of a cell.
 * @param {unknown} value
 */
function cell(value) {
  const text = String(value ?? '');
  const harmless = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** A line of JSON each. @param {readonly unknown[]} items */
export function linesOf(items) {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}
