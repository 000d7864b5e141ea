import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The shell is the same browser without windows, and needs a third less of a processor. */
const NAMES = ['chromium-headless-shell', 'chromium'] as const;

/** The path of the browser that tests and pictures use; null when this machine has none. */
export function installedChromium(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const places = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return places.find((path) => existsSync(path)) ?? null;
}
