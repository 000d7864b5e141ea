import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packaged } from '../../../test/packaging/packaged.ts';
import { own } from '../../../test/processes/own-process.ts';
import { freePort } from '../../../test/servers/free-port.ts';
import { temporaryDirectory } from '../../../test/servers/temporary-directory.ts';

export function getUrlPort(url: string): number {
  return Number(new URL(url).port);
}

/**
 * Starts HAProxy as packaged on a free port. HAProxy gets a lower limit of connections, because a tester may open
 * fewer files.
 */
export async function startHaproxy(
  nodes: readonly (readonly [callerPort: number, platformPort: number])[],
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const port = await freePort();
  const file = join(temporaryDirectory(), 'haproxy.cfg');
  const servers = nodes.map(
    ([callerPort, platformPort], index) =>
      `    server scoring-${index + 1} 127.0.0.1:${callerPort} check port ${platformPort} inter 1s fall 2 rise 1\n`,
  );
  const settings = packaged('packaging/haproxy.cfg')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('maxconn 20000', 'maxconn 200')
    .replaceAll(/^ {4}server .*\n/gm, '');
  writeFileSync(file, `${settings}${servers.join('')}`);
  const child = own(spawn('haproxy', ['-db', '-q', '-f', file], { stdio: 'ignore' }));
  return { child, url: `http://127.0.0.1:${port}` };
}
