import { DAY_MS, DURATION_FORM, formatDuration, parseDuration } from '#base/duration.ts';
import {
  bindVelocityFactToAttribute,
  createAttributeFact,
  formatAttributeFactLabel,
} from '#decision/facts/attribute.ts';
import { FACTS } from '#decision/facts/catalogue.ts';
import {
  type AttributeFact,
  type Fact,
  type ListedFact,
  toFactOverWindow,
  type WindowedFact,
} from '#decision/facts/fact.ts';
import {
  ATTRIBUTE_NAME_FORM_TEXT,
  type DeclaredAttribute,
  type DeclaredAttributes,
  isAttributeName,
} from '#decision/payer/attributes.ts';
import type { FactRef } from '#decision/rules/condition.ts';
import { formatNameHint } from '#decision/rules/problem.ts';
import { isName } from '#decision/rules/rule-set.ts';

/** The facts that a rule set uses, each with its index among the values of a decision. */
export class FactRefs {
  readonly #refs = new Map<string, FactRef>();
  readonly #attributes: DeclaredAttributes | null;

  /**
   * Starts with every plain and concluded fact and every declared attribute. Decisions record these facts even if no
   * rule asks for them. `attributes` is null if the declarations could not be read. Records refer to facts by index,
   * so a fact may be among them only if all rule sets have it from their first version on.
   */
  constructor(attributes: DeclaredAttributes | null = null) {
    this.#attributes = attributes;
    for (const [name, fact] of FACTS) {
      const isAlwaysRecorded = fact.kind === 'concluded' || (fact.kind === 'plain' && fact.onDemand !== true);
      if (isAlwaysRecorded) this.intern(name, fact, 0);
    }
    for (const declared of attributes?.values() ?? [])
      this.#internAttribute(createAttributeFact(declared), declared.name);
  }

  intern(name: string, fact: Fact, windowMs: number): FactRef {
    const label = fact.kind === 'windowed' ? `${name}(${formatDuration(windowMs)})` : name;
    return this.#internLabel(label, { name, fact: toFactOverWindow(fact, windowMs), windowMs });
  }

  /** Adds a fact about the values of a declared attribute. */
  internVelocity(name: string, fact: WindowedFact, windowMs: number, declared: DeclaredAttribute): FactRef {
    const label = `${name}(${declared.name} ${formatDuration(windowMs)})`;
    const attribute = declared.name;
    return this.#internLabel(label, {
      name,
      fact: bindVelocityFactToAttribute(fact, declared),
      windowMs,
      attribute,
    });
  }

  /**
   * Finds an attribute whose values can be counted. If its values cannot be counted, returns a text that says why. If
   * the declarations are not known, returns null.
   */
  findCountedAttribute(name: string): DeclaredAttribute | string | null {
    const ref = this.findAttribute(name);
    if (ref === null || typeof ref === 'string') return ref;
    const declared = this.#attributes?.get(name);
    if (declared?.pseudonym === true) return declared;
    return `only values of attributes with pseudonym: true are counted, and ruleset.yaml declares "${name}" without it`;
  }

  /** Adds a fact about the shared list of this name. */
  internListed(name: string, fact: ListedFact, list: string): FactRef {
    return this.#internLabel(`${name}(${list})`, { name, fact, windowMs: 0, list });
  }

  /** Whether an attribute of this name is declared. False when the declarations are not known. */
  isAttributeDeclared(name: string): boolean {
    return this.#refs.has(formatAttributeFactLabel(name));
  }

  /** Finds the attribute or the fact that a text names. Returns null for any other text. */
  findAttributeOrFact(text: string): FactRef | null {
    const attribute = this.#refs.get(formatAttributeFactLabel(text));
    if (attribute !== undefined) return attribute;
    const fact = FACTS.get(text);
    // The fact is only mentioned in a message, so it gets no index among the values of a decision.
    return fact === undefined ? null : { label: text, name: text, fact, windowMs: 0, index: -1 };
  }

  /**
   * Finds the attribute of this name. If there is none, returns a text that says why. If the declarations are not
   * known, returns null.
   */
  findAttribute(name: string): FactRef | string | null {
    const known = this.#refs.get(formatAttributeFactLabel(name));
    if (known !== undefined || this.#attributes === null) return known ?? null;
    if (!isAttributeName(name))
      return `the name of an attribute has ${ATTRIBUTE_NAME_FORM_TEXT}, unlike "${name}"`;
    return explainUndeclaredAttribute(name, this.#attributes);
  }

  #internAttribute(fact: AttributeFact, attribute: string): FactRef {
    return this.#internLabel(formatAttributeFactLabel(attribute), {
      name: 'attribute',
      fact,
      windowMs: 0,
      attribute,
    });
  }

  listAll(): readonly FactRef[] {
    return [...this.#refs.values()];
  }

  #internLabel(label: string, named: Omit<FactRef, 'label' | 'index'>): FactRef {
    return this.#refs.getOrInsertComputed(label, () => ({ label, ...named, index: this.#refs.size }));
  }
}

/** Explains that `ruleset.yaml` does not declare an attribute. `consequence` is a further clause like ", so ..". */
export function explainUndeclaredAttribute(
  name: string,
  attributes: DeclaredAttributes,
  consequence = '',
): string {
  const hint =
    attributes.size === 0
      ? `; declare it there: attributes: { ${name}: { type: text } }`
      : formatNameHint(name, [...attributes.keys()]);
  return `ruleset.yaml declares no attribute "${name}"${consequence}${hint}`;
}

/**
 * Finds the fact that a placeholder of a reason names, like `paidCount` or `verdicts(10m)`. If the placeholder is
 * wrong, returns a text that says why. If it names an attribute and the declarations could not be read, returns null.
 */
export function findPlaceholderFactOrFault(
  placeholder: string,
  refs: FactRefs,
  allowed: () => readonly string[],
): FactRef | string | null {
  const match = /^(\w+)(?:\((.+)\))?$/.exec(placeholder);
  const name = match?.[1] ?? placeholder;
  const fact = FACTS.get(name);
  if (fact === undefined) return `unknown fact "${name}"${formatNameHint(placeholder, allowed())}`;
  const window = match?.[2];
  if (fact.kind === 'listed') {
    return window !== undefined && isName(window)
      ? refs.internListed(name, fact, window)
      : `"${name}" needs a shared list: {${name}(blocked-devices)}`;
  }
  if (fact.kind === 'attribute') {
    if (window !== undefined) return refs.findAttribute(window);
    return `"${name}" needs the name of one that ruleset.yaml declares: {${name}(cardCountry)}`;
  }
  if (fact.kind === 'windowed' && fact.ofAttribute !== undefined)
    return findVelocityFact(name, fact, window, refs);
  if (fact.kind !== 'windowed')
    return window === undefined ? refs.intern(name, fact, 0) : `"${name}" takes no window`;
  return findWindowedFact(name, fact, window, refs);
}

function findWindowedFact(
  name: string,
  fact: WindowedFact,
  window: string | undefined,
  refs: FactRefs,
): FactRef | string {
  const windowMs = window === undefined ? null : parseDuration(window);
  if (windowMs === null) return `"${name}" needs a window, ${DURATION_FORM}: {${name}(10m)}`;
  return findWindowFault(name, fact, windowMs) ?? refs.intern(name, fact, windowMs);
}

/** Finds the fact of a placeholder like `clientsOnAttribute(card 1h)`. */
function findVelocityFact(
  name: string,
  fact: WindowedFact,
  params: string | undefined,
  refs: FactRefs,
): FactRef | string {
  const [attribute = '', window = '', ...more] = (params ?? '').split(' ');
  const windowMs = parseDuration(window);
  if (windowMs === null || more.length > 0)
    return `"${name}" needs the name of an attribute and a window, ${DURATION_FORM}: {${name}(card 1h)}`;
  const declared = refs.findCountedAttribute(attribute);
  if (declared === null || typeof declared === 'string')
    return declared ?? `"${name}" needs an attribute that ruleset.yaml declares`;
  return findWindowFault(name, fact, windowMs) ?? refs.internVelocity(name, fact, windowMs, declared);
}

/** Returns why a fact cannot have this window. Returns null if it can. */
export function findWindowFault(name: string, fact: WindowedFact, windowMs: number): string | null {
  const { longestWindowMs, wholeDaysAboveMs = longestWindowMs, windowRefusal } = fact;
  const written = formatDuration(windowMs);
  if (windowMs > longestWindowMs)
    return `"${name}" looks back ${formatDuration(longestWindowMs)} at most, not ${written}`;
  const refusal = windowRefusal?.(windowMs) ?? null;
  if (refusal !== null) return `"${name}" ${refusal}, not ${written}`;
  if (windowMs <= wholeDaysAboveMs || windowMs % DAY_MS === 0) return null;
  const nearest = formatDuration(Math.ceil(windowMs / DAY_MS) * DAY_MS);
  return `"${name}" counts whole days in a window above ${formatDuration(wholeDaysAboveMs)}, like ${nearest}, not ${written}`;
}
