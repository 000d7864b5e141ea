import type { Configuration } from 'openid-client';
import { findInvisibleCharacter } from '#base/invisible-characters.ts';
import { type RoleMapping, selectRoleMappings } from './roles.ts';

/** The identity provider, and the roles that its claims give. */
export interface ProviderSettings {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly roles: readonly RoleMapping[];
}

/** A person whom the provider vouches for. */
export interface Person {
  /** The provider's id. The provider never reuses it for another person. */
  readonly sub: string;
  /** The e-mail address. Null unless the provider has verified it. */
  readonly email: string | null;
  /** The items of OIDC_ROLES that match the person's claims. */
  readonly items: readonly string[];
}

/** The data that a browser keeps while its user is at the provider. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

const REQUEST_SECONDS_MAX = 10;

/**
 * Signs people in with OpenID Connect: the code flow with PKCE, state and nonce. Tokens are neither kept nor logged.
 */
export class IdentityProvider {
  readonly #settings: ProviderSettings;
  readonly #callback: string;
  #discovered: Promise<Configuration> | null = null;

  constructor(settings: ProviderSettings, consoleUrl: URL) {
    this.#settings = settings;
    this.#callback = `${consoleUrl.href.replace(/\/$/, '')}/session/callback`;
  }

  /** Begins a sign-in. Returns the URL to which the browser is sent, and the attempt that it keeps. */
  async begin(): Promise<{ readonly url: URL; readonly attempt: PendingSignIn }> {
    const {
      buildAuthorizationUrl,
      calculatePKCECodeChallenge,
      randomNonce,
      randomPKCECodeVerifier,
      randomState,
    } = await import('openid-client');
    const config = await this.#configuration();
    const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
    const url = buildAuthorizationUrl(config, {
      redirect_uri: this.#callback,
      scope: this.#scope(config),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    });
    return { url, attempt };
  }

  /**
   * Finishes a sign-in with the query that the provider sent. Returns the person. Throws if the provider vouches for
   * nobody.
   */
  async finish(query: string, { state, nonce, verifier }: PendingSignIn): Promise<Person> {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client');
    const config = await this.#configuration();
    const tokens = await authorizationCodeGrant(config, new URL(`${this.#callback}?${query}`), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error('the provider sent no id token');
    const more =
      config.serverMetadata().userinfo_endpoint === undefined
        ? {}
        : await fetchUserInfo(config, tokens.access_token, claims.sub);
    return createPerson(this.#settings.roles, claims.sub, [more, claims]);
  }

  /** Asks for the scopes of the required claims, because some claims are given only with their scope. */
  #scope(config: Configuration): string {
    const offered = config.serverMetadata().scopes_supported ?? [];
    const claims = this.#settings.roles.map(({ claim }) => claim);
    return ['openid', ...new Set(['email', ...claims].filter((one) => offered.includes(one)))].join(' ');
  }

  /** Reads the provider's configuration at the first sign-in, so that the service starts without its provider. */
  #configuration(): Promise<Configuration> {
    this.#discovered ??= this.#discover().catch((error: unknown) => {
      this.#discovered = null;
      throw error;
    });
    return this.#discovered;
  }

  async #discover(): Promise<Configuration> {
    const {
      allowInsecureRequests,
      ClientSecretBasic,
      ClientSecretPost,
      discovery,
      enableNonRepudiationChecks,
    } = await import('openid-client');
    const { issuer, clientId, clientSecret } = this.#settings;
    const [basic, post] = [ClientSecretBasic(clientSecret), ClientSecretPost(clientSecret)];
    return discovery(
      issuer,
      clientId,
      undefined,
      (server, client, body, headers) => {
        const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
        const authenticate = methods.includes('client_secret_basic') ? basic : post;
        return authenticate(server, client, body, headers);
      },
      {
        timeout: REQUEST_SECONDS_MAX,
        // The settings allow a provider without TLS only on the same machine.
        execute: [
          enableNonRepudiationChecks,
          ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : []),
        ],
      },
    );
  }
}

/** The claims of one document of the provider: the id token, or the userinfo. */
type Claims = Readonly<Record<string, unknown>>;

/** The longest subject that OpenID Connect allows. */
const SUB_CHARACTERS_MAX = 255;
const EMAIL_CHARACTERS_MAX = 254;

/**
 * Creates the person. If several documents have a claim, the claim of the first document is taken. Throws if the
 * person's subject is too long or has invisible characters.
 */
function createPerson(roles: readonly RoleMapping[], sub: string, documents: readonly Claims[]): Person {
  if (sub.length > SUB_CHARACTERS_MAX || findInvisibleCharacter(sub) !== null)
    throw new Error(
      `the provider names this person by a sub that is not taken: it must have at most ${SUB_CHARACTERS_MAX} characters, none of them a control character`,
    );
  return {
    sub,
    email: documents.map(findVerifiedEmail).find((email) => email !== null) ?? null,
    items: selectRoleMappings(roles, documents).map(({ item }) => item),
  };
}

/**
 * Returns a document's address if the same document says that it is verified. The flag of another document says
 * nothing about it.
 */
function findVerifiedEmail({ email, email_verified: isVerified }: Claims): string | null {
  if (typeof email !== 'string' || isVerified !== true) return null;
  return email.length > EMAIL_CHARACTERS_MAX || findInvisibleCharacter(email) !== null ? null : email;
}
