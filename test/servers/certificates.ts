import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CertificateFiles } from '#checkout/http/server/certificate.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** An authority of the tests; what it signs is good for 127.0.0.1 and localhost. Needs openssl. */
export interface Authority {
  readonly caFile: string;
  readonly ca: string;
  /** A new certificate and its key, in files of their own. */
  issue(name: string): CertificateFiles;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

export function makeAuthority(): Authority {
  const folder = temporaryDirectory();
  const path = (file: string) => join(folder, file);
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const caFile = path('ca.pem');
  openssl('req', '-x509', ...NEW_KEY, '-keyout', path('ca.key'), '-out', caFile, '-subj', '/CN=tests');
  return {
    caFile,
    ca: readFileSync(caFile, 'utf8'),
    issue: (name) => {
      const files = { certificateFile: path(`${name}.pem`), keyFile: path(`${name}.key`) };
      openssl(
        'req',
        '-x509',
        ...NEW_KEY,
        '-CA',
        caFile,
        '-CAkey',
        path('ca.key'),
        '-keyout',
        files.keyFile,
        '-out',
        files.certificateFile,
        '-subj',
        `/CN=${name}`,
        '-addext',
        'subjectAltName=IP:127.0.0.1,DNS:localhost',
        '-addext',
        'basicConstraints=CA:FALSE',
      );
      return files;
    },
  };
}
