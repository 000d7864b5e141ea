import type { ClientKey } from '../client/client-key.ts';
import { decodeClientState } from '../client/state-document.ts';
import { parseRollout } from '../rollout/rollout.ts';
import { clientKeysUnder, SALT_REGISTER } from '../state/client-salt.ts';
import type { StoredText, TextPlace } from '../state/health/stored-texts.ts';
import type { Store } from '../state/store.ts';
import { parseKnownSecret, SECRET_REGISTER } from './signal-secret.ts';

/** A stored text that cannot be read. */
export interface Unreadable extends TextPlace {
  readonly why: string;
  /** Whose state it is; null when it is not a state, or when no record names the client any more. */
  readonly client: ClientKey | null;
}

/** Looks at every text of a store; `onLook` is called for each. */
export async function* unreadableTexts(store: Store, onLook: () => void): AsyncGenerator<Unreadable> {
  for await (const text of store.texts.all()) {
    onLook();
    const why = whyUnreadable(text);
    if (why === null) continue;
    const { kind, name } = text;
    yield { kind, name, why, client: kind === 'client' ? await namedClient(store, name) : null };
  }
}

/** The client behind a hash, as the newest entry about it tells. */
async function namedClient(store: Store, clientHash: string): Promise<ClientKey | null> {
  const { entries } = await store.historyOfClient({ hash: clientHash }, 1);
  const [entry] = entries;
  return entry === undefined ? null : store.clientKeys.of(entry.platform, entry.clientIdKey);
}

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
  if (name === SALT_REGISTER) clientKeysUnder(text);
  return null;
}

function readDocument(text: string): string | null {
  const document: unknown = JSON.parse(text);
  const isDocument = typeof document === 'object' && document !== null && 'value' in document;
  return isDocument ? null : 'it holds no document';
}
