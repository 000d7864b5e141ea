import KeyvRedis from '@keyv/redis';
import { isJsonObject } from '../../files/json-object.ts';
import { type DocumentIndex, type Documents, documentsKeyv, keyvDocuments } from '../documents.ts';
import { DOCUMENTS, documentNamesKey, documentPrefix, VERSIONS } from '../keys.ts';
import type { RunCall } from '../run-call.ts';
import type { Versions, VersionTable } from '../versions.ts';
import type { RedisCommands } from './connection/connection.ts';
import { checked, itemsOf } from './connection/reply.ts';
import { RedisScript } from './script.ts';

const noteName = new RedisScript('note-document-name-1.lua');
const documentNames = new RedisScript('document-names-1.lua');

/** A name is written before its document; a name without one is forgotten only after this. */
const NAME_GRACE_MS = 60_000;

/**
 * Documents in Keyv over a connection that is already open and belongs to somebody else. Callers must not
 * use it after that connection is closed: the adapter would open it again.
 */
export function redisDocuments(commands: RedisCommands, run: RunCall, versions: Versions): Documents {
  const store = new KeyvRedis(commands, { throwOnErrors: true, keyPrefixSeparator: ':' });
  return keyvDocuments(documentsKeyv({ store, namespace: DOCUMENTS }), namesIndex(commands), run, versions);
}

/** Versions in one hash beside the documents. */
export function redisVersions(commands: RedisCommands, run: RunCall): VersionTable {
  return {
    read: () => run(() => checked('HGETALL', commands.hGetAll(VERSIONS), isJsonObject)),
    write: (name, version) =>
      run(async () => {
        await commands.hSet(VERSIONS, name, version);
      }),
  };
}

function namesIndex(commands: RedisCommands): DocumentIndex {
  return {
    add: async (collection, name) => {
      await noteName.run(commands, [documentNamesKey(collection)], [name]);
    },
    remove: async (collection, name) => {
      await commands.zRem(documentNamesKey(collection), name);
    },
    names: async (collection) => {
      const args = [documentPrefix(collection), String(NAME_GRACE_MS)];
      const names = await documentNames.run(commands, [documentNamesKey(collection)], args);
      return itemsOf('document-names-1.lua', names).map(String);
    },
  };
}
