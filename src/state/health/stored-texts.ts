/** What a text holds: the state of a client, a document, or a register. */
export const TEXT_KINDS = ['client', 'document', 'register'] as const;

export type TextKind = (typeof TEXT_KINDS)[number];

/** Where a text is kept: under the client's hash, `collection/name` of a document, or the register's name. */
export interface TextPlace {
  readonly kind: TextKind;
  readonly name: string;
}

/** The collection or register that a place belongs to. */
export function followedName({ kind, name }: TextPlace): string {
  return kind === 'document' ? name.slice(0, name.indexOf('/')) : name;
}

export interface StoredText extends TextPlace {
  readonly text: string;
}

/** States by the clients' hashes. */
export interface StatesPage {
  readonly states: readonly Pick<StoredText, 'name' | 'text'>[];
  readonly next: string | null;
}

/** A text as it was read, for a replacement that must not overwrite anything newer. */
export interface ReadText {
  readonly text: string;
  /** Of the bytes that are kept: a damaged text may lose some of them on the way. */
  readonly stamp: string;
}

/**
 * What is kept, as it is kept: for an operator who looks for what cannot be read, and mends it, and for making states
 * smaller. No request is served from here.
 */
export interface StoredTexts {
  /** Every text, one after the other; what changes meanwhile may be left out. */
  all(): AsyncIterable<StoredText>;

  /** Null when there is none. */
  read(place: TextPlace): Promise<ReadText | null>;

  /** Puts `next` in the place of a text, or with null removes it. False when the text has changed since `stamp`. */
  replace(place: TextPlace, stamp: string, next: string | null): Promise<boolean>;

  /** Some of the clients' states, and where the next ones are asked for: null before the first and after the last. */
  states(from: string | null): Promise<StatesPage>;

  /** Puts a state in the place of `text`, to be kept no longer than that; false when it has changed. */
  replaceState(clientHash: string, text: string, next: string): Promise<boolean>;

  /** The number of the newest decision that is kept of a client, by its hash; 0 without one. */
  newestDecision(clientHash: string): Promise<number>;
}
