import { once } from 'node:events';
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type PeerCertificate } from 'node:tls';
import { expect } from 'chai';
import { pino } from 'pino';
import {
  CertificateError,
  type CertificateFiles,
  findKeyFileWarning,
  readCertificate,
} from '#checkout/http/server/certificate.ts';
import { closeListener, createListener, ListenError, listen } from '#checkout/http/server/listener.ts';
import { type Authority, makeAuthority } from '../../../servers/certificates.ts';
import { describeWithServer } from '../../../servers/needed-programs.ts';
import { temporaryDirectory } from '../../../servers/temporary-directory.ts';
import { until } from '../../../servers/until.ts';
import { halfClosedExchange, rawExchange, rawStatus } from '../raw-exchange.ts';

const TIMES = { requestMs: 10_000, unreadMs: 5_000 };

describeWithServer('openssl', 'a listener with TLS', () => {
  let authority: Authority;
  let files: CertificateFiles;
  let server: Server;
  let port: number;
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });

  const create = (tls: CertificateFiles) =>
    createListener(
      { host: '127.0.0.1', port: 0, tls },
      (_req, res) => void setImmediate(() => res.end('ok')),
      TIMES,
      () => false,
      log,
    );
  const install = ({ certificateFile, keyFile }: CertificateFiles) => {
    copyFileSync(keyFile, files.keyFile);
    copyFileSync(certificateFile, files.certificateFile);
  };
  /** The name in the server's present certificate. */
  const shownName = async () => {
    const socket = connect({ port, host: '127.0.0.1', ca: authority.ca });
    await once(socket, 'secureConnect');
    const { subject }: PeerCertificate = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };
  const get = async (agent: Agent) => {
    const asked = request({ port, host: '127.0.0.1', ca: authority.ca, agent }).end();
    const [answer] = await once(asked, 'response');
    return { body: await text(answer), reused: asked.reusedSocket };
  };

  before(async () => {
    authority = makeAuthority();
    const folder = temporaryDirectory();
    files = { certificateFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
    install(authority.issue('first'));
    server = create(files);
    const url = await listen(server, { host: '127.0.0.1', port: 0, tls: files }, 'PORT');
    expect(url).to.match(/^https:\/\/127\.0\.0\.1:\d+$/);
    port = Number(new URL(url).port);
  });
  after(() => closeListener(server));

  it('answers a client that closes for writing behind its request', async () => {
    const answer = await halfClosedExchange(`https://127.0.0.1:${port}`, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(rawStatus(answer), answer).to.equal(200);
  });

  it('answers a client that trusts its authority', async () => {
    const agent = new Agent();
    expect((await get(agent)).body).to.equal('ok');
  });

  it('uses no cipher without forward secrecy, and sends HSTS', async () => {
    const ciphers = 'AES256-GCM-SHA384:AES128-GCM-SHA256:AES128-SHA';
    const old = connect({ port, host: '127.0.0.1', ca: authority.ca, maxVersion: 'TLSv1.2', ciphers });
    const [error] = await once(old, 'error');
    expect(String(error)).to.match(/handshake failure/);
    const asked = request({ port, host: '127.0.0.1', ca: authority.ca }).end();
    const [answer] = await once(asked, 'response');
    expect(answer.headers['strict-transport-security']).to.equal('max-age=31536000');
    answer.resume();
  });

  it('warns of a key file that every user may read', () => {
    chmodSync(files.keyFile, 0o644);
    expect(findKeyFileWarning(files)).to.equal(
      `${files.keyFile} can be read by every user of this machine; make it chmod 600 (or 640)`,
    );
    chmodSync(files.keyFile, 0o640);
    expect(findKeyFileWarning(files)).to.equal(null);
  });

  it('gives no answer to a client that speaks HTTP without TLS', async () => {
    expect(await rawExchange(`http://127.0.0.1:${port}`, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).to.equal('');
  });

  it('shows a new certificate to new connections, and drops none that is open', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await get(agent);
    install(authority.issue('second'));
    await until('the new certificate is shown', async () => (await shownName()) === 'second');
    expect(await get(agent)).to.deep.equal({ body: 'ok', reused: true });
    agent.destroy();
  });

  it('keeps its certificate while certificate and key do not match', async () => {
    const shown = await shownName();
    const { certificateFile, keyFile } = authority.issue('third');
    copyFileSync(certificateFile, files.certificateFile);
    expect(() => readCertificate(files)).to.throw(CertificateError);
    const refused = '"msg":"the new certificate cannot be used; the former one stays in use"';
    await until('the files are looked at', async () => lines.some((line) => line.includes(refused)));
    expect(await shownName()).to.equal(shown);
    copyFileSync(keyFile, files.keyFile);
    await until('the new certificate is shown', async () => (await shownName()) === 'third');
  });

  it('cuts off a client that does not read its answer', async () => {
    const tls = authority.issue('unread');
    const answer = Buffer.alloc(64 * 1024 * 1024);
    const address = { host: '127.0.0.1', port: 0, tls };
    const times = { requestMs: 10_000, unreadMs: 300 };
    const large = createListener(
      address,
      (_req, res) => void res.end(answer),
      times,
      () => false,
      log,
    );
    const asker = new URL(await listen(large, address, 'PORT'));
    const socket = connect({ port: Number(asker.port), host: asker.hostname, ca: authority.ca }).pause();
    socket.on('error', () => {
      // The test waits for this reset.
    });
    await once(socket, 'secureConnect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const open = () => new Promise<number>((resolve) => large.getConnections((_, count) => resolve(count)));
    expect(await open()).to.equal(1);
    await until('the connection is cut off', async () => (await open()) === 0);
    socket.destroy();
    await closeListener(large);
  });

  it('is not opened with unusable files, and says which', () => {
    const folder = temporaryDirectory();
    const [one, other] = [authority.issue('one'), authority.issue('other')];
    const away = join(folder, 'away.pem');
    const empty = join(folder, 'empty.pem');
    writeFileSync(empty, '');
    const refusals: readonly (readonly [CertificateFiles, string])[] = [
      [{ ...one, certificateFile: away }, `${away} cannot be read; check the path and its permissions`],
      [{ ...one, certificateFile: empty }, `${empty} does not hold a certificate in PEM form`],
      [{ ...one, keyFile: empty }, `${empty} does not hold a private key without a password in PEM form`],
      [
        { ...one, keyFile: other.keyFile },
        `the key in ${other.keyFile} is not that of the certificate in ${one.certificateFile}`,
      ],
    ];
    for (const [tls, message] of refusals) expect(() => create(tls)).to.throw(ListenError, message);
  });
});
