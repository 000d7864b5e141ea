import type { ShownTime } from './parts/time-span.ts';
import type { Session } from './questions.ts';

/** A place on the page, from the address after its hash: `#/rules/VERSION/ask/ID?days=…`. */
export interface Place {
  /** The version of the rules. Empty if the page is not about a version. */
  readonly version: string;
  readonly item: string;
  readonly query: URLSearchParams;
  /** How far down the place was scrolled when it was left, in pixels. 0 if the place is new. */
  readonly top: number;
}

/** The properties of each page. */
export interface PageProps {
  readonly session: Session;
  readonly place: Place;
  readonly time: ShownTime;
}
