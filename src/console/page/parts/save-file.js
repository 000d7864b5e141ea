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
