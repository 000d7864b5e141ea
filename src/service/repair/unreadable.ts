import { decodeClientState } from '../../client/state-document.ts';
import { parseRollout } from '../../rollout/rollout.ts';
import type { StoredText } from '../../state/health/stored-texts.ts';

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
        return name === 'rollout' && parseRollout(text) === null ? 'it holds no rollout' : null;
      default:
        return kind satisfies never;
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function readDocument(text: string): string | null {
  const document: unknown = JSON.parse(text);
  const isDocument = typeof document === 'object' && document !== null && 'value' in document;
  return isDocument ? null : 'it holds no document';
}
