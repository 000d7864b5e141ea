import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { callerDocument } from '../../src/http/caller/caller-api.ts';
import { platformDocument } from '../../src/http/platform/platform-document.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { installed } from './install.ts';

interface Generator {
  readonly name: string;
  readonly program: readonly string[];
  readonly options: (document: string, folder: string) => readonly string[];
  /** Takes the answer of a verdict out of what was generated from the document for callers. */
  readonly answer: string;
}

const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    program: ['openapi-typescript', 'bin', 'cli.js'],
    options: (document, folder) => [document, '-o', join(folder, 'types.ts')],
    answer: `import type { components } from './callers/types';
type VerdictAnswer = components['schemas']['VerdictAnswer'];`,
  },
  {
    name: '@hey-api/openapi-ts',
    program: ['@hey-api/openapi-ts', 'bin', 'run.js'],
    options: (document, folder) => ['-i', document, '-o', folder, '--plugins', '@hey-api/typescript'],
    answer: `import type { VerdictAnswer } from './callers';`,
  },
  {
    name: 'orval',
    program: ['orval', 'dist', 'bin', 'orval.mjs'],
    options: (document, folder) => [
      '--input',
      document,
      '--output',
      join(folder, 'types.ts'),
      '--client',
      'fetch',
    ],
    answer: `import type { VerdictAnswer } from './callers/types';`,
  },
];

const NARROWS = `
export const seconds = (answer: VerdictAnswer): number => (answer.verdict === 'WAIT' ? answer.waitSeconds : 0);
export const shown = (answer: VerdictAnswer): string =>
  answer.verdict === 'GET_SAME_STICKY' ? answer.stickyRequisiteRef : answer.reason;
// @ts-expect-error only WAIT has seconds
export const never = (answer: VerdictAnswer) => answer.waitSeconds;
// @ts-expect-error the value on the wire is WAIT, not the name of its schema
export const named = (answer: VerdictAnswer) => answer.verdict === 'WaitAnswer';
`;

const STRICT = [
  '--noEmit',
  '--strict',
  '--skipLibCheck',
  '--module',
  'esnext',
  '--moduleResolution',
  'bundler',
];

describe('a client that is generated from the API documents', () => {
  const documents = temporaryDirectory();
  before(() => {
    for (const [name, document] of [
      ['callers', callerDocument('')],
      ['platform', platformDocument()],
    ] as const)
      writeFileSync(join(documents, `${name}.json`), JSON.stringify(document));
  });

  for (const { name, program, options, answer } of GENERATORS) {
    it(`by ${name} compiles, and WAIT narrows to the answer with seconds`, async () => {
      const project = temporaryDirectory();
      await Promise.all(
        ['callers', 'platform'].map((document) => {
          mkdirSync(join(project, document));
          const asked = options(join(documents, `${document}.json`), join(project, document));
          return promisify(execFile)(process.execPath, [installed(...program), ...asked], { cwd: project });
        }),
      );
      writeFileSync(join(project, 'use.ts'), `${answer}\n${NARROWS}`);
      const include = {
        compilerOptions: { lib: ['es2022', 'dom', 'dom.iterable'], types: [] },
        include: ['.'],
      };
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(include));
      const tsc = installed('typescript', 'bin', 'tsc');
      const { stdout } = spawnSync(process.execPath, [tsc, ...STRICT, '-p', '.'], { cwd: project });
      expect(stdout.toString()).to.equal('');
    });
  }
});
