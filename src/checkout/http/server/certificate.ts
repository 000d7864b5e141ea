import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { NamedError } from '#base/named-error.ts';

/** The files of a listener's certificate chain and of its private key, both in PEM. */
export interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** The files cannot be used. The message says which and why. */
export class CertificateError extends NamedError {}

/** Every cipher has forward secrecy, so a key that leaks later does not decrypt recorded traffic. */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE+AESGCM',
  'ECDHE+CHACHA20',
].join(':');

/**
 * Explains what to do about a key file that other users may read. Returns null if none may. Windows has no such
 * modes.
 */
export function findKeyFileWarning({ keyFile }: CertificateFiles): string | null {
  const mode = process.platform === 'win32' ? 0 : statSync(keyFile).mode & 0o007;
  return mode === 0
    ? null
    : `${keyFile} can be read by every user of this machine; make it chmod 600 (or 640)`;
}

/**
 * How often the files are checked for changes. A replaced symbolic link is followed, because Kubernetes replaces
 * links.
 */
const LOOK_MS = 1000;

/**
 * Reads the files. Throws CertificateError if one cannot be read or is not PEM, or if the key does not belong to the
 * certificate.
 */
export function readCertificate({ certificateFile, keyFile }: CertificateFiles): SecureContextOptions {
  const cert = readText(certificateFile);
  const key = readText(keyFile);
  const certificate = requireParsed(certificateFile, 'certificate', () => new X509Certificate(cert));
  const privateKey = requireParsed(keyFile, 'private key without a password', () => createPrivateKey(key));
  if (certificate.checkPrivateKey(privateKey)) return { cert, key, ciphers: CIPHERS, minVersion: 'TLSv1.2' };
  throw new CertificateError(`the key in ${keyFile} is not that of the certificate in ${certificateFile}`);
}

/** Returns when the certificate in the file ends, epoch ms. Returns null if the file cannot be read. */
export function readCertificateEndMs({ certificateFile }: CertificateFiles): number | null {
  try {
    return new X509Certificate(readFileSync(certificateFile)).validToDate.getTime();
  } catch {
    return null;
  }
}

/**
 * Loads the files again whenever one of them changes. New connections get the new certificate, and open connections
 * stay untouched. If the files cannot be used, the old certificate stays. `onChange` gets the reason, or null when
 * the new certificate is in use.
 */
export function followCertificate(
  server: Server,
  files: CertificateFiles,
  onChange: (problem: string | null) => void,
): void {
  const reload = () => {
    try {
      server.setSecureContext(readCertificate(files));
      onChange(null);
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error;
      onChange(error.message);
    }
  };
  const paths = [files.certificateFile, files.keyFile];
  for (const path of paths) watchFile(path, { interval: LOOK_MS, persistent: false }, reload);
  server.once('close', () => {
    for (const path of paths) unwatchFile(path, reload);
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CertificateError(`${path} cannot be read; check the path and its permissions`, { cause });
  }
}

function requireParsed<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new CertificateError(`${path} does not hold a ${what} in PEM form`, { cause });
  }
}
