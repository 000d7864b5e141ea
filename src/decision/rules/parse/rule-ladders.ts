import type { Node } from 'yaml';
import { formatDuration } from '#base/duration.ts';
import { formatNameHint, type Location } from '#decision/rules/problem.ts';
import { isName, type LadderWithLocations, NAME_PATTERN } from '#decision/rules/rule-set.ts';
import {
  amountsForm,
  CONSTANT_DESCRIPTIONS,
  durationForm,
  type Form,
  type MappingPlace,
  mappingForm,
  mappingOrShorthandForm,
  namedMembersForm,
  nonEmptyListForm,
  optionalForm,
  parsedTextForm,
  textForm,
  withCheck,
  withDefault,
  withMessageName,
  withSchemaAdditions,
} from './form.ts';

export const LADDER_LEVELS_MAX = 20;

const LADDERS_MAX = 20;

/**
 * The longest wait. A payer who should stay away for longer than a year should be blocked, which is another verdict.
 */
export const LADDER_MS_MAX = 365 * 24 * 3600_000;

interface Level {
  readonly ms: number;
  readonly at: Location;
}

/** A ladder that rules name. If `resetAfterMs` is null, the `resetAfter` of the ladder without a name applies. */
interface NamedLadder {
  readonly levels: readonly Level[];
  readonly resetAfterMs: number | null;
}

type NamedLadders = ReadonlyMap<string, NamedLadder>;

const LADDER_DURATION = withCheck(durationForm(), (ms, file, node, what) => {
  if (ms <= LADDER_MS_MAX) return ms;
  const longest = formatDuration(LADDER_MS_MAX);
  return file.report(node, `${what} must be at most ${longest}, not ${formatDuration(ms)}`);
});

const LEVEL = withCheck(LADDER_DURATION, (ms, file, node): Level & { readonly node: Node } => {
  return { ms, at: file.locate(node), node };
});

const LEVELS: Form<readonly Level[]> = withCheck(
  withSchemaAdditions(nonEmptyListForm(LEVEL, 'a level', CONSTANT_DESCRIPTIONS.levels), {
    maxItems: LADDER_LEVELS_MAX,
  }),
  (levels, file, node) => {
    if (levels.length > LADDER_LEVELS_MAX) {
      return file.report(node, `a ladder has at most ${LADDER_LEVELS_MAX} levels, not ${levels.length}`);
    }
    for (const [index, level] of levels.entries()) {
      const below = levels[index - 1];
      if (below !== undefined && level.ms <= below.ms) {
        return file.report(
          level.node,
          `level ${index + 1} (${formatDuration(level.ms)}) must be longer than level ${index} (${formatDuration(below.ms)})`,
        );
      }
    }
    return levels;
  },
);

const RESET_AFTER = withSchemaAdditions(LADDER_DURATION, { description: CONSTANT_DESCRIPTIONS.resetAfter });

/** The form of a named ladder: its levels alone, or its levels with a `resetAfter` of its own. */
const NAMED_LADDER: Form<NamedLadder> = mappingOrShorthandForm(
  mappingForm(
    'A ladder with a resetAfter of its own.',
    { levels: LEVELS, resetAfter: optionalForm(RESET_AFTER) },
    ({ levels, resetAfter: resetAfterMs = null }, { file, members }): NamedLadder | null => {
      const waitMs = levels.at(-1)?.ms ?? 0;
      if (resetAfterMs === null || resetAfterMs > waitMs) return { levels, resetAfterMs };
      return file.report(members.get('resetAfter')?.value ?? null, explainEarlyReset(formatDuration(waitMs)));
    },
  ),
  withCheck(LEVELS, (levels) => ({ levels, resetAfterMs: null })),
);

/** The ladders of a rule set: the ladder without a name, and the ladders that rules name. */
export class RuleLadders {
  /**
   * For each named ladder, the function that reports that no rule uses the ladder. Null until `ladder.yaml` has been
   * read and is sound.
   */
  #named: ReadonlyMap<string, () => void> | null = null;
  #ladders: NamedLadders = new Map();
  readonly #used = new Set<string>();

  /** The form of `ladder.yaml`. */
  readonly fileForm: Form<LadderWithLocations> = createLadderForm(
    'The cooldown ladder: how long a payer waits who asks again without having paid.',
    {
      refusal: findLadderNameFault,
      inherited: () => new Map(),
      check: (named, { file, members }) => {
        const ladders = members.get('ladders')?.value;
        const written = ladders === undefined ? null : file.readAnyMembers(ladders, 'ladders');
        this.#ladders = named;
        this.#named = new Map(
          [...(written ?? [])].map(([name, { key }]) => [
            name,
            () =>
              file.report(key, `no rule names the ladder "${name}"; name it in a WAIT rule, or remove it`),
          ]),
        );
      },
    },
  );

  /** The form of a platform's own ladder, with the named ladders that it overrides. */
  readonly platformForm: Form<LadderWithLocations> = createLadderForm("The platform's own ladder.", {
    refusal: (name) => {
      const known = this.#named === null ? null : [...this.#named.keys()];
      if (known === null || known.includes(name)) return findLadderNameFault(name);
      return `ladder.yaml has no ladder "${name}"${known.length === 0 ? '' : formatNameHint(name, known)}`;
    },
    inherited: () => this.#ladders,
    check: () => {},
  });

  /** The form of a ladder's name in a rule. */
  readonly nameForm: Form<string> = withCheck(
    withSchemaAdditions(textForm(CONSTANT_DESCRIPTIONS.ladder), { pattern: NAME_PATTERN }),
    (name, file, node) => {
      if (this.#named === null) return name;
      this.#used.add(name);
      if (this.#named.has(name)) return name;
      const known = [...this.#named.keys()];
      const hint = known.length === 0 ? '; ladder.yaml has no "ladders:"' : formatNameHint(name, known);
      return file.report(node, `unknown ladder "${name}"${hint}`);
    },
  );

  /** Reports the ladders that no rule uses. It is called after all rules are read. */
  checkUnused(): void {
    for (const [name, report] of this.#named ?? []) if (!this.#used.has(name)) report();
  }
}

function findLadderNameFault(name: string): string | null {
  if (isName(name)) return null;
  return `the name of a ladder has lower-case words joined by "-", like patient, unlike "${name}"`;
}

interface LadderKind {
  readonly refusal: (name: string) => string | null;
  /** The ladders that a platform has besides those of this mapping. */
  readonly inherited: () => NamedLadders;
  readonly check: (named: NamedLadders, place: MappingPlace) => void;
}

function createLadderForm(
  description: string,
  { refusal, inherited, check }: LadderKind,
): Form<LadderWithLocations> {
  const named = namedMembersForm(
    'Further ladders, for WAIT rules to name.',
    { pattern: NAME_PATTERN },
    NAMED_LADDER,
    {
      nameItem: (name) => `the ladder "${name}"`,
      refuseName: refusal,
      most: [LADDERS_MAX, (size) => `at most ${LADDERS_MAX} ladders have names, not ${size}`],
    },
  );
  const ladder = mappingForm(
    description,
    {
      levels: LEVELS,
      ladders: withDefault(withMessageName('"ladders"', named), NO_LADDERS),
      resetAfter: RESET_AFTER,
    },
    ({ levels, ladders, resetAfter: resetAfterMs }, { file, members }): LadderWithLocations | null => {
      const all = new Map([...inherited(), ...ladders]);
      const whole = new Map([['', { levels, resetAfterMs }], ...all]);
      const { name, waitMs } = findLongest(whole);
      if (resetAfterMs <= waitMs) {
        const of = name === '' ? '' : ` of the ladder "${name}"`;
        const resetAfter = members.get('resetAfter')?.value ?? null;
        return file.report(resetAfter, explainEarlyReset(`${formatDuration(waitMs)}${of}`));
      }
      return {
        levelsMs: levels.map(({ ms }) => ms),
        ladders: mapLevels(all, ({ ms }) => ms),
        resetAfterMs,
        resetsAfterMs: Object.fromEntries(
          [...all].flatMap(([name, { resetAfterMs: own }]) => (own === null ? [] : [[name, own]])),
        ),
        levelsAt: mapLevels(whole, ({ at }) => at),
      };
    },
    ({ ladders }, place) => {
      if (ladders !== undefined) check(ladders, place);
      return true;
    },
  );
  return withMessageName('the ladder', ladder);
}

/** Finds the ladder with the longest wait among the ladders without their own `resetAfter`. */
function findLongest(ladders: NamedLadders): { readonly name: string; readonly waitMs: number } {
  const [longest = { name: '', waitMs: 0 }] = [...ladders]
    .filter(([name, { resetAfterMs }]) => name === '' || resetAfterMs === null)
    .map(([name, { levels }]) => ({ name, waitMs: levels.at(-1)?.ms ?? 0 }))
    .toSorted((a, b) => b.waitMs - a.waitMs);
  return longest;
}

function explainEarlyReset(wait: string): string {
  return `resetAfter must be longer than the longest wait, ${wait}; otherwise staying away would be quicker than waiting`;
}

const NO_LADDERS: NamedLadders = new Map();

function mapLevels<T>(
  ladders: NamedLadders,
  part: (level: Level) => T,
): Readonly<Record<string, readonly T[]>> {
  return Object.fromEntries([...ladders].map(([name, { levels }]) => [name, levels.map(part)]));
}

/** The form of a share like `2%` or `0.5%`: at most two digits on either side of the point. */
export const HOLDOUT_PATTERN = '^(0|[1-9][0-9]?)(\\.[0-9]{1,2})?%$';

const HOLDOUT = new RegExp(HOLDOUT_PATTERN);

/** The largest share of clients for whom a holdout may skip a rule. */
const HOLDOUT_SHARE_MAX = 0.5;

const SHARE: Form<number> = parsedTextForm(
  {
    pattern: HOLDOUT_PATTERN,
    description:
      'The share of the clients for whom the rule is skipped, like 2%, to measure what the rule costs and saves.',
  },
  (text) => {
    const share = HOLDOUT.test(text) ? Math.round(Number(text.slice(0, -1)) * 100) / 10_000 : 0;
    return share > 0 && share <= HOLDOUT_SHARE_MAX ? share : null;
  },
  (text) => {
    const meant = `${text.replace(/ ?%$/, '').replace(',', '.')}%`;
    const hint = HOLDOUT.test(meant) && meant !== text ? `; write ${meant}` : '';
    return `must be a share of the clients above 0% and up to ${HOLDOUT_SHARE_MAX * 100}%, like 2% or 0.5%, not "${text}"${hint}`;
  },
);

const MAX_AMOUNTS = withCheck(
  withSchemaAdditions(
    amountsForm(
      'By currency, the largest amount for which the rule is skipped; in other currencies it is never skipped.',
      'holdoutMaxAmount',
    ),
    { minProperties: 1 },
  ),
  (byCurrency, file, node): Readonly<Record<string, number>> | null =>
    byCurrency.size > 0
      ? Object.fromEntries([...byCurrency].map(([currency, amount]) => [currency, Number(amount)]))
      : file.report(
          node,
          'holdoutMaxAmount names no currency; write the most in each, like { EUR: "100.00" }',
        ),
);

/** The forms of the members of a rule that set its holdout. */
export const HOLDOUT_MEMBER_FORMS = {
  holdout: optionalForm(SHARE),
  holdoutMaxAmount: optionalForm(MAX_AMOUNTS),
};

/** Checks that a rule with `holdoutMaxAmount` has a holdout. Reports a problem if it has none. */
export function checkMaxAmountHasHoldout({ file, members }: MappingPlace): boolean {
  const maxAmount = members.get('holdoutMaxAmount');
  if (maxAmount === undefined || members.has('holdout')) return true;
  file.report(maxAmount.key, 'holdoutMaxAmount limits a holdout, and the rule has none; add holdout: 2%');
  return false;
}
