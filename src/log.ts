import { type Logger, pino } from 'pino';

/** Names under which something secret or personal could slip into a log line by mistake. */
const SECRET_NAMES = [
  'key',
  'accessKey',
  'x-ka-access-key',
  'fingerprint',
  'ip',
  'userAgent',
  'signalSecret',
  'password',
];

/** JSON lines on stderr; stdout is left to what a person starting the service reads. */
export function createLog(level: string): Logger {
  const paths = SECRET_NAMES.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);
  return pino(
    { level, base: { service: 'client-scoring' }, redact: { paths, censor: '[redacted]' } },
    pino.destination(2),
  );
}
