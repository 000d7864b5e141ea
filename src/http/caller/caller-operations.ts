import type { CallerOperation } from './caller-operation.ts';
import { score } from './score.ts';
import { verdict } from './verdict.ts';

/** All that checkouts may ask for (interface, section 4): the API document and the listener are made from it. */
export const CALLER_OPERATIONS: readonly CallerOperation[] = [score, verdict];
