import type { Time } from './parts/time-span.ts';
import type { Session } from './questions.ts';

/** Where somebody is on the page, from the address after its hash: `#/rules/VERSION/ask/ID?days=…`. */
export interface Place {
  /** Of the rules; empty where the page is not about one. */
  readonly version: string;
  readonly item: string;
  readonly query: URLSearchParams;
  /** How far down it was left, pixels; 0 when it is new. */
  readonly top: number;
}

/** What each page is given. */
export interface PageProps {
  readonly session: Session;
  readonly place: Place;
  readonly time: Time;
}
