import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isJsonObject } from '#base/files/json-object.ts';

/**
 * Writes the packages of the service as CycloneDX, from package-lock.json and without a network: `npm run -s sbom >
 * sbom.cdx.json`. The exit code is 1 if a package has a licence that nobody has reviewed.
 */

const ROOT = join(import.meta.dirname, '..');

/** The licences that allow use and distribution in closed software. */
const LICENSES: ReadonlySet<string> = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
]);

type Json = Readonly<Record<string, unknown>>;

/** The members that are read here. Everything else is passed on as npm wrote it. */
export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

export interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly license?: { readonly id?: string } }[];
  readonly hashes?: readonly Json[];
  readonly properties?: readonly { readonly name: string }[];
}

/**
 * Lists the packages that run in production. They are chosen here, because `npm sbom --omit dev` also leaves out
 * packages that both production and tests use.
 */
export function readProductionSbom(): Sbom {
  const args = [
    'sbom',
    '--offline',
    '--package-lock-only',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
  ];
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const made: unknown = status === 0 ? JSON.parse(stdout) : null;
  if (!isSbom(made)) throw new Error(`npm sbom failed: ${stderr}`);
  return pickProduction(made);
}

function isSbom(value: unknown): value is Sbom {
  return isJsonObject(value) && value['bomFormat'] === 'CycloneDX' && Array.isArray(value['components']);
}

function pickProduction(whole: Sbom): Sbom {
  const components = whole.components.filter(({ properties = [] }) =>
    properties.every(({ name }) => name !== 'cdx:npm:package:development'),
  );
  const { component } = whole.metadata;
  const kept = new Set([component, ...components].map((one) => one['bom-ref']));
  return {
    ...whole,
    // npm would use the name of the folder.
    metadata: { ...whole.metadata, component: { ...component, name: 'client-scoring-service' } },
    components,
    dependencies: whole.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => kept.has(one)) })),
  };
}

/** Returns a line for people for each package without a reviewed licence. */
export function listUnreviewedLicenses({ components }: Pick<Sbom, 'components'>): readonly string[] {
  return components.flatMap(({ name, version, licenses = [] }) => {
    const ids = licenses.map(({ license }) => license?.id ?? 'one without an SPDX id');
    if (ids.length === 0)
      return [`${name}@${version} names no licence; ask its authors, or use another package`];
    if (ids.every((id) => LICENSES.has(id))) return [];
    return [
      `${name}@${version} has the licence ${ids.join(', ')}, which nobody has reviewed; review it, and add it to LICENSES in scripts/sbom.ts`,
    ];
  });
}

if (import.meta.main) {
  const sbom = readProductionSbom();
  console.log(JSON.stringify(sbom, null, 2));
  const unknown = listUnreviewedLicenses(sbom);
  for (const line of unknown) console.error(line);
  if (unknown.length > 0) process.exitCode = 1;
}
