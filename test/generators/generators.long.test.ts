import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { callerDocument } from '../../src/http/caller/caller-api.ts';
import { platformDocument } from '../../src/http/platform/platform-operations.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { installed } from './install.ts';

interface Generator {
  readonly name: string;
  readonly program: readonly string[];
  readonly options: (document: string, folder: string) => readonly string[];
  /** Takes the answer of a verdict and an entry of a history out of what was generated. */
  readonly taken: string;
}

const GENERATORS: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    program: ['openapi-typescript', 'bin', 'cli.js'],
    options: (document, folder) => [document, '-o', join(folder, 'types.ts')],
    taken: `import type { components } from './callers/types';
import type { components as platform } from './platform/types';
type VerdictAnswer = components['schemas']['VerdictAnswer'];
type HistoryEntry = platform['schemas']['HistoryEntry'];
type PlatformEvent = platform['schemas']['PlatformEvent'];`,
  },
  {
    name: '@hey-api/openapi-ts',
    program: ['@hey-api/openapi-ts', 'bin', 'run.js'],
    options: (document, folder) => ['-i', document, '-o', folder, '--plugins', '@hey-api/typescript'],
    taken: `import type { VerdictAnswer } from './callers';
import type { HistoryEntry, PlatformEvent } from './platform';`,
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
    taken: `import type { VerdictAnswer } from './callers/types';
import type { HistoryEntry, PlatformEvent } from './platform/types';`,
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
export const order = (entry: HistoryEntry): string | null => {
  switch (entry.kind) {
    case 'score':
      return null;
    case 'verdict':
      return entry.decision.orderRef;
    case 'outcome':
      return entry.orderRef;
    case 'binding':
      return entry.binding?.requisiteRef ?? null;
    case 'override':
      return entry.override?.reason ?? null;
    case 'waitEnded':
      return entry.reason;
    default:
      throw new Error(entry satisfies never);
  }
};
export const told = (event: PlatformEvent): string =>
  event.type === 'verdict' ? event.data.decision.verdict : event.type;
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

  for (const { name, program, options, taken } of GENERATORS) {
    it(`by ${name} compiles, and answers, entries and events narrow by the word on the wire`, async () => {
      const project = temporaryDirectory();
      await Promise.all(
        ['callers', 'platform'].map((document) => {
          mkdirSync(join(project, document));
          const asked = options(join(documents, `${document}.json`), join(project, document));
          return promisify(execFile)(process.execPath, [installed(...program), ...asked], { cwd: project });
        }),
      );
      writeFileSync(join(project, 'use.ts'), `${taken}\n${NARROWS}`);
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
