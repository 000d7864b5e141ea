import { decodeClientState } from '../../client/state-document.ts';
import { parseRollout } from '../../rollout/rollout.ts';
import type { StoredText } from '../../state/health/stored-texts.ts';
import { parseKnownSecret, SECRET_REGISTER } from '../signal-secret.ts';

/** Why a stored text cannot be read; null when it can. */
export function whyUnreadable({ kind, name, text }: StoredText): string | null {
  try {
    switch (kind) {
      case 'client':
        decodeClientState(text);
        return null;
      case 'document':
        return readDocument(text);
      case 'register':
        return whyNoRegister(name, text);
      default:
        return kind satisfies never;
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function whyNoRegister(name: string, text: string): string | null {
  if (name === 'rollout') return parseRollout(text) === null ? 'it holds no rollout' : null;
  if (name === SECRET_REGISTER) parseKnownSecret(text);
  return null;
}

function readDocument(text: string): string | null {
  const document: unknown = JSON.parse(text);
  const isDocument = typeof document === 'object' && document !== null && 'value' in document;
  return isDocument ? null : 'it holds no document';
}
