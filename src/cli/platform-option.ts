import { isInstallation } from '../access/access-keys.ts';
import { isPlatformName, PLATFORM_NAME_FORM, type PlatformName } from '../client/client-key.ts';
import { UsageError } from './exit.ts';

/** The value of --platform. Throws UsageError when it is not a platform name. */
export function parsePlatform(text: string): PlatformName {
  if (isPlatformName(text)) return text;
  throw new UsageError(`--platform must have ${PLATFORM_NAME_FORM}, not "${text}"`);
}

/** The same where it may also be the whole installation, `*`. */
export function parseWhose(text: string): PlatformName {
  if (isPlatformName(text) || isInstallation(text)) return text;
  throw new UsageError(
    `--platform must have ${PLATFORM_NAME_FORM}, or be "*" for the whole installation, not "${text}"`,
  );
}
