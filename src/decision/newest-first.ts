import { clientNumber } from '../client/client-key.ts';
import type { Decision } from './decision.ts';

/**
 * Where a decision stands in the one order in which all of a platform's are listed: newest first, and those of one
 * millisecond by their clients' and their own numbers, so that a list can be left and taken up anywhere.
 */
export interface DecisionPosition {
  /** Epoch ms. */
  readonly at: number;
  readonly clientHash: string;
  readonly seq: number;
}

/** Orders decisions, newest first. */
export function newestFirst(a: Decision, b: Decision): number {
  // Nearly all are told apart by their times, and searches order thousands beside requests.
  return b.at - a.at || comparePositions(positionOf(a), positionOf(b));
}

/** Whether a decision comes after a position in the list. */
export function isAfter(decision: Decision, position: DecisionPosition): boolean {
  return comparePositions(positionOf(decision), position) > 0;
}

function positionOf({ decisionId, seq, at }: Decision): DecisionPosition {
  return { at, clientHash: decisionId.slice(0, CLIENT_HASH_CHARACTERS), seq };
}

const CLIENT_HASH_CHARACTERS = 22;

function comparePositions(a: DecisionPosition, b: DecisionPosition): number {
  if (a.at !== b.at) return b.at - a.at;
  if (a.clientHash !== b.clientHash)
    return BigInt(clientNumber(a.clientHash)) < BigInt(clientNumber(b.clientHash)) ? 1 : -1;
  return b.seq - a.seq;
}
