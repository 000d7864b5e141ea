import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DOCUMENTS, essence, plain } from './api-changes.ts';
import { freeze, STORES } from './stored-forms.ts';

/**
 * `node test/frozen/freeze.ts [--documents]`: writes what 0.1.0 stores and how its API looks, or only the latter. Run before
 * 0.1.0 is released, never after: from then on these files are what later versions must read and keep to.
 */
const { values } = parseArgs({ options: { documents: { type: 'boolean' } } });
const folder = join(import.meta.dirname, '0.1.0');
mkdirSync(folder, { recursive: true });
/** JSON with an operation or a schema a line, so that two changes rarely meet. */
const byLine = (value: unknown) =>
  JSON.stringify(value, null, 1).replaceAll(/\n(?: {4,}| {3}(?=[}\]]))/g, '');
for (const [who, document] of Object.entries(DOCUMENTS))
  writeFileSync(join(folder, `${who}.json`), `${byLine(essence(plain(document())))}\n`);
if (values.documents !== true) for (const store of STORES) await freeze(store);
process.exit();
