import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { NamedError } from '#base/named-error.ts';
import {
  type Config,
  ConfigError,
  getOrCreateSignalSecret,
  listMistypedSettings,
  readConfig,
} from '#config.ts';
import { section } from './guide-blocks.ts';
import { itTells } from './rule-fixtures/told.ts';
import { temporaryDirectory } from './servers/temporary-directory.ts';

const PROVIDER: Readonly<Record<string, string>> = {
  OIDC_ISSUER: 'https://login.example.com/realms/shop',
  OIDC_CLIENT_ID: 'scoring',
  OIDC_CLIENT_SECRET: 'a secret',
  OIDC_ROLES: 'groups:ops=operator@*',
  PLATFORM_URL: 'https://scoring.example.com',
};

const GIVEN = 'a secret that is given, long enough';

describe('the configuration', () => {
  const directory = temporaryDirectory();
  const read = (env: Readonly<Record<string, string>> = {}): Config =>
    readConfig({ DATA_DIR: join(directory, 'data'), SIGNAL_SECRET: GIVEN, ...env });

  describe('of the identity provider', () => {
    it('is read whole', () => {
      expect(read(PROVIDER).provider).to.deep.include({ clientId: 'scoring', clientSecret: 'a secret' });
      expect(read(PROVIDER).provider?.issuer.href).to.equal(PROVIDER['OIDC_ISSUER']);
    });

    it('takes the secret from a file', () => {
      const OIDC_CLIENT_SECRET_FILE = join(directory, 'client-secret');
      writeFileSync(OIDC_CLIENT_SECRET_FILE, 'of a file\n');
      const { provider: found } = read({ ...PROVIDER, OIDC_CLIENT_SECRET: '', OIDC_CLIENT_SECRET_FILE });
      expect(found?.clientSecret).to.equal('of a file');
    });

    it('may be on this machine without TLS', () => {
      expect(read({ ...PROVIDER, OIDC_ISSUER: 'http://127.0.0.1:9' }).provider?.issuer.port).to.equal('9');
    });
  });

  it('has a default for everything', () => {
    expect(read()).to.deep.equal({
      caller: { host: '0.0.0.0', port: 8080 },
      platform: { host: '127.0.0.1', port: 8081 },
      consoleUrl: null,
      provider: null,
      basePath: '',
      dataDir: join(directory, 'data'),
      requiresApproval: false,
      redisUrl: null,
      redisSecurity: {},
      rulesDir: resolve(import.meta.dirname, '..', 'rules'),
      ruleVersion: null,
      trustedProxies: 0,
      rateLimitPerSecond: 20,
      rateLimitBurst: 20,
      signalSecret: GIVEN,
      signalSecretPrevious: null,
      isProduction: false,
      logLevel: 'info',
      archiveDir: join(directory, 'data', 'archive'),
      erasureLedger: null,
      archiveS3: null,
      archiveShips: true,
      archiveKeepMs: 400 * 24 * 3_600_000,
      drainGraceMs: 5_000,
      decisionsHotMs: 24 * 3_600_000,
    });
  });

  it('is listed in full in the table of the guide for operators', () => {
    const root = join(import.meta.dirname, '..');
    const source = readFileSync(join(root, 'src', 'config.ts'), 'utf8');
    const read = [...source.matchAll(/'([A-Z][A-Z]*(?:_[A-Z]+)+|HOST|PORT)'/g)].map(([, name]) => name ?? '');
    const table = section(readFileSync(join(root, 'packaging', 'OPERATING.md'), 'utf8'), 'Settings');
    expect(read.length).to.be.above(15);
    expect(read.filter((name) => !table.includes(name))).to.deep.equal([]);

    const secrets = [...source.matchAll(/ecret\(env, '(\w+)'\)/g)].map(([, name]) => name ?? '');
    const [, fromFiles = ''] = /Secrets \(([^)]*)\)/.exec(table) ?? [];
    expect(fromFiles.split(/,\s+/)).to.have.members(secrets);
  });

  it('warns of a name that is one letter away from a setting, and of no other', () => {
    const env = {
      APPROVAL: 'required',
      SIGNAL_SECRETS_FILE: '/a',
      PLATFORM_PROT: '1',
      REDIS_PORT: '6379',
      POST: '',
    };
    expect(listMistypedSettings(env)).to.deep.equal([
      'APPROVAL is no setting and has no effect; did you mean APPROVALS?',
      'SIGNAL_SECRETS_FILE is no setting and has no effect; did you mean SIGNAL_SECRET_FILE?',
    ]);
  });

  it('asks the environment for no setting that it could not tell from a mistyped one', () => {
    const asked = new Set<string>();
    const env = new Proxy<Readonly<Record<string, string>>>(
      {
        ...{
          DATA_DIR: join(directory, 'data'),
          SIGNAL_SECRET: GIVEN,
          OIDC_ISSUER: 'https://login.example.com',
        },
        PLATFORM_URL: 'https://a.example.com',
        OIDC_CLIENT_ID: 'id',
        OIDC_CLIENT_SECRET: 's',
        OIDC_ROLES: 'groups:ops=operator@*',
        ARCHIVE_DIR: 's3://years',
        REDIS_URL: 'redis-sentinel://127.0.0.1/main',
      },
      {
        get: (target, name) => {
          asked.add(String(name));
          return target[String(name)];
        },
      },
    );
    readConfig(env);
    expect(asked.size).to.be.above(40);
    const mistyped = [...asked].flatMap((name) => listMistypedSettings({ [`${name}X`]: '' }).map(() => name));
    expect([...asked].filter((name) => name.length > 4 && !mistyped.includes(name))).to.deep.equal([]);
  });

  it('takes an archive in a store that speaks S3, with its variables', () => {
    const key = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
    const { archiveDir, archiveS3 } = read({
      ARCHIVE_DIR: 's3://years/of/shop/',
      DATA_DIR: directory,
      ARCHIVE_CACHE_MAX: '500MB',
      ARCHIVE_S3_PATH_STYLE: 'on',
      ...key,
    });
    expect(archiveDir).to.equal(join(directory, 'archive-cache', 'years', 'of', 'shop', '/'));
    expect(archiveS3).to.deep.equal({
      bucket: 'years',
      prefix: 'of/shop/',
      pathStyle: true,
      cacheBytesMax: 500_000_000,
      environment: key,
    });
    const plain = read({ ARCHIVE_DIR: 's3://years' });
    expect(plain.archiveDir).to.equal(join(directory, 'data', 'archive-cache', 'years'));
    expect(plain.archiveS3).to.deep.include({ prefix: '', pathStyle: false, cacheBytesMax: 10e9 });
  });

  it('takes every setting', () => {
    const config = read({
      HOST: '::',
      PORT: '0',
      PLATFORM_HOST: '10.0.0.1',
      PLATFORM_PORT: '65535',
      BASE_PATH: '/pay/scoring',
      REDIS_URL: 'rediss://user:secret@redis.example:6380',
      RULES_DIR: directory,
      RULE_VERSION: 'p3.v1',
      TRUSTED_PROXIES: '2',
      RATE_LIMIT_PER_SECOND: '0',
      RATE_LIMIT_BURST: '5',
      LOG_LEVEL: 'silent',
      ARCHIVE_DIR: join(directory, 'years'),
      ERASURE_LEDGER: join(directory, 'erasures'),
      ARCHIVE_SHIP: 'off',
      ARCHIVE_KEEP: '90d',
      DRAIN_GRACE: '20s',
      DECISIONS_HOT: '2d',
    });
    expect(config).to.deep.include({
      caller: { host: '::', port: 0 },
      platform: { host: '10.0.0.1', port: 65535 },
      basePath: '/pay/scoring',
      redisUrl: 'rediss://user:secret@redis.example:6380',
      rulesDir: directory,
      ruleVersion: 'p3.v1',
      trustedProxies: 2,
      rateLimitPerSecond: 0,
      rateLimitBurst: 5,
      logLevel: 'silent',
      archiveDir: join(directory, 'years'),
      erasureLedger: join(directory, 'erasures'),
      archiveShips: false,
      archiveKeepMs: 90 * 24 * 3_600_000,
      drainGraceMs: 20_000,
      decisionsHotMs: 2 * 24 * 3_600_000,
    });
  });

  it('has no archive where ARCHIVE_DIR is off', () => {
    expect(read({ ARCHIVE_DIR: 'off' }).archiveDir).to.equal(null);
  });

  it('takes a certificate for either listener', () => {
    const tls = { certificateFile: '/tls/tls.crt', keyFile: '/tls/tls.key' };
    const both = { TLS_CERT: '/tls/tls.crt', TLS_KEY: '/tls/tls.key' };
    expect(read(both).caller).to.deep.equal({ host: '0.0.0.0', port: 8080, tls });
    expect(read(both).platform).to.deep.equal({ host: '127.0.0.1', port: 8081 });
    const platform = { PLATFORM_TLS_CERT: '/tls/tls.crt', PLATFORM_TLS_KEY: '/tls/tls.key' };
    expect(read(platform).platform).to.deep.equal({ host: '127.0.0.1', port: 8081, tls });
  });

  it('reads the authority and the client certificate for Redis', () => {
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => join(directory, `${name}.pem`));
    for (const path of [ca, cert, key]) writeFileSync(path ?? '', `text of ${path}`);
    const REDIS_URL = 'rediss-sentinel://:secret@s1,s2/scoring';
    const env = { REDIS_URL, REDIS_CA: ca ?? '', REDIS_CERT: cert ?? '', REDIS_KEY: key ?? '' };
    expect(read({ ...env, REDIS_SENTINEL_PASSWORD: 'watch' }).redisSecurity).to.deep.equal({
      ca: `text of ${ca}`,
      cert: `text of ${cert}`,
      key: `text of ${key}`,
      sentinelPassword: 'watch',
    });
  });

  it('takes 0 and 0s for no DRAIN_GRACE, and a day at most', () => {
    const graces = ['0', '0s', '1d'].map((text) => read({ DRAIN_GRACE: text }).drainGraceMs);
    expect(graces).to.deep.equal([0, 0, 24 * 3_600_000]);
  });

  it('allows one port for callers and the platform on addresses apart, and any free ones', () => {
    const apart = { PORT: '9000', PLATFORM_PORT: '9000', PLATFORM_HOST: '10.0.0.1', HOST: '10.0.0.2' };
    expect(read(apart).platform.port).to.equal(9000);
    expect(read({ PORT: '0', PLATFORM_PORT: '0' }).platform.port).to.equal(0);
  });

  it('treats an empty or blank setting as not set', () => {
    expect(read({ PORT: '', BASE_PATH: ' ', REDIS_URL: '', RULE_VERSION: '', LOG_LEVEL: '' })).to.deep.equal(
      read(),
    );
  });

  it('treats a BASE_PATH of one slash as none', () => {
    expect(read({ BASE_PATH: '/' }).basePath).to.equal('');
  });

  describe('refuses', () => {
    const file = join(directory, 'empty');
    before(() => writeFileSync(file, '\n'));
    const wrong: Readonly<Record<string, readonly string[]>> = {
      PORT: ['65536', '-1', '80a', '8e3', '80.5'],
      PLATFORM_PORT: ['http'],
      TRUSTED_PROXIES: ['33', 'true'],
      RATE_LIMIT_PER_SECOND: ['off'],
      RATE_LIMIT_BURST: ['0'],
      BASE_PATH: ['scoring', '/scoring/', '/a:b'],
      PLATFORM_URL: ['scoring.example.com', 'ftp://a', 'https://a/?b=c', 'https://ann@a'],
      LOG_LEVEL: ['loud'],
      RULE_VERSION: ['v10', 'p2.v', '../p2.v10', 'P2.V10'],
      DRAIN_GRACE: ['25d', 'soon'],
      DECISIONS_HOT: ['5x', '30s', '23h', '91d'],
      ARCHIVE_SHIP: ['no'],
      ARCHIVE_KEEP: ['a year'],
      ERASURE_LEDGER: [join(directory, 'data', 'erasures')],
      WORKERS: ['2'],
      TLS_KEY: ['/tls/tls.key'],
      PLATFORM_TLS_CERT: ['/tls/tls.crt'],
      SIGNAL_SECRET: ['x'.repeat(31)],
      SIGNAL_SECRET_PREVIOUS: ['x'.repeat(31)],
      SIGNAL_SECRET_FILE: ['/anywhere'],
      REDIS_URL_FILE: [join(directory, 'nothing')],
    };
    const apart = { PORT: '9000', PLATFORM_PORT: '9000', PLATFORM_HOST: '10.0.0.1' };
    const bad: readonly Readonly<Record<string, string>>[] = [
      ...Object.entries(wrong).flatMap(([name, texts]) => texts.map((text) => ({ [name]: text }))),
      ...Object.keys(PROVIDER).flatMap((name) =>
        name === 'OIDC_ISSUER' ? [] : [{ ...PROVIDER, [name]: '' }],
      ),
      { ...PROVIDER, OIDC_ISSUER: 'http://login.example.com' },
      { ...PROVIDER, OIDC_ROLES: 'ops=operator@*' },
      { ARCHIVE_DIR: 's3://years', ARCHIVE_CACHE_MAX: '499MB' },
      { REDIS_URL: 'rediss://localhost', REDIS_CERT: file, REDIS_KEY: '' },
      { REDIS_URL: 'redis://localhost', REDIS_CA: file },
      { REDIS_URL: 'rediss://localhost', REDIS_CA: '/away.pem' },
      { PORT: '9000', PLATFORM_PORT: '9000' },
      { ...apart, HOST: '10.0.0.1' },
      { ...apart, HOST: '::' },
      { ...apart, HOST: 'localhost' },
      { SIGNAL_SECRET: '', SIGNAL_SECRET_FILE: file },
    ];
    const plain = (text: string) => text.replaceAll(directory, 'DIR');
    const told = bad.map((env) => {
      const given = Object.entries(env).filter(([name, value]) => PROVIDER[name] !== value);
      return [
        plain(given.map(([name, value]) => `${name}=${value}`).join(' ')),
        () => [plain(refusal(env))],
      ] as const;
    });
    itTells(new URL('config-refusals.txt', import.meta.url), Object.fromEntries(told));

    function refusal(env: Readonly<Record<string, string>>): string {
      try {
        read(env);
      } catch (error) {
        if (error instanceof ConfigError) return error.message;
        throw error;
      }
      return 'nothing is refused';
    }
  });

  it('refuses a REDIS_URL of another form without showing it, since it may hold a password', () => {
    for (const value of ['http://:secret@redis', 'redis', 'redis://:secret@a b', 'redis://:secret@a:99999'])
      expect(() => read({ REDIS_URL: value }))
        .to.throw(NamedError, /^REDIS_URL: .*; understood are redis:/)
        .with.property('message')
        .that.does.not.include('secret');
  });

  describe('secrets', () => {
    it('may come from a file, without the line end', () => {
      const path = join(directory, 'secret');
      writeFileSync(path, `${GIVEN} in a file\n`);
      expect(read({ SIGNAL_SECRET: '', SIGNAL_SECRET_FILE: path }).signalSecret).to.equal(
        `${GIVEN} in a file`,
      );
    });

    it('of signals may have 32 characters, the previous one, too', () => {
      const long = 'x'.repeat(32);
      expect(read({ SIGNAL_SECRET: long, SIGNAL_SECRET_PREVIOUS: GIVEN })).to.include({
        signalSecret: long,
        signalSecretPrevious: GIVEN,
      });
      expect(read().signalSecretPrevious).to.equal(null);
    });

    it('are made once, kept for this user only, and read again', () => {
      const dataDir = join(directory, 'new', 'data');
      const secretOf = () => getOrCreateSignalSecret(readConfig({ DATA_DIR: dataDir }));
      const first = secretOf();
      expect(first).to.match(/^[A-Za-z0-9_-]{43}$/);
      const path = join(dataDir, 'signal-secret');
      expect(readFileSync(path, 'utf8').trim()).to.equal(first);
      expect(statSync(path).mode & 0o077).to.equal(0);
      expect(statSync(dataDir).mode & 0o077).to.equal(0);
      expect(secretOf()).to.equal(first);
    });

    it('are made only when they are needed', () => {
      const dataDir = join(directory, 'unused', 'data');
      expect(readConfig({ DATA_DIR: dataDir }).signalSecret).to.equal(null);
      expect(existsSync(dataDir)).to.equal(false);
    });

    it('that were made are different each time', () => {
      const made = ['a', 'b'].map((name) =>
        getOrCreateSignalSecret(readConfig({ DATA_DIR: join(directory, name) })),
      );
      expect(made[0]).not.to.equal(made[1]);
    });

    it('that were made may not be lost: an empty file is not a secret', () => {
      const dataDir = join(directory, 'lost');
      mkdirSync(dataDir);
      const path = join(dataDir, 'signal-secret');
      writeFileSync(path, '');
      expect(() => getOrCreateSignalSecret(readConfig({ DATA_DIR: dataDir }))).to.throw(
        ConfigError,
        `${path} is empty; restore it from a backup, or remove it to have a new one made`,
      );
    });

    it('need a place to be kept', () => {
      const file = join(directory, 'a-file');
      writeFileSync(file, '');
      expect(() => getOrCreateSignalSecret(readConfig({ DATA_DIR: join(file, 'data') }))).to.throw(
        ConfigError,
        `DATA_DIR is ${join(file, 'data')}, where the file signal-secret cannot be kept; make the folder writable or set another DATA_DIR`,
      );
    });
  });

  after(() => rmSync(directory, { recursive: true, force: true }));
});
