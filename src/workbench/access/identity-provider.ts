import type { Configuration } from 'openid-client';
import { findInvisible } from '#base/invisible-characters.ts';
import { findRoles, type RoleGrant } from './roles.ts';

/** The identity provider, and which roles its claims give. */
export interface ProviderSettings {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly roles: readonly RoleGrant[];
}

/** Somebody whom the provider vouches for. */
export interface Person {
  /** The provider's id; never reused for another person. */
  readonly sub: string;
  /** The e-mail address, where the provider has verified it. */
  readonly email: string | null;
  /** The items of OIDC_ROLES that match the claims. */
  readonly items: readonly string[];
}

/** What a browser keeps while its user is at the provider. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

const REQUEST_SECONDS_MAX = 10;

/** Signs people in with OpenID Connect: the code flow with PKCE, state and nonce. No token is kept or logged. */
export class IdentityProvider {
  readonly #settings: ProviderSettings;
  readonly #callback: string;
  #discovered: Promise<Configuration> | null = null;

  constructor(settings: ProviderSettings, consoleUrl: URL) {
    this.#settings = settings;
    this.#callback = `${consoleUrl.href.replace(/\/$/, '')}/session/callback`;
  }

  /** Where to send the browser. */
  async begin(): Promise<{ readonly url: URL; readonly attempt: SignInAttempt }> {
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

  /** The person who came back, as the provider's query says. Throws when it vouches for nobody. */
  async finish(query: string, { state, nonce, verifier }: SignInAttempt): Promise<Person> {
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
    return personOf(this.#settings.roles, claims.sub, [more, claims]);
  }

  /** Some claims are given only when their scope is asked for. */
  #scope(config: Configuration): string {
    const offered = config.serverMetadata().scopes_supported ?? [];
    const claims = this.#settings.roles.map(({ claim }) => claim);
    return ['openid', ...new Set(['email', ...claims].filter((one) => offered.includes(one)))].join(' ');
  }

  /** Read at the first sign-in, so that the service starts without its provider. */
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
        // The settings allow a provider without TLS only on this machine.
        execute: [
          enableNonRepudiationChecks,
          ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : []),
        ],
      },
    );
  }
}

/** The claims of one document of the provider: of the id token, or of the userinfo. */
type Claims = Readonly<Record<string, unknown>>;

/** As long as OpenID Connect allows. */
const SUB_CHARACTERS_MAX = 255;
const EMAIL_CHARACTERS_MAX = 254;

/** `documents`: what the newer one says of a claim holds. Throws for a person who cannot be named. */
function personOf(roles: readonly RoleGrant[], sub: string, documents: readonly Claims[]): Person {
  if (sub.length > SUB_CHARACTERS_MAX || findInvisible(sub) !== null)
    throw new Error(
      `the provider names this person by a sub that is not taken: it must have at most ${SUB_CHARACTERS_MAX} characters, none of them a control character`,
    );
  return {
    sub,
    email: documents.map(verifiedEmailOf).find((email) => email !== null) ?? null,
    items: findRoles(roles, documents).map(({ item }) => item),
  };
}

/** A flag of one document says nothing about the address in another. */
function verifiedEmailOf({ email, email_verified: isVerified }: Claims): string | null {
  if (typeof email !== 'string' || isVerified !== true) return null;
  return email.length > EMAIL_CHARACTERS_MAX || findInvisible(email) !== null ? null : email;
}
