// Node does not strip types below node_modules; this does it for the files of this package alone. Worker
// threads start with it too, since they inherit `--import`.
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';

const SOURCE = new URL('../src/', import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(SOURCE) || !url.endsWith('.ts')) return nextLoad(url, context);
    const source = stripTypeScriptTypes(readFileSync(new URL(url), 'utf8'));
    return { format: 'module', source, shortCircuit: true };
  },
});
