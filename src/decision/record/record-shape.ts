import { hash } from 'node:crypto';
import type { RuleSet, RuleVersion, Verdict } from '../../rules/rule-set.ts';
import { OTHERWISE } from '../decision.ts';
import type { RenderedPart } from '../reason.ts';

/**
 * What all decisions by one rule set have in common: the names of facts, signals and rules, and the texts of
 * reasons. It is stored once, so that a record holds places in these lists instead of words.
 */
export interface RecordShape {
  /** Names the shape by its content: two services that record other facts under one digest have two shapes. */
  readonly id: string;
  /** What is stored; `readShape` makes the shape of it again. */
  readonly text: string;
  readonly contents: ShapeContents;
}

interface ShapeContents {
  readonly ruleVersion: RuleVersion;
  readonly digest: string;
  readonly facts: readonly ShapeFact[];
  readonly signals: readonly string[];
  /** In the order of the rule set, `otherwise` last. */
  readonly rules: readonly ShapeRule[];
}

export interface ShapeFact {
  readonly label: string;
  /** A yes or no, which a record writes as 1 or 0. */
  readonly flag: boolean;
  /** The words of a fact that has one of a few; a record writes the place of its word. */
  readonly words?: readonly string[];
}

export interface ShapeRule {
  readonly name: string;
  readonly verdict: Verdict;
  readonly reason: readonly RenderedPart[];
}

const shapes = new WeakMap<RuleSet, RecordShape>();

/** The shape of the decisions by a rule set; made once for each. */
export function recordShape(rules: RuleSet): RecordShape {
  const known = shapes.get(rules);
  if (known !== undefined) return known;
  const shape = readShape(JSON.stringify(contentsOf(rules)));
  shapes.set(rules, shape);
  return shape;
}

/** The shape that was stored as `text`. */
export function readShape(text: string): RecordShape {
  return { id: hash('sha256', text, 'base64url').slice(0, 10), text, contents: JSON.parse(text) };
}

function contentsOf({ version, digest, facts, signals, verdicts }: RuleSet): ShapeContents {
  const rule = (name: string, { verdict, reason }: (typeof verdicts)['otherwise']): ShapeRule => ({
    name,
    verdict,
    reason: reason.map((part) =>
      part.kind === 'fact' ? { kind: 'fact', fact: { index: part.fact.index } } : part,
    ),
  });
  return {
    ruleVersion: version,
    digest,
    facts: facts.map(({ label, fact: { domain } }) => ({
      label,
      flag: domain.type === 'boolean',
      ...(domain.type === 'enum' ? { words: domain.values } : {}),
    })),
    signals: signals.rules.map(({ name }) => name),
    rules: [
      ...verdicts.rules.map(({ name, params }) => rule(name, params)),
      rule(OTHERWISE, verdicts.otherwise),
    ],
  };
}
