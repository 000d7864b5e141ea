import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { build } from 'esbuild';
import { createCallerApiDocument } from '../../src/workbench/platform/caller-document.ts';
import { createPlatformDocument } from '../../src/workbench/platform/platform-operations.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { issueKey } from '../service/issued-key.ts';
import { type ServiceProcess, spawnService } from '../service/service-process.ts';
import { installed } from './install.ts';

interface Generator {
  readonly name: string;
  readonly program: readonly string[];
  readonly options: (document: string, folder: string) => readonly string[];
  /** Takes the answer of a verdict and an entry of a history out of what was generated. */
  readonly taken: string;
  /** Calls the service by what was generated, as the client `api`. */
  readonly api: string;
}

const HEY_PLUGINS = ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'];

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
    api: `import createClient from 'openapi-fetch';
import type { paths as Callers } from './callers/types';
import type { paths as Platform } from './platform/types';
const callers = createClient<Callers>({ baseUrl: CALLERS, headers: KEY });
const platform = createClient<Platform>({ baseUrl: PLATFORM, headers: KEY });
const api = {
  score: async () => (await callers.POST('/v1/client/score', { body: SCORE })).data,
  verdict: async () => (await callers.POST('/v1/client/verdict', { body: VERDICT })).data,
  outcome: async () => (await platform.POST('/v1/platform/outcomes', { body: OUTCOME })).data,
  report: async () => (await platform.POST('/v1/platform/evidence', { body: REPORT })).data,
  job: async (jobId: string) =>
    (await platform.GET('/v1/platform/evidence/{jobId}', { params: { path: { jobId } } })).data,
  misspelt: async () => (await callers.POST('/v1/client/score', { body: { ...SCORE, clientIdKey: '' } })).error,
};`,
  },
  {
    name: '@hey-api/openapi-ts',
    program: ['@hey-api/openapi-ts', 'bin', 'run.js'],
    options: (document, folder) => ['-i', document, '-o', folder, '-p', ...HEY_PLUGINS],
    taken: `import type { VerdictAnswer } from './callers';
import type { HistoryEntry, PlatformEvent } from './platform';`,
    api: `import * as callers from './callers';
import { client as toCallers } from './callers/client.gen';
import * as platform from './platform';
import { client as toPlatform } from './platform/client.gen';
toCallers.setConfig({ baseUrl: CALLERS, headers: KEY });
toPlatform.setConfig({ baseUrl: PLATFORM, headers: KEY });
const api = {
  score: async () => (await callers.score({ body: SCORE })).data,
  verdict: async () => (await callers.verdict({ body: VERDICT })).data,
  outcome: async () => (await platform.reportOutcomes({ body: OUTCOME })).data,
  report: async () => (await platform.askEvidence({ body: REPORT })).data,
  job: async (jobId: string) => (await platform.readEvidence({ path: { jobId } })).data,
  misspelt: async () => (await callers.score({ body: { ...SCORE, clientIdKey: '' } })).error,
};`,
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
    api: `import * as callers from './callers/types';
import * as platform from './platform/types';
const send = fetch;
globalThis.fetch = (path, options) =>
  send(\`\${String(path).startsWith('/v1/client') ? CALLERS : PLATFORM}\${path}\`, options);
const known = { headers: KEY };
const dataOf = <T>(answer: { readonly status: number; readonly data: T }) => answer.data;
const api = {
  score: async () => dataOf(taken(await callers.score(SCORE, known))),
  verdict: async () => dataOf(taken(await callers.verdict(VERDICT, known))),
  outcome: async () => {
    // One result or lines: this generator takes them for a stream.
    const { stream } = (await platform.reportOutcomes(OUTCOME, known)) as unknown as { readonly stream: Response };
    return (await stream.json()) as platform.OutcomeResult;
  },
  report: async () => dataOf(taken(await platform.askEvidence(REPORT, known))),
  job: async (jobId: string) => dataOf(taken(await platform.readEvidence(jobId, known))),
  misspelt: async () => {
    const answer = await callers.score({ ...SCORE, clientIdKey: '' }, known);
    return answer.status === 200 ? undefined : answer.data;
  },
};
function taken<A extends { readonly status: number }>(answer: A): Extract<A, { readonly status: 200 }> {
  if (answer.status !== 200) throw new Error(JSON.stringify(answer));
  return answer as Extract<A, { readonly status: 200 }>;
}`,
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

/** A checkout and a report of what its rules were worth, for whoever has the addresses and a key. */
const SHOP = `
declare const process: { readonly env: Readonly<Record<string, string | undefined>> };
const CALLERS = process.env['CALLERS'] ?? '';
const PLATFORM = process.env['PLATFORM'] ?? '';
const KEY = { 'X-KA-Access-Key': process.env['KEY'] ?? '' };
const PAYER = { sellPointKey: 'shop-1', clientIdKey: process.env['PAYER'] ?? '', amountRequested: '25.00' };
const SCORE = { ...PAYER, selectedMethodKey: 'card' };
const VERDICT = { ...PAYER, method: 'card', orderRef: 'order-1' };
const OUTCOME = { clientIdKey: PAYER.clientIdKey, orderRef: 'order-1', outcome: 'PAID' } as const;
const REPORT = { kind: 'report' } as const;
`;

const WALK = `
const scored = await api.score();
const answered = await api.verdict();
const reported = await api.outcome();
async function lookUntil<T>(look: () => Promise<T>, isGood: (seen: T) => boolean): Promise<T> {
  for (let left = 300; ; left--) {
    const seen = await look();
    if (isGood(seen) || left === 0) return seen;
    await new Promise((done) => setTimeout(done, 100));
  }
}
const asked = await api.report();
const opened = await lookUntil(() => api.job(asked?.jobId ?? ''), (seen) => seen?.job.state === 'done');
const refused = await api.misspelt();
console.log(
  JSON.stringify([scored?.clientGroup, answered?.verdict, reported && 'result' in reported && reported.result, opened?.job.state, opened?.result !== null, refused?.code]),
);
export {};
`;

const STRICT = [
  '--noEmit',
  '--strict',
  '--skipLibCheck',
  '--target',
  'es2022',
  '--module',
  'esnext',
  '--moduleResolution',
  'bundler',
];

describe('a client that is generated from the API documents', () => {
  const documents = temporaryDirectory();
  let service: ServiceProcess;
  let key: string;
  before(async () => {
    const dataDir = temporaryDirectory();
    key = await issueKey({ dataDir });
    service = await spawnService(dataDir);
    for (const [name, document] of [
      ['callers', createCallerApiDocument('')],
      ['platform', createPlatformDocument()],
    ] as const)
      writeFileSync(join(documents, `${name}.json`), JSON.stringify(document));
  });

  after(() => service?.stop());

  for (const { name, program, options, taken, api } of GENERATORS) {
    it(`by ${name} compiles, narrows by the word on the wire, and walks a checkout and a report`, async () => {
      const project = temporaryDirectory();
      await Promise.all(
        ['callers', 'platform'].map((document) => {
          mkdirSync(join(project, document));
          const asked = options(join(documents, `${document}.json`), join(project, document));
          return promisify(execFile)(process.execPath, [installed(...program), ...asked], { cwd: project });
        }),
      );
      writeFileSync(join(project, 'use.ts'), `${taken}\n${NARROWS}`);
      writeFileSync(join(project, 'walk.ts'), `${SHOP}\n${api}\n${WALK}`);
      const include = {
        compilerOptions: {
          lib: ['es2022', 'dom', 'dom.iterable'],
          types: [],
          paths: { 'openapi-fetch': [installed('openapi-fetch')] },
        },
        include: ['.'],
      };
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(include));
      const tsc = installed('typescript', 'bin', 'tsc');
      const { stdout } = spawnSync(process.execPath, [tsc, ...STRICT, '-p', '.'], { cwd: project });
      expect(stdout.toString()).to.equal('');

      const outfile = join(project, 'walk.mjs');
      const bundle = { bundle: true, platform: 'node', format: 'esm', logLevel: 'error' } as const;
      await build({ ...bundle, entryPoints: [join(project, 'walk.ts')], outfile, nodePaths: [installed()] });
      const env = { CALLERS: service.callerUrl, PLATFORM: service.platformUrl, KEY: key, PAYER: name };
      const walked = await promisify(execFile)(process.execPath, [outfile], { env });
      expect(JSON.parse(walked.stdout)).to.deep.equal([
        'NEW',
        'GET_NEW',
        'recorded',
        'done',
        true,
        'malformed-body',
      ]);
    });
  }
});
