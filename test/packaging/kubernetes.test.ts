import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '#config.ts';
import packageFile from '../../package.json' with { type: 'json' };
import { hasProgram } from '../servers/needed-programs.ts';
import { temporaryDirectory } from '../servers/temporary-directory.ts';
import { KUBERNETES_SCHEMAS } from './kubernetes-schemas.ts';
import { packaged, packagedPath } from './packaged.ts';

const FOLDER = 'packaging/kubernetes';

type Named = { readonly name: string };
type Labels = Readonly<Record<string, string>>;

interface Kustomization {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly literals: readonly string[] }[];
  readonly secretGenerator: readonly (Named & { readonly files: readonly string[] })[];
  readonly images: readonly (Named & { readonly newTag: string })[];
}

type Manifest = { readonly kind: string; readonly metadata: Named };

type Probe = { readonly httpGet: { readonly path: string; readonly port: string } };

interface Container extends Readonly<Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', Probe>> {
  readonly image: string;
  readonly env: readonly (Named & { readonly value: string })[];
  readonly ports: readonly (Named & { readonly containerPort: number })[];
}

interface Deployment {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: { readonly containers: readonly [Container]; readonly volumes: readonly Named[] };
    };
  };
}

type Ports<Port> = { readonly ports: readonly { readonly port: Port }[] };

interface Policy {
  readonly spec: {
    readonly policyTypes: readonly string[];
    readonly ingress: readonly (Ports<string> & {
      readonly from: readonly { readonly podSelector: { readonly matchLabels: Labels } }[];
    })[];
    readonly egress: readonly (Ports<number> & { readonly to: readonly object[] })[];
  };
}

function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document): Manifest => document.toJS());
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
const CHECKS = new Map(
  Object.entries(KUBERNETES_SCHEMAS).map(([kind, schema]) => [kind, ajv.compile(schema)]),
);

/** What is wrong with a manifest. */
function complaintsAbout(manifest: Manifest): readonly string[] {
  const check = CHECKS.get(manifest.kind);
  if (check === undefined) return [`kind ${manifest.kind}`];
  check(manifest);
  return (check.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, params['additionalProperty'] ?? ''].join(' ').trim(),
  );
}

/** What kubectl makes of the folder with these contents of each secret. */
function builtWith(secret: string): readonly Manifest[] {
  const folder = temporaryDirectory();
  cpSync(packagedPath(FOLDER), folder, { recursive: true });
  mkdirSync(join(folder, 'secrets'), { recursive: true });
  for (const name of ['signal-secret', 'redis-url', 'redis-ca.pem', 's3-credentials'])
    writeFileSync(join(folder, 'secrets', name), secret);
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folder]);
  expect(status, stderr.toString()).to.equal(0);
  return manifestsOf(stdout.toString());
}

describe('the Kubernetes manifests', () => {
  const kustomization: Kustomization = parse(packaged(`${FOLDER}/kustomization.yaml`));
  const deployment: Deployment = parse(packaged(`${FOLDER}/deployment.yaml`));
  const policy: Policy = parse(packaged(`${FOLDER}/network-policy.yaml`));
  const { template } = deployment.spec;
  const [container] = template.spec.containers;

  for (const file of kustomization.resources) {
    it(`are valid for Kubernetes: ${file}`, () => {
      const manifests = manifestsOf(packaged(`${FOLDER}/${file}`));
      expect(manifests).not.to.deep.equal([]);
      expect(manifests.flatMap(complaintsAbout)).to.deep.equal([]);
    });
  }

  it('would be refused with a misspelt member, a wrong type, or a bad amount', () => {
    const text = packaged(`${FOLDER}/deployment.yaml`);
    const complaints = (from: string, to: string) => {
      expect(text).to.include(from);
      return manifestsOf(text.replace(from, to)).flatMap(complaintsAbout);
    };
    expect(complaints('readinessProbe:', 'readinesProbe:')).to.deep.equal([
      '/spec/template/spec/containers/0 must NOT have additional properties readinesProbe',
    ]);
    expect(complaints('replicas: 2', 'replicas: three')).to.deep.equal(['/spec/replicas must be integer']);
    expect(complaints('memory: 3Gi', 'memory: 3Gib').join()).to.match(
      /\/resources\/limits\/memory must match pattern/,
    );
  });

  it('are all named by the kustomization, and take the rule folders from the image', () => {
    const files = readdirSync(packagedPath(FOLDER)).filter(
      (file) => file !== 'kustomization.yaml' && file !== 'secrets',
    );
    expect([...kustomization.resources].toSorted()).to.deep.equal(files.toSorted());
    const [image] = kustomization.images;
    expect(image).to.include({ name: container.image, newTag: packageFile.version });
    expect(image?.newTag, 'a tag that does not move').to.match(/^\d+\.\d+\.\d+$/);
    expect(packaged('Dockerfile')).to.include('COPY rules ./rules');
  });

  it('choose the pods of the deployment, each by the label that its pods have', () => {
    expect(template.metadata.labels).to.deep.equal({ app: 'client-scoring' });
    const texts = kustomization.resources.map((file) => packaged(`${FOLDER}/${file}`)).join('\n');
    const chosen = [...texts.matchAll(/(?:matchLabels|selector): \{ (app: [\w-]+) \}/g)].map(
      ([, label]) => label,
    );
    expect(chosen.length).to.equal(6);
    expect(new Set(chosen)).to.deep.equal(new Set(['app: client-scoring']));
  });

  it('ask for life and readiness on the listener of the platform, and only readiness of the store', () => {
    const { startupProbe, livenessProbe, readinessProbe, ports } = container;
    expect(ports).to.deep.equal([
      { name: 'callers', containerPort: 8080 },
      { name: 'platform', containerPort: 8081 },
    ]);
    const asked = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet);
    const [live, ready] = ['/livez', '/readyz'].map((path) => ({ path, port: 'platform' }));
    expect(asked).to.deep.equal([live, live, ready]);
  });

  it('set valid values of existing settings', () => {
    const literals = kustomization.configMapGenerator.flatMap(({ literals }) => literals);
    const settings = Object.fromEntries(literals.map((literal) => literal.split('=')));
    const secrets = temporaryDirectory();
    writeFileSync(join(secrets, 'signal-secret'), 'x'.repeat(32));
    writeFileSync(join(secrets, 'redis-url'), 'rediss://:secret@redis:6379');
    writeFileSync(join(secrets, 'redis-ca.pem'), 'PEM');
    const named = container.env.map(({ name, value }) => [name, value.replace('/secrets', secrets)] as const);
    const config = readConfig({ ...settings, ...Object.fromEntries(named), DATA_DIR: temporaryDirectory() });
    expect(config.redisUrl).to.equal('rediss://:secret@redis:6379');
    expect(config.trustedProxies).to.equal(1);
    expect(config.archiveS3).to.deep.include({ bucket: 'client-scoring', cacheBytesMax: 5e9 });
    expect(config.archiveS3?.environment).to.deep.include({
      AWS_REGION: 'eu-central-1',
      AWS_SHARED_CREDENTIALS_FILE: join(secrets, 's3-credentials'),
    });
    expect(config.platform.port).to.equal(8081);
  });

  it('name the files of every secret that the pods read', () => {
    const { volumes } = template.spec;
    expect(volumes[0]).to.deep.equal({ name: 'secrets', secret: { secretName: 'client-scoring' } });
    expect(kustomization.secretGenerator.map(({ name }) => name)).to.deep.equal(['client-scoring']);
    const read = container.env.map(({ value }) => value.slice(1));
    expect(kustomization.secretGenerator.flatMap(({ files }) => files)).to.deep.equal(read);
  });

  it('give pods no volume that outlives them, and two of them a place in every drain', () => {
    const kinds = template.spec.volumes.map(({ name, ...kind }) => [name, ...Object.keys(kind)]);
    expect(kinds).to.deep.equal([
      ['secrets', 'secret'],
      ['data', 'emptyDir'],
      ['scratch', 'emptyDir'],
    ]);
    expect(deployment.spec.replicas).to.equal(2);
    expect(packaged(`${FOLDER}/disruption-budget.yaml`)).to.include('maxUnavailable: 1');
  });

  it('let nodes reach names, Redis and what speaks TLS, and nothing else', () => {
    expect(policy.spec.policyTypes).to.deep.equal(['Ingress', 'Egress']);
    const ports = policy.spec.egress.flatMap((rule) => rule.ports.map(({ port }) => port));
    expect(new Set(ports)).to.deep.equal(new Set([53, 80, 6379, 26379, 443]));
    const open = JSON.stringify(policy.spec.egress.filter(({ ports: [first] }) => first?.port === 80));
    expect(open, 'the agent of pod identity alone').to.not.match(/0\.0\.0\.0|namespaceSelector/);
    expect(policy.spec.egress.every(({ to }) => to.length > 0)).to.equal(true);
  });

  it('let only the pods with its label reach a listener', () => {
    const allowed = policy.spec.ingress.map(({ from, ports }) => [
      ports.map(({ port }) => port),
      from.map(({ podSelector }) => podSelector.matchLabels),
    ]);
    expect(allowed).to.deep.equal([
      [['callers'], [{ 'client-scoring-callers': 'allowed' }]],
      [['platform'], [{ 'client-scoring-platform': 'allowed' }]],
    ]);
  });

  if (hasProgram('kubectl')) {
    it('are put together by kubectl', () => {
      const kinds = builtWith('one secret').map(({ kind }) => kind);
      expect(kinds.toSorted().join(' ')).to.equal(
        'ConfigMap Deployment NetworkPolicy PodDisruptionBudget Secret Service Service',
      );
    });

    it('roll the pods when a secret changes', () => {
      const deploymentWith = (secret: string) =>
        JSON.stringify(builtWith(secret).find(({ kind }) => kind === 'Deployment'));
      expect(deploymentWith('one secret')).to.equal(deploymentWith('one secret'));
      expect(deploymentWith('one secret')).not.to.equal(deploymentWith('another'));
    });
  }
});
