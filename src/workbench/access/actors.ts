import { hostname, userInfo } from 'node:os';
import type { Actor } from '#checkout/access/caller.ts';

/** Creates the actor for a person whom the identity provider vouches for: `person:248289761001 (ann@example.com)`. */
export function createPersonActor({
  sub,
  email,
}: {
  readonly sub: string;
  readonly email: string | null;
}): Actor {
  const id = `person:${sub}`;
  return { id, owner: id, text: email === null ? id : `${id} (${email})` };
}

/** Tells whether an actor is a person who signed in at the identity provider, and not a key. */
export function isPersonActor({ id }: Pick<Actor, 'id'>): boolean {
  return id.startsWith('person:');
}

/** Formats the author of a change by a command: the user of the operating system, like `user ann on ops-1`. */
export function formatOsUserActor(): string {
  return createOsUserActor().text;
}

export function createOsUserActor(): Actor {
  const owner = userInfo().username;
  const id = `user ${owner} on ${hostname()}`;
  return { id, owner, text: id };
}
