/// <reference path="./oidc-provider.d.ts" />
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import type { ProviderSettings } from '#workbench/access/identity-provider.ts';
import type { RoleMapping } from '#workbench/access/roles.ts';
import { listening } from './listening.ts';

const CLIENT_ID = 'scoring';
const CLIENT_SECRET = 'known to the service and its provider alone';

/** By the name that is typed at the provider. */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  ann: ['fraud-team'],
  ops: ['ops'],
  guest: [],
};

/** What the provider says of some people in its two documents; of all others it says the same in both. */
const CLAIMS: Readonly<Record<string, Readonly<Record<'id_token' | 'userinfo', object>>>> = {
  'eve with another address in userinfo': {
    id_token: { email: 'eve@example.com', email_verified: true, groups: ['fraud-team'] },
    userinfo: { email: 'boss@example.com' },
  },
  'eve without a role in userinfo': {
    id_token: { groups: ['ops', 'fraud-team'] },
    userinfo: { groups: ['fraud-team'] },
  },
  'eve with a torn address': {
    id_token: { groups: ['fraud-team'] },
    userinfo: { email: 'eve@example.com\n(boss@example.com)', email_verified: true },
  },
};

/** A real OpenID provider whose people say their names and nothing more. */
export interface RunningProvider {
  settings(roles: readonly RoleMapping[]): ProviderSettings;
  stop(): Promise<void>;
}

/** `callback` is asked only when somebody signs in: the service starts later than its provider. */
export async function startIdentityProvider(consoleUrl: () => string): Promise<RunningProvider> {
  const server = createServer();
  const issuer = await listening(server);
  const provider = new Provider(issuer, configuration(consoleUrl));
  const answer = provider.callback();
  server.on('request', (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', issuer);
    if (!pathname.startsWith('/interaction/')) return answer(req, res);
    const accountId = searchParams.get('name');
    if (accountId !== null)
      return provider
        .interactionFinished(req, res, { login: { accountId } })
        .catch(() => res.writeHead(400).end());
    res.setHeader('Content-Type', 'text/html');
    return res.end(
      '<title>Provider</title><link rel="icon" href="data:,"><form><label>Name <input name="name"></label><button>Continue</button></form>',
    );
  });
  return {
    settings: (roles) => ({
      issuer: new URL(issuer),
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      roles,
    }),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function configuration(consoleUrl: () => string): object {
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        get redirect_uris() {
          return [`${consoleUrl()}/session/callback`];
        },
      },
    ],
    scopes: ['openid', 'email', 'groups'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
    // The id token has the claims of its scopes, too.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    cookies: { keys: ['of the tests'] },
    findAccount: (_: unknown, accountId: string) => ({
      accountId,
      claims: (document: 'id_token' | 'userinfo') => ({
        sub: accountId,
        ...(CLAIMS[accountId]?.[document] ?? {
          email: `${accountId}@example.com`,
          email_verified: true,
          groups: GROUPS[accountId] ?? ['fraud-team'],
        }),
      }),
    }),
    // Nobody is asked for consent.
    loadExistingGrant: async ({ oidc }: AskedContext) => {
      const grant = new oidc.provider.Grant({
        accountId: oidc.session.accountId,
        clientId: oidc.client.clientId,
      });
      grant.addOIDCScope('openid email groups');
      await grant.save();
      return grant;
    },
  };
}

interface AskedContext {
  readonly oidc: {
    readonly provider: Provider;
    readonly session: { readonly accountId: string };
    readonly client: { readonly clientId: string };
  };
}
