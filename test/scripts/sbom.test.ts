import { expect } from 'chai';
import packageFile from '../../package.json' with { type: 'json' };
import lockfile from '../../package-lock.json' with { type: 'json' };
import { listUnreviewedLicenses, readProductionSbom, type Sbom } from '../../scripts/sbom.ts';

type LockedPackage = Partial<Record<'name' | 'version' | 'license', string>> & { readonly dev?: boolean };

/** `name@version license` of all packages that the lock file does not mark as for development only. */
function lockedInProduction(): ReadonlySet<string> {
  const packages: Readonly<Record<string, LockedPackage>> = lockfile.packages;
  return new Set(
    Object.entries(packages)
      .filter(([path, { dev }]) => path !== '' && dev !== true)
      .map(
        ([path, { name = path.split('node_modules/').at(-1), version, license }]) =>
          `${name}@${version} ${license}`,
      ),
  );
}

describe('the bill of materials', () => {
  let sbom: Sbom;
  before(() => {
    sbom = readProductionSbom();
  });

  it('names every package that runs in production with its licence and hash, and no other', () => {
    const named = sbom.components.map(
      ({ name, version, licenses = [] }) => `${name}@${version} ${licenses[0]?.license?.id}`,
    );
    expect(new Set(named)).to.deep.equal(lockedInProduction());
    expect(sbom.components.filter(({ hashes = [] }) => hashes.length === 0)).to.deep.equal([]);
  });

  it('is one of this service as CycloneDX 1.5, whose dependencies are all among its components', () => {
    const { name, version } = sbom.metadata.component;
    expect([sbom.bomFormat, sbom.specVersion]).to.deep.equal(['CycloneDX', '1.5']);
    expect([name, version]).to.deep.equal([packageFile.name, packageFile.version]);
    const known = new Set([sbom.metadata.component, ...sbom.components].map((one) => one['bom-ref']));
    const refs = sbom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    expect(refs.filter((ref) => !known.has(ref))).to.deep.equal([]);
    expect(known).to.have.property('size', sbom.components.length + 1);
  });

  it('has only reviewed licences', () => {
    expect(listUnreviewedLicenses(sbom)).to.deep.equal([]);
  });

  it('reports a package with an unreviewed licence, or with none', () => {
    const [first] = sbom.components;
    if (first === undefined) throw new Error('no components');
    const { licenses: _, ...bare } = { ...first, name: 'bare', version: '1.0.0' };
    const copyleft = { ...bare, name: 'copyleft', licenses: [{ license: { id: 'AGPL-3.0-only' } }] };
    expect(listUnreviewedLicenses({ components: [first, copyleft, bare] })).to.deep.equal([
      'copyleft@1.0.0 has the licence AGPL-3.0-only, which nobody has reviewed; review it, and add it to LICENSES in scripts/sbom.ts',
      'bare@1.0.0 names no licence; ask its authors, or use another package',
    ]);
  });
});
