import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { type Config, ConfigError, mistypedSettings, readConfig, signalSecretOf } from '../src/config.ts';
import { NamedError } from '../src/named-error.ts';
import { section } from './guide-blocks.ts';
import { temporaryDirectory } from './servers/temporary-directory.ts';

/** One wrong setting, and the expected message. */
type Refusal = readonly [name: string, value: string, message: string];

const NUMBER_REFUSALS: readonly Refusal[] = [
  ['PORT', '65536', 'PORT must be a whole number from 0 to 65535, not "65536"'],
  ['PORT', '-1', 'PORT must be a whole number from 0 to 65535, not "-1"'],
  ['PORT', '80a', 'PORT must be a whole number from 0 to 65535, not "80a"'],
  ['PORT', '8e3', 'PORT must be a whole number from 0 to 65535, not "8e3"'],
  ['PORT', '80.5', 'PORT must be a whole number from 0 to 65535, not "80.5"'],
  ['PLATFORM_PORT', 'http', 'PLATFORM_PORT must be a whole number from 0 to 65535, not "http"'],
  ['TRUSTED_PROXIES', '33', 'TRUSTED_PROXIES must be a whole number from 0 to 32, not "33"'],
  ['TRUSTED_PROXIES', 'true', 'TRUSTED_PROXIES must be a whole number from 0 to 32, not "true"'],
  [
    'RATE_LIMIT_PER_SECOND',
    'off',
    'RATE_LIMIT_PER_SECOND must be a whole number from 0 to 1000000, not "off"',
  ],
  ['RATE_LIMIT_BURST', '0', 'RATE_LIMIT_BURST must be a whole number from 1 to 1000000, not "0"'],
];

const TEXT_REFUSALS: readonly Refusal[] = [
  [
    'BASE_PATH',
    'scoring',
    'BASE_PATH must be a path like /scoring, without a slash at its end, not "scoring"',
  ],
  [
    'BASE_PATH',
    '/scoring/',
    'BASE_PATH must be a path like /scoring, without a slash at its end, not "/scoring/"',
  ],
  ['BASE_PATH', '/a:b', 'BASE_PATH must be a path like /scoring, without a slash at its end, not "/a:b"'],
  ...['scoring.example.com', 'ftp://a', 'https://a/?b=c', 'https://ann@a'].map(
    (url): Refusal => [
      'PLATFORM_URL',
      url,
      `PLATFORM_URL must be the address that people open the console at, like https://scoring.example.com, not "${url}"`,
    ],
  ),
  [
    'LOG_LEVEL',
    'loud',
    'LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"',
  ],
];

const GIVEN = 'a secret that is given, long enough';

describe('the configuration', () => {
  const directory = temporaryDirectory();
  const read = (env: Readonly<Record<string, string>> = {}): Config =>
    readConfig({ DATA_DIR: join(directory, 'data'), SIGNAL_SECRET: GIVEN, ...env });

  const expectRefused = (env: Readonly<Record<string, string>>, message: string) => {
    expect(() => read(env)).to.throw(ConfigError, new RegExp(`^${RegExp.escape(message)}$`));
  };

  describe('of the identity provider', () => {
    const provider = {
      OIDC_ISSUER: 'https://login.example.com/realms/shop',
      OIDC_CLIENT_ID: 'scoring',
      OIDC_CLIENT_SECRET: 'a secret',
      OIDC_ROLES: 'groups:ops=operator@*',
      PLATFORM_URL: 'https://scoring.example.com',
    };

    it('is read whole', () => {
      expect(read(provider).provider).to.deep.include({ clientId: 'scoring', clientSecret: 'a secret' });
      expect(read(provider).provider?.issuer.href).to.equal(provider.OIDC_ISSUER);
    });

    for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES', 'PLATFORM_URL'])
      it(`needs ${name}`, () => {
        const message = `OIDC_ISSUER is set without ${name}; people sign in only when both are`;
        expectRefused({ ...provider, [name]: '' }, message);
      });

    it('takes the secret from a file', () => {
      const OIDC_CLIENT_SECRET_FILE = join(directory, 'client-secret');
      writeFileSync(OIDC_CLIENT_SECRET_FILE, 'of a file\n');
      const { provider: found } = read({ ...provider, OIDC_CLIENT_SECRET: '', OIDC_CLIENT_SECRET_FILE });
      expect(found?.clientSecret).to.equal('of a file');
    });

    it('is reached over TLS, except on this machine', () => {
      const OIDC_ISSUER = 'http://login.example.com';
      const message = `OIDC_ISSUER must be the https address of the identity provider, as its issuer, not "${OIDC_ISSUER}"`;
      expectRefused({ ...provider, OIDC_ISSUER }, message);
      expect(read({ ...provider, OIDC_ISSUER: 'http://127.0.0.1:9' }).provider?.issuer.port).to.equal('9');
    });

    it('says which item of OIDC_ROLES is wrong', () => {
      const message =
        'OIDC_ROLES item 1, "ops=operator@*": it must be CLAIM:VALUE=ROLE@PLATFORM, like groups:fraud-team=analyst@shop';
      expectRefused({ ...provider, OIDC_ROLES: 'ops=operator@*' }, message);
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
    expect(mistypedSettings(env)).to.deep.equal([
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
        ...{ PLATFORM_URL: 'https://a.example.com', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 's' },
        ...{ OIDC_ROLES: 'groups:ops=operator@*', ARCHIVE_DIR: 's3://years' },
        ...{ REDIS_URL: 'redis-sentinel://127.0.0.1/main' },
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
    const mistyped = [...asked].flatMap((name) => mistypedSettings({ [`${name}X`]: '' }).map(() => name));
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
    expect(() => read({ ARCHIVE_DIR: 's3://years', ARCHIVE_CACHE_MAX: '499MB' })).to.throw(
      'ARCHIVE_CACHE_MAX must be at least 500MB: a merge of the archive has to fit into it',
    );
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

  it('takes a certificate for either listener, and refuses half of one', () => {
    const tls = { certificateFile: '/tls/tls.crt', keyFile: '/tls/tls.key' };
    const both = { TLS_CERT: '/tls/tls.crt', TLS_KEY: '/tls/tls.key' };
    expect(read(both).caller).to.deep.equal({ host: '0.0.0.0', port: 8080, tls });
    expect(read(both).platform).to.deep.equal({ host: '127.0.0.1', port: 8081 });
    const platform = { PLATFORM_TLS_CERT: '/tls/tls.crt', PLATFORM_TLS_KEY: '/tls/tls.key' };
    expect(read(platform).platform).to.deep.equal({ host: '127.0.0.1', port: 8081, tls });
    expectRefused(
      { TLS_KEY: '/tls/tls.key' },
      'TLS_KEY is set without TLS_CERT; set both, or neither for HTTP without TLS',
    );
    expectRefused(
      { PLATFORM_TLS_CERT: '/tls/tls.crt' },
      'PLATFORM_TLS_CERT is set without PLATFORM_TLS_KEY; set both, or neither for HTTP without TLS',
    );
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
    expectRefused({ ...env, REDIS_KEY: '' }, 'REDIS_CERT and REDIS_KEY belong together; set both or neither');
    expectRefused(
      { ...env, REDIS_URL: 'redis://localhost' },
      'REDIS_CA and REDIS_CERT are for TLS, but REDIS_URL asks for none; begin it with rediss:// or rediss-sentinel://',
    );
    expectRefused(
      { ...env, REDIS_CA: '/away.pem' },
      'REDIS_CA names /away.pem, which cannot be read; check the path and its permissions',
    );
  });

  it('refuses WORKERS, and says what replaced it', () => {
    expectRefused(
      { WORKERS: '2' },
      'WORKERS is set, but a node is one process; start several of them on one Redis, each with a PORT and a PLATFORM_PORT of its own behind the proxy (packaging/OPERATING.md, Processes), and leave WORKERS out',
    );
  });

  it('refuses an ERASURE_LEDGER that a backup would bring back', () => {
    expectRefused(
      { ERASURE_LEDGER: join(directory, 'data', 'erasures') },
      `ERASURE_LEDGER is ${join(directory, 'data', 'erasures')}, which is inside ${join(directory, 'data')}; name a file that no backup of the store or the archive brings back`,
    );
  });

  it('refuses a DRAIN_GRACE that no timer could wait for', () => {
    expect(read({ DRAIN_GRACE: '1d' }).drainGraceMs).to.equal(24 * 3_600_000);
    expectRefused({ DRAIN_GRACE: '25d' }, 'DRAIN_GRACE is "25d"; it must be at most 1d');
  });

  it('takes 0 and 0s for no DRAIN_GRACE, and refuses a malformed duration', () => {
    expect(read({ DRAIN_GRACE: '0s' }).drainGraceMs).to.equal(0);
    expect(read({ DRAIN_GRACE: '0' }).drainGraceMs).to.equal(0);
    expectRefused(
      { DRAIN_GRACE: 'soon' },
      'DRAIN_GRACE is "soon"; it must be 0, or a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d',
    );
  });
  for (const [given, why] of [
    ['5x', 'of no form'],
    ['30s', 'much less than a day'],
    ['23h', 'less than a day'],
    ['91d', 'longer than anything is kept'],
  ] as const) {
    it(`refuses a DECISIONS_HOT of ${given}, ${why}`, () => {
      expect(() => read({ DECISIONS_HOT: given })).to.throw(
        ConfigError,
        `DECISIONS_HOT is "${given}"; it must be a whole number of d or h, like 7d or 36h: at least 1d, because verdicts under an Idempotency-Key are repeated for a day, and at most 90d`,
      );
    });
  }

  it('refuses one port for callers and the platform, unless they listen on addresses apart', () => {
    const message =
      'PORT and PLATFORM_PORT are both 9000; callers and the platform have a port each, so set one of them to another';
    expectRefused({ PORT: '9000', PLATFORM_PORT: '9000' }, message);
    const both = { PORT: '9000', PLATFORM_PORT: '9000', PLATFORM_HOST: '10.0.0.1' };
    expectRefused({ ...both, HOST: '10.0.0.1' }, message);
    expectRefused({ ...both, HOST: '::' }, message);
    expectRefused({ ...both, HOST: 'localhost' }, message);
    expect(read({ ...both, HOST: '10.0.0.2' }).platform.port).to.equal(9000);
    expect(read({ PORT: '0', PLATFORM_PORT: '0' }).platform.port).to.equal(0);
  });

  it('refuses an ARCHIVE_SHIP that is neither on nor off', () => {
    expectRefused({ ARCHIVE_SHIP: 'no' }, 'ARCHIVE_SHIP is "no"; it must be on or off');
  });

  it('refuses a malformed ARCHIVE_KEEP', () => {
    expectRefused(
      { ARCHIVE_KEEP: 'a year' },
      'ARCHIVE_KEEP is "a year"; it must be a whole number above 0 and s, m, h or d, like 30s, 5m, 24h or 7d',
    );
  });

  it('treats an empty or blank setting as not set', () => {
    expect(read({ PORT: '', BASE_PATH: ' ', REDIS_URL: '', RULE_VERSION: '', LOG_LEVEL: '' })).to.deep.equal(
      read(),
    );
  });

  it('treats a BASE_PATH of one slash as none', () => {
    expect(read({ BASE_PATH: '/' }).basePath).to.equal('');
  });

  for (const [name, value, message] of [...NUMBER_REFUSALS, ...TEXT_REFUSALS]) {
    it(`refuses ${name}=${value}`, () => expectRefused({ [name]: value }, message));
  }

  it('refuses a RULE_VERSION of another form', () => {
    for (const value of ['v10', 'p2.v', '../p2.v10', 'P2.V10']) {
      expect(() => read({ RULE_VERSION: value })).to.throw(ConfigError, /^RULE_VERSION must be /);
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

    it('may not be given both ways', () => {
      expectRefused(
        { SIGNAL_SECRET_FILE: '/anywhere' },
        'SIGNAL_SECRET and SIGNAL_SECRET_FILE are both set; keep one of them',
      );
    });

    it('may not be missing from their file', () => {
      expectRefused(
        { REDIS_URL_FILE: join(directory, 'nothing') },
        `REDIS_URL_FILE names ${join(directory, 'nothing')}, which cannot be read; check the path and its permissions`,
      );
    });

    it('of signals have 32 characters or more, the previous one, too', () => {
      const long = 'x'.repeat(32);
      expect(read({ SIGNAL_SECRET: long, SIGNAL_SECRET_PREVIOUS: GIVEN })).to.include({
        signalSecret: long,
        signalSecretPrevious: GIVEN,
      });
      expect(read().signalSecretPrevious).to.equal(null);
      for (const name of ['SIGNAL_SECRET', 'SIGNAL_SECRET_PREVIOUS']) {
        expectRefused(
          { [name]: long.slice(1) },
          `${name} has 31 characters; it must have 32 or more, like what "openssl rand -base64 32" prints`,
        );
      }
    });

    it('may not be empty', () => {
      const path = join(directory, 'empty');
      writeFileSync(path, '\n');
      expectRefused(
        { SIGNAL_SECRET: '', SIGNAL_SECRET_FILE: path },
        `SIGNAL_SECRET_FILE names ${path}, which is empty; put the secret into it`,
      );
    });

    it('are made once, kept for this user only, and read again', () => {
      const dataDir = join(directory, 'new', 'data');
      const secretOf = () => signalSecretOf(readConfig({ DATA_DIR: dataDir }));
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
      const made = ['a', 'b'].map((name) => signalSecretOf(readConfig({ DATA_DIR: join(directory, name) })));
      expect(made[0]).not.to.equal(made[1]);
    });

    it('that were made may not be lost: an empty file is not a secret', () => {
      const dataDir = join(directory, 'lost');
      mkdirSync(dataDir);
      const path = join(dataDir, 'signal-secret');
      writeFileSync(path, '');
      expect(() => signalSecretOf(readConfig({ DATA_DIR: dataDir }))).to.throw(
        ConfigError,
        `${path} is empty; restore it from a backup, or remove it to have a new one made`,
      );
    });

    it('need a place to be kept', () => {
      const file = join(directory, 'a-file');
      writeFileSync(file, '');
      expect(() => signalSecretOf(readConfig({ DATA_DIR: join(file, 'data') }))).to.throw(
        ConfigError,
        `DATA_DIR is ${join(file, 'data')}, where the file signal-secret cannot be kept; make the folder writable or set another DATA_DIR`,
      );
    });
  });

  after(() => rmSync(directory, { recursive: true, force: true }));
});
