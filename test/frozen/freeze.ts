import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { callerDocument } from '../../src/http/caller/caller-api.ts';
import { platformDocument } from '../../src/http/platform/platform-operations.ts';
import { essence, plain } from './api-changes.ts';
import { freeze, STORES } from './stored-forms.ts';

/**
 * `node test/frozen/freeze.ts`: writes what 0.1.0 stores and how its API looks. Run before 0.1.0 is released, never after: from
 * then on these files are what later versions must read and keep to.
 */
const folder = join(import.meta.dirname, '0.1.0');
mkdirSync(folder, { recursive: true });
for (const [who, document] of [
  ['callers', callerDocument('')],
  ['platforms', platformDocument()],
] as const)
  writeFileSync(join(folder, `${who}.json`), `${JSON.stringify(essence(plain(document)))}\n`);
for (const store of STORES) await freeze(store);
process.exit();
