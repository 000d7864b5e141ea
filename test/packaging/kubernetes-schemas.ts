/**
 * The members of Kubernetes 1.25 and later that the manifests use, as its API reference has them. No other member is
 * allowed: the API would silently drop a misspelt one. A manifest that uses another member brings it here.
 */

interface Schema {
  readonly [keyword: string]: unknown;
}

/** An object; the names that end in `!` must be there. */
function of(members: Readonly<Record<string, Schema>>): Schema {
  const named = Object.entries(members).map(([name, schema]) => [name.replace('!', ''), schema]);
  const required = Object.keys(members)
    .filter((name) => name.endsWith('!'))
    .map((name) => name.slice(0, -1));
  return { type: 'object', properties: Object.fromEntries(named), required, additionalProperties: false };
}

const many = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more });
const one = (...values: readonly string[]): Schema => ({ enum: values });
const matching = (pattern: RegExp): Schema => ({ type: 'string', pattern: pattern.source });
const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values });

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const whole: Schema = { type: 'integer', minimum: 0 };
const seconds: Schema = { type: 'integer', minimum: 1 };
const portNumber: Schema = { type: 'integer', minimum: 1, maximum: 65_535 };
/** RFC 1123, also of what is mounted and of ports. */
const name = matching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const port: Schema = { anyOf: [portNumber, name] };
const amount = matching(/^\d+(\.\d+)?(m|k|[MGTPE]|[KMGTPE]i)?$/);
const share: Schema = { anyOf: [whole, matching(/^\d+%$/)] };
const cidr = matching(/^[0-9a-f.:]+\/\d{1,3}$/);
const protocol = one('TCP', 'UDP', 'SCTP');

const labels = mapOf(matching(/^([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?$/));
const selector = of({ matchLabels: labels });
const kind = (apiVersion: string, named: string, spec: Schema): Schema =>
  of({
    'apiVersion!': one(apiVersion),
    'kind!': one(named),
    'metadata!': of({ 'name!': name }),
    'spec!': spec,
  });

const probe = of({
  'httpGet!': of({ path: matching(/^\//), 'port!': port, scheme: one('HTTP', 'HTTPS') }),
  periodSeconds: seconds,
  timeoutSeconds: seconds,
  failureThreshold: seconds,
});

const container = of({
  'name!': name,
  'image!': text,
  envFrom: many(of({ 'configMapRef!': of({ 'name!': name }) })),
  env: many(of({ 'name!': text, value: text })),
  ports: many(of({ name, 'containerPort!': portNumber, protocol })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  resources: of({ requests: mapOf(amount), limits: mapOf(amount) }),
  securityContext: of({
    allowPrivilegeEscalation: flag,
    readOnlyRootFilesystem: flag,
    capabilities: of({ add: many(text), drop: many(text) }),
  }),
  volumeMounts: many(of({ 'name!': name, 'mountPath!': matching(/^\//), readOnly: flag })),
});

const pod = of({
  automountServiceAccountToken: flag,
  terminationGracePeriodSeconds: whole,
  securityContext: of({
    runAsNonRoot: flag,
    runAsUser: whole,
    runAsGroup: whole,
    fsGroup: whole,
    fsGroupChangePolicy: one('OnRootMismatch', 'Always'),
    seccompProfile: of({ 'type!': one('RuntimeDefault', 'Unconfined') }),
  }),
  topologySpreadConstraints: many(
    of({
      'maxSkew!': seconds,
      'topologyKey!': text,
      'whenUnsatisfiable!': one('ScheduleAnyway', 'DoNotSchedule'),
      labelSelector: selector,
    }),
  ),
  'containers!': many(container, { minItems: 1 }),
  volumes: many(of({ 'name!': name, secret: of({ secretName: name }), emptyDir: of({ sizeLimit: amount }) })),
});

const peers = many(
  of({
    namespaceSelector: selector,
    podSelector: selector,
    ipBlock: of({ 'cidr!': cidr, except: many(cidr) }),
  }),
);
const policyPorts = many(of({ port, protocol }));

export const KUBERNETES_SCHEMAS: Readonly<Record<string, Schema>> = {
  Deployment: kind(
    'apps/v1',
    'Deployment',
    of({
      replicas: whole,
      'selector!': selector,
      strategy: of({
        type: one('RollingUpdate', 'Recreate'),
        rollingUpdate: of({ maxSurge: share, maxUnavailable: share }),
      }),
      'template!': of({ metadata: of({ labels }), 'spec!': pod }),
    }),
  ),
  Service: kind(
    'v1',
    'Service',
    of({ selector: labels, ports: many(of({ name, 'port!': portNumber, targetPort: port, protocol })) }),
  ),
  PodDisruptionBudget: kind('policy/v1', 'PodDisruptionBudget', of({ maxUnavailable: share, selector })),
  NetworkPolicy: kind(
    'networking.k8s.io/v1',
    'NetworkPolicy',
    of({
      'podSelector!': selector,
      policyTypes: many(one('Ingress', 'Egress')),
      ingress: many(of({ from: peers, ports: policyPorts })),
      egress: many(of({ to: peers, ports: policyPorts })),
    }),
  ),
};
