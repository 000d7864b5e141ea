import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { own } from '../../../test/processes/own-process.ts';
import { freePort } from '../../../test/servers/free-port.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';

/** Starts HAProxy on a free port, which `settingsFor` puts into its settings. */
export async function startHaproxy(
  settingsFor: (port: number) => string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const port = await freePort();
  const file = join(temporaryDirectory(), 'haproxy.cfg');
  writeFileSync(file, settingsFor(port));
  const child = own(spawn('haproxy', ['-db', '-q', '-f', file], { stdio: 'ignore' }));
  return { child, url: `http://127.0.0.1:${port}` };
}
