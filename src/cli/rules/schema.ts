import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { ruleSchemas, schemaFileName, schemaText } from '../../authoring/schema/rule-schema.ts';
import { readConfig } from '../../config.ts';
import { print } from '../print.ts';
import { fromHere } from './rule-folders.ts';

/** rules schema: what editors need to help with rule files. */
export function schemaCommand(rules: Command): void {
  rules
    .command('schema')
    .description('write the JSON Schemas of rule files, for editors, into RULES_DIR/schema')
    .option('--json', 'print one JSON object')
    .action(({ json }: { json?: true }) => {
      const written = writeSchemas(join(readConfig().rulesDir, 'schema'));
      if (json === true) print(JSON.stringify({ files: written }));
      else for (const { file, change } of written) print(`${file}: ${change}`);
    });
}

interface WrittenSchema {
  readonly file: string;
  readonly change: 'written' | 'changed' | 'unchanged';
}

function writeSchemas(folder: string): readonly WrittenSchema[] {
  mkdirSync(folder, { recursive: true });
  return [...ruleSchemas()].map(([kind, schema]) => {
    const path = join(folder, schemaFileName(kind));
    const text = schemaText(schema);
    const before = existsSync(path) ? readFileSync(path, 'utf8') : null;
    if (before !== text) writeFileSync(path, text);
    const change = before === null ? 'written' : before === text ? 'unchanged' : 'changed';
    return { file: fromHere(path), change };
  });
}
